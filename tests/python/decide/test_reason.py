"""The words in which a choice is given hold: what gains can gain, what is told counts, and no figure is absurd."""

import math
import random
import re
from collections.abc import Iterator

import pytest

from breadth import ALL
from rankwise import _core

_MODES = ("isend", "ssend", "send", "isend-self", "persistent")
_DURATION = r"(\d+(?:\.\d+)?) (ns|us|ms|s)"
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_NUMBER = r"\d+(?:\.\d+)?(?: [kMG]?B)?"


def _drawn_machine(rng: random.Random) -> _core.Machine:
    def link(slower: float) -> dict[str, list[tuple[int, float, float]]]:
        alpha_s, beta_s = slower * 10 ** rng.uniform(-7, -5), slower * 10 ** rng.uniform(-11, -8)
        ways = {"send": [(0, alpha_s, beta_s)]}
        if rng.random() < 0.7:
            ways["ssend"] = [(0, rng.uniform(1, 3) * alpha_s, beta_s)]
        if rng.random() < 0.7:
            ways["overhead"] = [(0, rng.uniform(0, 0.5) * alpha_s, 0.0)]
        return ways

    shared = {"card": {"bytes_per_s": 10 ** rng.uniform(9, 11)}} if rng.random() < 0.5 else {}
    return _core.Machine({"same-socket": link(0.2), "other-node": link(1.0)}, shared, [])


def drawn_rankings(rng: random.Random, contests: int, questions: int) -> Iterator[list[_core.Ranked]]:
    """Yield so many rankings of so many exchanges, on any machine."""
    while contests > 0:
        axes = rng.randint(1, 3)
        dims = [rng.randint(2, (16, 5, 3)[axes - 1]) for _ in range(axes)]
        periodic, cutoff = rng.random() < 0.5, rng.randint(1, 2)
        if periodic and min(dims) < 2 * cutoff + 1:
            continue
        placement = _core.Placement.blocked(math.prod(dims), rng.choice([1, 1, 2, 4, 12]))
        modes = rng.sample(_MODES, rng.randint(1, len(_MODES))) if rng.random() < 0.5 else []
        try:
            contest = _core.Contest(dims, [periodic] * axes, [cutoff] * axes, "full", [], list(modes), [], placement)
        except ValueError:
            continue
        contests -= 1
        for _ in range(questions):
            yield contest.ranked(round(10 ** rng.uniform(0, 6)) - 1, _drawn_machine(rng))


def _value(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * _UNITS.get(unit, 1)


def _complaint(told: str, ranked: list[_core.Ranked], met: bool) -> str | None:
    """Say what is wrong with a sentence; ``met``: the intervals of all candidates meet."""
    if re.search(r"\de[+-]?\d|nan|inf|\b-\d| 0 (ns|B take)|%(?! of it| intervals overlap)", told):
        return "an absurd figure"
    if met:
        return "differences that cannot be told" if re.search("less|more|instead", told) else None
    if "intervals overlap" in told:
        return "differences that can be told"
    for ours, theirs, rest in re.findall(rf"({_NUMBER})[a-z ]* instead of ({_NUMBER})([^,;]*)", told):
        if ours == theirs or (_value(ours) < _value(theirs)) != rest.endswith("less"):
            return f"{ours} instead of {theirs}"
    decides = re.search(rf"decides?: [^;]* {_DURATION} (?:less|more)[^;]*", told)
    times = {one.name: one.time_s for one in ranked}
    if decides is not None:
        rival = re.search(r"; ([^;]*) would take [^;]*; (?:the latency|the bytes)", told)
        assert rival is not None
        gap_s = times[rival[1]] - ranked[0].time_s
        parts = [
            _value(f"{number} {unit}") * (1 if sign == "less" else -1)
            for number, unit, sign in re.findall(rf"{_DURATION} (less|more)", decides[0])
        ]
        if parts[0] < 0 or any(abs(part) < 0.04 * gap_s for part in parts):
            return "a part that does not count"
        rounding = 0.0051 * sum(map(abs, parts))
        if abs(sum(parts) - gap_s) > 0.0501 * gap_s + rounding:
            return f"parts that do not add up to {gap_s}"
    return None


def test_questions_are_answered_in_words_that_hold() -> None:
    """750 of them, 10,000 in ``make nightly``."""
    rng, asked, contests = random.Random(24), 0, 400 if ALL else 30
    for ranked in drawn_rankings(rng, contests, 25):
        apart = [(one.time_s, one.time_s) for one in ranked]
        told = _core.reason(ranked, apart)
        assert _complaint(told, ranked, met=False) is None, (_complaint(told, ranked, met=False), told)
        asked += 1
        if asked % 10 == 0:
            together = _core.reason(ranked, [(0.0, 1.0)] * len(ranked))
            assert _complaint(together, ranked, met=True) is None, together
    assert asked == 25 * contests


def test_as_many_intervals_as_candidates_are_needed() -> None:
    ranked = next(drawn_rankings(random.Random(1), 1, 1))
    with pytest.raises(ValueError, match="as many intervals"):
        _core.reason(ranked, [(0.0, 1.0)] * (len(ranked) + 1))
    assert _core.reason([]) == ""
