"""The second line of every answer that rests on a profile is its quality; and what measuring and fitting keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from observed_rings import RANKS, STEPS, record_of
from rankwise.cli.base import command_tree
from rankwise.cli.verbs import register_verbs
from rankwise.machine.trust import Reason, Trust
from rankwise.observe.record import write_record
from synthetic_events import ring
from synthetic_machine import loggp_times, write_samples
from verbs import Rankwise, Refused

PROFILE = Path(__file__).parents[1] / "frozen" / "inputs" / "nodes.json"
TRUST = Trust("poor", (Reason("others", 2.0, "other programs kept 1.0 processors busy meanwhile", "stop them"),))
LINE = "Quality: poor (poor.json of "
CALLS = {
    "predict exchange": "--cutoff 1",
    "predict stencil": "--grid 4x2 --nodes 8 --ppn 1",
    "predict alltoall": "--ranks 8",
    "predict observed": "app.comm",
    "predict collective": "bcast --ranks 8 --bytes 1000",
    "predict halo": "--grid 4x2 --halo 1kB,2kB",
    "advise": "app.comm",
    "project observed": "app.comm --latency 2x",
    "choose exchange": "",
    "choose stencil": "--grid 4x2 --nodes 8 --ppn 1",
    "choose alltoall": "--ranks 8",
    "choose collective": "bcast --ranks 8 --bytes 1000",
    "choose halo": "--grid 4x2 --halo 1kB,2kB",
    "map": "--grid 4x4 --nodes 16 --ppn 1",
    "report": "-o r.html",
    "tune": "--ranks 8 --ranks-per-node 1 --mpi openmpi-5.0",
}
# These need an MPI, SimGrid, or the profile's rates of FFTs; they open their profile by the same function.
ELSEWHERE = {"validate", "simulate", "try", "predict fft3d", "choose fft3d"}


def _verbs(command: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _verbs(inner, f"{before}{name} ")
    else:
        yield before.strip(), command


def test_these_are_all_verbs_that_take_a_profile() -> None:
    register_verbs([])
    found = {name for name, verb in _verbs(command_tree()) if any("--profile" in one.opts for one in verb.params)}
    assert {name for name in found if name not in ELSEWHERE and name.split()[0] not in ELSEWHERE} == CALLS.keys()


@pytest.fixture
def poor(tmp_path: Path) -> Path:
    write_record(tmp_path / "app.comm", record_of(ring(RANKS, STEPS, 100_000, 1000), range(RANKS)))
    path = tmp_path / "poor.json"
    path.write_text(json.dumps({**json.loads(PROFILE.read_text()), "trust": TRUST.to_dict()}))
    return path


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    write_samples(tmp_path / "m.samples.jsonl", loggp_times(), link="other-node")
    return tmp_path / "m.samples.jsonl"


@pytest.mark.parametrize("call", CALLS)
def test_the_line_is_said_once_and_is_in_the_json(rankwise: Rankwise, poor: Path, call: str) -> None:
    asked = f"{call} {CALLS[call]} --profile {poor.name}"
    code = 6 if call.startswith(("choose", "tune")) else 0
    result = rankwise(f"{asked} --json")
    assert result.code == code and result.json["trust"]["level"] == "poor" and "Quality" not in result.err
    if call != "report":  # prints the page's path alone
        shown = rankwise(asked)
        lines = shown.out.splitlines()
        assert shown.code == code and lines[1].startswith(LINE) and "Quality: " not in "".join(lines[2:]) + shown.err
        assert any(line.startswith("Next  rankwise doctor") for line in lines[2:]) and "Why" not in shown.out


def test_poor_figures_do_not_tell_candidates_apart(rankwise: Rankwise, poor: Path) -> None:
    result = rankwise(f"choose exchange --profile {poor}")
    assert result.code == 6 and result.out.startswith("? No choice: ")
    assert "Use " not in result.out and "Size " not in result.out


def test_an_imported_table_has_no_interval_and_says_what_is_assumed(rankwise: Rankwise) -> None:
    Path("t.csv").write_text("message_bytes,latency_us\n" + "".join(f"{8 << i},{1 + 0.01 * (8 << i)}\n" for i in range(9)))
    assert rankwise("profile import t.csv --link other-node -o t.json").code == 0
    link = json.loads(Path("t.json").read_text())["links"]["other-node"]
    assert link["spread"] == "unknown" and {row["time_lo_s"] for row in link["table"]} == {None}
    result = rankwise("predict exchange --cutoff 1 --bytes 64 --profile t.json --json")
    assert result.json["trust"]["level"] == "unknown"
    row = result.json["rows"][0]
    assert row["time_lo_s"] < 0.95 * row["time_s"] and any("± 8 % is assumed" in note for note in row["notes"])
    assert "intervals of the fastest " in rankwise("choose exchange --profile t.json").out


def test_fit_does_not_lose_what_a_profile_has(rankwise: Rankwise, refused: Refused, samples: Path) -> None:
    assert rankwise(f"fit {samples} -o m.json").code == 0
    alone = [json.loads(line) for line in samples.read_text().splitlines()]
    few = [record for record in alone if record.get("operation") in (None, "send")]
    Path("few.samples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in few))
    said = refused("fit few.samples.jsonl -o m.json")
    assert "other-node exchange" in said and "other-node model loggp" in said
    assert json.loads(Path("m.json").read_text())["links"]["other-node"]["variants"]
    assert rankwise("fit few.samples.jsonl -o m.json --force").code == 0


def test_every_statistic_gives_the_same_verdict(rankwise: Rankwise, samples: Path) -> None:
    verdicts = [rankwise(f"fit {samples} --statistic {one} --json").json["trust"] for one in ("median", "minimum")]
    assert verdicts[0] == verdicts[1]
