"""Time in collectives by call, communicator, size and place; and what is advised of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rankwise.advise.collectives import changes
from rankwise.advise.evidence import evidence_of
from rankwise.observe.record import Record, write_record
from synthetic_events import CALLS, LATENCY_NS, MS, Op, recorded
from verbs import Rankwise

US = 1000


def of_step(step: Callable[[int], list[Op]], ranks: int = 4, times: int = 30) -> Record:
    """A program that repeats a step; its calls of 4 bytes are barriers."""
    more = {"calls": [*CALLS, "MPI_Barrier"], "cores_of_host": [ranks], "communicators": [{"size": ranks, "ranks": None}]}
    record = recorded([step(rank) * times for rank in range(ranks)], [0] * ranks, **more)
    for of_rank in record.events.values():
        of_rank["call"][(of_rank["call"] == 7) & (of_rank["bytes"] == 4)] = 8
    seconds = max(int(of_rank["end_ns"].max()) for of_rank in record.events.values()) * 1e-9
    record.header.update(seconds=seconds, seconds_of_rank=[seconds] * ranks)
    return record


def gains_s(record: Record) -> dict[str, float]:
    return {what: gain_s for what, _, gain_s, _, _ in changes(evidence_of(record, "app.comm"))}


def test_time_wait_and_count_are_by_call_and_size() -> None:
    def step(rank: int) -> list[Op]:
        return [("compute", MS * (1 + (rank == 2))), ("allreduce", 8), ("allreduce", 800), ("compute", MS), ("allreduce", 8)]

    found = evidence_of(of_step(step), "app.comm").collectives
    assert found is not None
    by_size = {(one.call, one.bytes): one for one in found}
    small, large = by_size["MPI_Allreduce", 8], by_size["MPI_Allreduce", 800]
    assert (small.ranks, small.calls, large.calls) == (4, 2, 1)
    assert small.time_s == pytest.approx(0.75e-3 + 2 * LATENCY_NS * 1e-9)
    assert small.wait_s == pytest.approx(0.75e-3)
    assert large.time_s == pytest.approx(LATENCY_NS * 1e-9) and large.wait_s == 0
    assert small.share == pytest.approx(small.time_s / (3e-3 + 3 * LATENCY_NS * 1e-9), rel=0.01)


def test_sums_in_a_row_may_be_one_and_their_waiting_is_no_gain() -> None:
    def step(rank: int, apart_ns: int) -> list[Op]:
        return [("compute", 100 * US * (1 + (rank == 2))), ("allreduce", 8), ("compute", apart_ns), ("allreduce", 8)]

    name = "Fuse small collectives in a row into one"
    assert gains_s(of_step(lambda rank: step(rank, US)))[name] == pytest.approx(LATENCY_NS * 1e-9)
    assert gains_s(of_step(lambda rank: step(rank, 50 * US)))[name] == 0
    assert gains_s(of_step(lambda _: [("compute", 100 * US), ("allreduce", 8), ("allreduce", 8000)]))[name] == 0


def test_barriers_next_to_a_collective_and_alone() -> None:
    alone, beside = "Leave out barriers", "Leave out barriers next to another collective"
    found = gains_s(of_step(lambda rank: [("compute", 100 * US * (1 + (rank == 2))), ("allreduce", 4), ("allreduce", 8)]))
    assert (found[beside], found[alone]) == (pytest.approx(LATENCY_NS * 1e-9), 0)
    found = gains_s(of_step(lambda _: [("compute", 100 * US), ("allreduce", 4), ("compute", 100 * US), ("allreduce", 8)]))
    assert (found[beside], found[alone]) == (0, pytest.approx(LATENCY_NS * 1e-9))


def test_an_overlap_gains_no_more_than_there_is_to_compute() -> None:
    name = "Overlap collectives with the computing behind them"
    for compute_ns, gain_ns in ((MS, LATENCY_NS), (500, 500)):
        step: list[Op] = [("allreduce", 8), ("compute", compute_ns), ("sendrecv", 0, 0, 1, 8), ("compute", MS)]
        assert gains_s(of_step(dict.fromkeys(range(1), step).__getitem__, ranks=1))[name] == pytest.approx(gain_ns * 1e-9)


def test_advice_and_screen(rankwise: Rankwise, tmp_path: Path) -> None:
    write_record(tmp_path / "app.comm", of_step(lambda _: [("compute", 20 * US), ("allreduce", 8), ("allreduce", 8)]))
    lines = rankwise("observe show app.comm --collectives").out.splitlines()
    assert lines[0] == "✓ 17 % of a step in collectives, all of it MPI_Allreduce."
    assert lines[3].split() == ["MPI_Allreduce", "4", "8", "2", "4.00", "17", "0"]
    found = rankwise("advise app.comm --json").json
    fused = next(one for one in found["findings"] if one["what"].startswith("Fuse"))
    assert fused["gain_s"] == pytest.approx(2e-6) and fused["gain_lo_s"] == 0
    assert rankwise("observe show app.comm --json").json["collective_times"][0]["calls"] == 2
    write_record(tmp_path / "rare.comm", of_step(lambda _: [("compute", MS), ("allreduce", 8), ("allreduce", 8)]))
    found = rankwise("advise rare.comm --json").json
    assert not [one for one in found["findings"] if one["kind"] == "collectives"]
    assert any(words.startswith("fuse small collectives") for words in found["nothing_to_gain"])
