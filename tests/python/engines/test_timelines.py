"""Time lines of a round: the judge's ends when its time is over, a trace of
SimGrid's is read, and both say what bounds them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankwise as rw
from rankwise.engines.model import Model
from rankwise.engines.placement import profile_placement
from rankwise.engines.timelines import predicted
from rankwise.errors import InputError
from rankwise.launch.smpi import Call, Message, read_trace
from rankwise.machine.profile import Profile
from rankwise.observe.timeline import Timeline
from rankwise.workloads import workloads
from rankwise.workloads.base import Site
from straight import link, machine


@pytest.fixture
def profile() -> Profile:
    return machine({"cores": 4}, {"same-socket": link(2e-7, 1e-10), "other-node": link(1e-6, 1e-9)})


def is_sound(line: Timeline) -> None:
    """The critical path has no gap, and no piece of it waits; messages go forward."""
    assert all(one.end_s == pytest.approx(other.start_s) for one, other in zip(line.path, line.path[1:], strict=False))
    assert not any(span.kind == "waiting" for span in line.path)
    assert line.length_s == pytest.approx(max(spans[-1].end_s for spans in line.spans.values()), rel=1e-6)
    assert all(message.arrived_s >= message.sent_s for message in line.messages)


@pytest.mark.parametrize(
    "pattern",
    [
        rw.Exchange(dims=(4, 2), cutoff=2, size=10_000, algorithm="all", mode="all"),
        rw.Alltoall(ranks=6, size=1000),
        rw.Stencil(grid=(4, 4), nodes=4, ppn=4, algorithm="blocked,hyperplane"),
        rw.HaloExchange(grid=(2, 2, 2), box=(16, 16, 16)),
    ],
)
def test_the_critical_path_takes_what_the_judge_says(profile: Profile, pattern: rw.Exchange) -> None:
    (workload,) = (one for one in workloads().values() if isinstance(pattern, one.options))
    model, placement = Model(profile), profile_placement(profile, 4)
    cases = workload.cases(pattern, Site("predict", shares_nodes=True))
    assert cases
    for case, row in zip(cases, model.rows(cases, placement), strict=True):
        line = predicted(model, case, placement.of(case))
        is_sound(line)
        # Where it is shorter a resource is held for longer than any chain of messages takes.
        assert line.length_s == pytest.approx(row.time_s, rel=1e-6) or (line.length_s < row.time_s and "is held" in line.note)
        assert all(span.term for span in line.path if span.kind == "moving")


def test_what_shares_a_way_is_named(profile: Profile, tmp_path: Path) -> None:
    profile.save(tmp_path / "machine.json")
    times = rw.predict(
        rw.Exchange(dims=(4, 2), cutoff=1, size=100_000, mode="isend"), tmp_path / "machine.json", rw.Ranks(ranks_per_node=4)
    )
    drawn = times.timeline()
    assert "over other-node, shared with others (NIC-out)" in drawn.words[-1] and "rank 3" in drawn.svg()
    record = json.loads(drawn.save(tmp_path / "round.json").read_text())
    kinds = {event["ph"] for event in record["traceEvents"]}
    threads = [event["args"]["name"] for event in record["traceEvents"] if event["name"] == "thread_name"]
    assert kinds == {"M", "X", "s", "f"} and threads[-1] == "critical path" and len(threads) == 9
    with pytest.raises(InputError, match=r"\.html, \.svg, \.json"):
        drawn.save(tmp_path / "round.png")
    fft = rw.Fft3d(n=16, ranks=2)
    with pytest.raises(InputError, match="no time line of fft3d"):
        predicted(Model(profile), workloads()["fft3d"].cases(fft, Site())[0], profile_placement(profile).of_ranks(2))


def test_a_trace_is_read() -> None:
    lines = [
        '6 0.0 1 1 0 "rank-0"', '6 0.0 2 1 0 "rank-1"', '5 8 2 PMPI_Send "0 0 1"', '5 9 2 PMPI_Waitall "0 0 1"',
        "12 0.000001 2 1 8 100", "15 0.000001 3 0 PTP 1 1_2_72_1 100", "12 0.000002 2 2 9 NA", "13 0.000003 2 1 ",
        "16 0.000004 3 0 PTP 2 1_2_72_1", "13 0.000004 2 2 ", "% of no count",
    ]  # fmt: skip
    trace = read_trace(lines)
    assert trace.messages == (Message(0, 1, 72, 100, 1e-6, 4e-6),)
    assert trace.calls == (Call(0, "MPI_Send", 1e-6, 3e-6), Call(1, "MPI_Waitall", 2e-6, 4e-6))


@pytest.mark.simgrid
@pytest.mark.parametrize(
    ("algorithm", "mode", "size"),
    [("shift", "ssend", 10_000), ("shift", "isend", 10_000), ("direct", "send", 1_000_000), ("direct", "persistent", 1000)],
)
def test_what_was_simulated_takes_as_long_as_its_row(
    profile: Profile, tmp_path: Path, algorithm: str, mode: str, size: int
) -> None:
    profile.save(tmp_path / "machine.json")
    asked = rw.Exchange(dims=(4, 2), cutoff=1, size=size, algorithm=algorithm, mode=mode)
    times = rw.simulate(asked, rw.Platform(profile=tmp_path / "machine.json"), 4, folder=tmp_path)
    if mode == "persistent":
        with pytest.raises(InputError, match="no message of persistent requests"):
            times.timeline()
        return
    line = times.timeline().line
    is_sound(line)
    assert line.length_s == pytest.approx(times.rows[0].time_s, rel=1e-3)


@pytest.mark.mpi
def test_what_was_run_is_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    times = rw.run(rw.Exchange(cutoff=1, size=10_000, ranks=2, mode="isend"), seconds=0.02)
    line = times.timeline().line
    assert sorted(line.spans) == [0, 1] and len(line.messages) == 4 and line.length_s > 0
