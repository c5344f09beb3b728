"""Waits that were planted in programs are found, with their kind, amount, rank and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.python.observe.conftest import Build, Start

from planted_waits import MODES, planted_s
from rankwise.advise.evidence import evidence_of
from rankwise.observe.call_sites import named
from rankwise.observe.phases import first_events
from rankwise.observe.start import observe
from rankwise.observe.steps import common_steps
from rankwise.observe.wait_causes import labels_of, waiting_of
from rankwise.observe.waits import KINDS, analyse
from synthetic_events import MS, Op, ring_of, simulate
from verbs import Rankwise


@pytest.mark.parametrize("mode", MODES)
def test_planted_waits_are_found_where_they_are(build: Build, start: Start, mode: str, tmp_path: Path) -> None:
    kind, text = MODES[mode]
    lines = (Path(__file__).parent / "planted_waits.c").read_text().splitlines()
    program = build("pip", "planted_waits.c", "-g", "-O2")
    _, record = observe([*start("pip", 2), str(program), mode, "10", "15", str(tmp_path / "times")], tmp_path / "app.comm")
    assert record is not None
    named(record.header, limit_s=10.0)
    waits = analyse(first_events(record), 2, names=record.header["calls"])
    planted = planted_s(tmp_path / "times", 2)
    assert sum(planted[kind]) > 0.1
    # A rank that loses its core between its own clock and the call is late in one of them alone: few calls.
    for number, other in enumerate(KINDS):
        assert waits.waiting_s[number].sum() == pytest.approx(sum(planted[other]), rel=0.3, abs=0.03)
    found = np.concatenate([late_s for _, late_s in waits.of_calls.values()])
    own = np.array([late_s for of_kind in planted.values() for late_s in of_kind])
    assert np.median(np.sort(found)[-10:]) == pytest.approx(np.median(np.sort(own)[-10:]), rel=0.05)
    waiting = evidence_of(record, "app.comm").waiting
    assert waiting is not None
    cause = max((one for one in waiting.causes if one.of.kind == kind), key=lambda one: one.of.seconds)
    assert text in lines[(cause.before.line or 0) - 1]
    late = {"late-receiver": 1, "imbalance": 1, "early-reduce": 1}.get(mode, 0)
    assert cause.rank == late and cause.rank_share > 0.5


def test_a_sweep_waits_by_dependence_and_a_slow_rank_by_imbalance() -> None:
    def reasons(programs: list[list[Op]]) -> tuple[float, float]:
        record, events = ring_of(len(programs), lambda *_: MS), simulate(programs)
        steps = common_steps(events)
        assert steps is not None
        window = {rank: steps.window(events, rank) for rank in events}
        waits = analyse(window, len(programs), names=record.header["calls"], labels=labels_of(record, steps, events))
        waiting = waiting_of(record, steps, events, waits)
        assert waiting is not None
        assert sum(one.seconds for one in waiting.kinds) == pytest.approx(waiting.imbalance_s + waiting.dependence_s)
        count = len(steps.sample)
        return waiting.imbalance_s / count, waiting.dependence_s / count

    def turn(rank: int) -> list[Op]:
        before: list[Op] = [("recv", rank - 1, 1)] if rank else []
        behind: list[Op] = [("send", rank + 1, 1, 8)] if rank < 4 else []
        return [*before, ("compute", MS), *behind, ("allreduce", 8)] * 20

    assert reasons([turn(rank) for rank in range(5)]) == pytest.approx((0, 2e-3 * (1 + 2 + 3 + 4)), rel=0.02, abs=1e-5)
    slow: list[list[Op]] = [[("compute", MS * (1 + (rank == 3))), ("allreduce", 8)] * 20 for rank in range(5)]
    assert reasons(slow) == pytest.approx((4e-3, 0), rel=0.01, abs=1e-5)


def test_on_the_screen(rankwise: Rankwise, tmp_path: Path) -> None:
    from rankwise.observe.record import write_record

    write_record(tmp_path / "app.comm", ring_of(6, lambda rank, _: MS * (1 + (rank == 4))))
    said = " ".join(rankwise("observe show app.comm").out.split())
    assert "Waits n to n" in said and "late sender" in said and "due to imbalance" in said
    assert "for rank 4, late at MPI_" in said
    advised = rankwise("advise app.comm --json").json["findings"]
    assert "rank 4 is late at MPI_" in next(one["why"] for one in advised if one["kind"] == "waiting")
    found = rankwise("observe show app.comm --json").json["waiting"]
    assert sum(one["share"] for one in found["kinds"]) == pytest.approx(sum(one["share"] for one in found["causes"]))
    assert {one["rank"] for one in found["causes"]} == {4}
