"""What is set: only what gains, by the model, and only over sizes that were looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwise.collectives.selection import Call
from rankwise.collectives.settings import Library
from rankwise.engines.model import Model
from rankwise.engines.placement import Seats
from rankwise.machine.profile import Profile, open_profile
from rankwise.tune.calls import Called, of_record, with_octaves
from rankwise.tune.choice import LEAST_GAIN, Choice, Chooser, rule_of, runs_of_choices
from rankwise.workloads.base import Program, Span
from rankwise.workloads.collective_schedule import Schedule

PROFILE = Path(__file__).parents[1] / "frozen" / "inputs" / "nodes.json"


@pytest.fixture(scope="module")
def profile() -> Profile:
    return open_profile(PROFILE)


def chosen(profile: Profile, library: str, *called: Called) -> list[Choice]:
    return Chooser(Library(library), Model(profile)).choose(called)


@pytest.mark.parametrize("ranks", [7, 8])
def test_open_mpi_pipelines_a_large_bcast(profile: Profile, ranks: int) -> None:
    call = Call("bcast", ranks, 1 << 22, tuple(range(ranks)))
    (one,) = chosen(profile, "openmpi-5.0", Called(call, 10.0, 1.0))
    assert one.setting is not None and one.setting.name == "3 pipeline" and one.setting.segment_bytes > 0
    assert one.now_s > 4 * one.new_s
    assert 0 < one.gain.lo_s < one.gain.s < one.gain.hi_s
    # The times are the cost model's, of the very schedules.
    model = Model(profile)
    placement = Seats.of_profile(profile).on_nodes(call.node_of_rank)
    new = Schedule("bcast", ranks, 1 << 22, "pipeline", 2, one.setting.segment_bytes)
    assert one.new_s == model.price(Program(new), 1, placement).span.time_s


def test_what_gains_little_or_nothing_for_sure_is_left(profile: Profile) -> None:
    calls = [
        Called(Call(kind, 8, 1 << k, tuple(range(8))), 1.0)
        for kind in ("bcast", "allreduce", "alltoall")
        for k in range(0, 23, 2)
    ]
    found = chosen(profile, "openmpi-4.1", *calls)
    assert {one.setting is None for one in found} == {True, False}
    for one in found:
        sure = one.gain.lo_s > 0 and one.gain.s >= LEAST_GAIN * one.now_s
        assert sure == (one.setting is not None) == (not one.why), (one.kind, one.size_bytes)


def test_a_rule_ends_where_nothing_was_looked_at(profile: Profile) -> None:
    sizes = (1 << 10, 1 << 20, 1 << 21, 1 << 22)
    found = chosen(profile, "openmpi-4.1", *(Called(Call("bcast", 7, size, tuple(range(7))), 1.0) for size in sizes))
    rules = [rule for run in runs_of_choices(found) if (rule := rule_of(run)) is not None]
    assert {rule.first for rule in rules} | {rule.last for rule in rules} <= set(sizes)
    assert all(rule.first <= rule.last for rule in rules)
    covered = [size for size in sizes for rule in rules if rule.first <= size <= rule.last]
    assert covered == [one.size_bytes for one in found if one.setting is not None]


def test_two_layouts_of_one_number_of_ranks_are_weighed_by_their_calls(profile: Profile) -> None:
    """Open MPI cannot tell them apart: what is best for the one that is called often is set for both."""
    size = 1 << 22
    cyclic, blocked = (
        Call("bcast", 8, size, nodes) for nodes in (tuple(i % 4 for i in range(8)), tuple(i // 2 for i in range(8)))
    )
    often, seldom = 1000.0, 1.0
    (both,) = chosen(profile, "openmpi-4.1", Called(cyclic, seldom), Called(blocked, often))
    (alone,) = chosen(profile, "openmpi-4.1", Called(blocked, often))
    assert both.setting == alone.setting
    assert both.in_run == often + seldom
    assert alone.new_s < both.new_s < 1.01 * alone.new_s


def test_mpich_within_a_node_is_left_alone(profile: Profile) -> None:
    (one,) = chosen(profile, "mpich-5.0", Called(Call("bcast", 4, 1 << 22, (0, 0, 0, 0)), 1.0))
    assert one.setting is None
    assert "one node" in one.why


def test_where_no_rules_are_published_the_default_is_what_calls_took(profile: Profile) -> None:
    """A collective is set where all its calls gain, for the variable holds for them all; an untimed one is left."""
    nodes = tuple(range(8))

    def called(kind: str, size: int, took_s: float | None) -> Called:
        took = None if took_s is None else Span(took_s, 0.95 * took_s, 1.05 * took_s)
        return Called(Call(kind, 8, size, nodes), 10.0, 1.0, took)

    def settings(*called: Called) -> list[str | None]:
        return [one.setting and one.setting.name for one in chosen(profile, "intelmpi-2021", *called)]

    slow, fast = called("bcast", 1 << 20, 9.0), called("bcast", 1 << 21, 1e-6)
    (one,) = chosen(profile, "intelmpi-2021", slow)
    assert one.setting is not None and one.setting.name in ("2 recursive doubling", "3 ring")
    assert (one.now_s, one.selected.name) == (9.0, "default") and one.gain.s == 9.0 - one.new_s
    assert one.gain.lo_s < 0.96 * 9.0 - one.new_s
    assert settings(slow, fast) == [None, None]
    assert settings(slow, Called(Call("bcast", 8, 1 << 21, nodes))) == [one.setting.name, None]  # that is called nowhere
    assert settings(called("allreduce", 1 << 20, None)) == [None]


def test_a_size_is_looked_at_with_the_ends_of_its_octave() -> None:
    nodes = (0, 1, 2)
    found = list(with_octaves([Called(Call("bcast", 3, 5000, nodes), 7.0), Called(Call("bcast", 3, 4096, nodes), 1.0)]))
    assert [(one.call.size_bytes, one.in_run) for one in found] == [(5000, 7.0), (8191, 0.0), (4096, 1.0)]


def test_calls_of_a_record_are_taken_as_the_library_sees_them() -> None:
    """Bytes as a call counts them; what has no rules, or no communicator that is known, is left with the reason."""

    from rankwise.observe.record import record_of_events

    def line(call: str, comm: int, size: int, calls: int) -> dict[str, object]:
        return {"call": call, "comm": comm, "bytes": size, "root": None, "calls": calls, "ranks": 4}

    lines = [line("MPI_Alltoall", 0, 400, 8), line("MPI_Reduce_scatter_block", 0, 100, 4), line("MPI_Bcast", 1, 50, 6),
             line("MPI_Allgatherv", 0, 8, 4), line("MPI_Bcast", 7, 8, 4), line("MPI_Allreduce", 0, 0, 4)]  # fmt: skip
    header = {"collectives": lines, "communicators": [{"size": 4, "ranks": None}, {"size": 3, "ranks": [0, 1, 3]}], "calls": []}
    record = record_of_events({}, header, ["a", "b"], [0, 0, 1, 1])
    called, left = of_record(record, None)
    found = {one.call.kind: (one.call.ranks, one.call.size_bytes, one.call.node_of_rank, one.in_run) for one in called}
    assert found == {
        "alltoall": (4, 100, (0, 0, 1, 1), 2.0), "reduce_scatter_block": (4, 400, (0, 0, 1, 1), 1.0),
        "bcast": (3, 50, (0, 0, 1), 2.0),
    }  # fmt: skip
    assert [words.split(":")[0] for words in left] == ["MPI_Allgatherv", "MPI_Bcast", "MPI_Allreduce"]
    header["shapes"] = [{"commutative": False, "element_bytes": 16}]
    called, left = of_record(record, None)
    assert {one.call.kind for one in called} == {"alltoall", "bcast"} and any("does not commute" in words for words in left)
    assert {one.call.element_bytes for one in called} == {16}


def test_a_call_takes_from_when_its_last_rank_came_until_all_left() -> None:
    import numpy as np

    from rankwise.tune.calls import _from_the_last, _span

    one, other = np.array([[0, 100, 200], [50, 160, 290]]), np.array([[20, 90], [60, 150]])
    assert _from_the_last([one, other]) == pytest.approx([40e-9, 60e-9])
    assert _span([np.array([-1e-9])]) is None  # clocks apart
    assert _span([np.array([1.0, 3.0]), np.array([2.0])]) == Span(2.0, 1.0, 3.0)
