"""A step as GOAL, read by a small reader of LogGOPSim's language, against hand counts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from rankwise.observe.formats import goal_lines
from rankwise.observe.phases import PhasedStep

_LINE = re.compile(
    r"(?P<label>[A-Za-z]\w*): (?:calc (?P<calc>\d+)|"
    r"(?P<kind>send|recv) (?P<bytes>\d+)b (?:to|from) (?P<peer>\d+) tag (?P<tag>\d+))"
    r"|(?P<later>\w+) requires (?P<before>\w+)"
)


@dataclass
class Rank:
    calcs: dict[str, int] = field(default_factory=dict)
    messages: dict[str, tuple[str, int, int, int]] = field(default_factory=dict)  # kind, bytes, peer, tag
    requires: dict[str, list[str]] = field(default_factory=dict)


def read(text: str) -> dict[int, Rank]:
    """Read a schedule; whatever is not of the language fails."""
    ranks: dict[int, Rank] = {}
    lines = [line.partition("//")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    head = re.fullmatch(r"num_ranks (\d+)", lines[0])
    assert head is not None
    now: Rank | None = None
    for line in lines[1:]:
        if begin := re.fullmatch(r"rank (\d+) \{", line):
            now = ranks.setdefault(int(begin[1]), Rank())
        elif line == "}":
            now = None
        else:
            found = _LINE.fullmatch(line)
            assert found is not None and now is not None, line
            if found["calc"]:
                now.calcs[found["label"]] = int(found["calc"])
            elif found["kind"]:
                now.messages[found["label"]] = (found["kind"], int(found["bytes"]), int(found["peer"]), int(found["tag"]))
            else:
                # A label is defined above the line that uses it.
                assert {found["later"], found["before"]} <= {*now.calcs, *now.messages}, line
                now.requires.setdefault(found["later"], []).append(found["before"])
    assert len(ranks) == int(head[1])
    return ranks


def test_two_phases_of_three_ranks() -> None:
    compute_s = np.array([[1e-6, 2e-6, 3e-6], [0.0, 0.0, 0.5e-9]])
    step = PhasedStep(np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([1, 0, 0]), np.array([100, 200, 0]), compute_s)
    ranks = read("".join(goal_lines(step)))
    assert [sum(rank.calcs.values()) for rank in ranks.values()] == [1_000_000, 2_000_000, 3_000_500]
    assert sorted(ranks[0].messages.values()) == [("recv", 0, 2, 1), ("recv", 200, 1, 0), ("send", 100, 1, 0)]
    assert sorted(ranks[1].messages.values()) == [("recv", 100, 0, 0), ("send", 200, 0, 0)]
    assert list(ranks[2].messages.values()) == [("send", 0, 0, 1)]
    sent = [(a, m[2], m[3], m[1]) for a, rank in ranks.items() for m in rank.messages.values() if m[0] == "send"]
    received = [(m[2], b, m[3], m[1]) for b, rank in ranks.items() for m in rank.messages.values() if m[0] == "recv"]
    assert sorted(sent) == sorted(received)
    # Both messages of the first phase start after its computing; the second phase after both have ended.
    first = [label for label, message in ranks[0].messages.items() if message[3] == 0]
    assert all(ranks[0].requires[label] == ["c0"] for label in first)
    assert sorted(ranks[0].requires["e0"]) == sorted(first)
    assert ranks[0].requires["c1"] == ["e0"]
