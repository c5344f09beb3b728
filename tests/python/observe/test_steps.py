"""The repeating step is found in a rank's events and cut out of all ranks at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.observe.needs import TooLongError, actual_receives
from rankwise.observe.periods import levels_of
from rankwise.observe.phases import phased
from rankwise.observe.record import BLOCKING_SEND, COMPLETION, TIME_ONLY
from rankwise.observe.steps import Steps, _stands_for_the_run, common_steps
from rankwise.observe.waits import analyse
from synthetic_events import Op, ring, simulate, wavefront


def staged(ranks: int, steps: int, neighbours: int, every: int) -> list[list[Op]]:
    """Return staged exchanges with one neighbour after the other (as in molecular dynamics), and more calls now and then."""
    programs: list[list[Op]] = []
    for rank in range(ranks):
        ops: list[Op] = []
        for step in range(steps):
            for distance in range(1, neighbours + 1):
                to, source = (rank + distance) % ranks, (rank - distance) % ranks
                ops += [("irecv", source, 7), ("send", to, 7, 100 * distance + step), ("waitall",)]
            ops.append(("compute", 10_000 + 100 * rank))
            if (step + 1) % every == 0:
                ops += [("sendrecv", (rank + 1) % ranks, (rank - 1) % ranks, 9, 50_000), ("allreduce", 8)]
        programs.append(ops)
    return programs


def assert_consistent(events: dict[int, Any], steps: Steps) -> None:
    """Of each sender, receiver, tag and communicator as many sends as receives lie before each cut."""
    for cut in (*steps.begins, *steps.ends):
        count: Counter[tuple[int, ...]] = Counter()
        for rank, of_rank in events.items():
            before = of_rank[: cut[rank]]
            for event in before[(before["kind"] == 0) | (before["kind"] == 2)]:
                count[rank, int(event["peer"]), int(event["tag"]), int(event["comm"])] += 1
            at, peers, tags = actual_receives(of_rank)
            for place, peer, tag in zip(at, peers, tags, strict=True):
                if place < cut[rank]:
                    count[int(peer), rank, int(tag), int(of_rank["comm"][place])] -= 1
        assert not any(count.values())


def test_inner_loop_step_and_super_step_are_found_on_every_rank() -> None:
    events = simulate(staged(7, 120, 4, every=10))
    for of_rank in events.values():
        levels = levels_of(of_rank)
        assert (levels.inner, levels.step, levels.super_step) == (3, 12, 123)
        assert levels.cover > 0.8


@pytest.mark.parametrize("end_ns", [0, 1])
def test_times_that_cannot_be_give_no_step_or_a_step_but_no_fault(end_ns: int) -> None:
    events = simulate(staged(4, 40, 2, every=4))
    for of_rank in events.values():
        of_rank["start_ns"] = 0
        of_rank["end_ns"] = end_ns
    steps = common_steps(events)
    if steps is not None:
        assert_consistent(events, steps)


def test_fields_sent_in_a_row_to_one_neighbour_are_no_step_of_their_own() -> None:
    programs: list[list[Op]] = []
    for rank in range(4):
        left, right = (rank - 1) % 4, (rank + 1) % 4
        step = [("irecv", left, 1)] * 9 + [("isend", right, 1, 64)] * 9 + [("waitall",), ("allreduce", 8), ("compute", 1000)]
        programs.append(step * 12)
    events = simulate(programs)
    assert {levels_of(of_rank).step for of_rank in events.values()} == {9 + 9 + 18 + 1}
    steps = common_steps(events)
    assert steps is not None
    assert_consistent(events, steps)


def test_ranks_that_never_hear_of_each_other_have_steps_in_common() -> None:
    programs = [[("sendrecv", rank ^ 1, rank ^ 1, 1, 100), ("compute", 1000 + rank)] * (20 + rank // 2) for rank in range(6)]
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None and (steps.ends - steps.begins == 2).all()
    assert_consistent(events, steps)


@settings(max_examples=20, deadline=None)
@given(ranks=st.integers(3, 7), neighbours=st.integers(1, 3), every=st.sampled_from([7, 1000]), seed=st.integers(0, 9))
def test_the_cut_is_consistent_on_all_ranks(ranks: int, neighbours: int, every: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    programs = staged(ranks, 40, min(neighbours, ranks - 1), every)
    for program in programs:  # what comes before the steps differs
        program[:0] = [("compute", int(random.integers(0, 90_000)))]
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None
    assert_consistent(events, steps)
    step = steps.levels.step
    assert all(level.step == step for level in map(levels_of, events.values()))
    assert len(steps.events(events, 0)) in (step, step + 3)
    assert steps.to_dict()["time_lo_s"] <= steps.to_dict()["time_s"] <= steps.to_dict()["time_hi_s"]


def test_ranks_at_a_border_have_shorter_steps() -> None:
    programs = []
    for rank in range(5):
        ops: list[Op] = []
        for _ in range(30):
            beside = [peer for peer in (rank - 1, rank + 1) if 0 <= peer < 5]
            ops += [("irecv", -1 if peer == 1 and rank == 0 else peer, 3) for peer in beside]
            ops += [("isend", peer, 3, 500) for peer in beside] + [("waitall",), ("compute", 5000)]
        programs.append(ops)
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None
    assert [levels_of(events[rank]).step for rank in range(5)] == [4, 8, 8, 8, 4]
    assert_consistent(events, steps)


@pytest.mark.parametrize("calls", [0, 4, 200])
def test_what_does_not_repeat_has_no_step(calls: int) -> None:
    random = np.random.default_rng(calls)
    programs: list[list[Op]] = [[], []]
    for tag in random.permutation(calls).tolist():
        programs[0].append(("send", 1, tag, 8))
        programs[1].append(("recv", 0, tag))
    events = simulate(programs)
    assert levels_of(events[1]).step == 0
    assert common_steps(events) is None


def test_a_ring_with_a_reduction_now_and_then() -> None:
    events = simulate(ring(6, 60, 30_000, reduce_every=5))
    steps = common_steps(events)
    assert steps is not None
    assert steps.levels.step == 8
    assert steps.levels.super_step == 41
    assert_consistent(events, steps)


def test_messages_that_arrive_in_any_order_do_not_hide_the_step() -> None:
    """As MPI_Waitany tells them."""
    events = simulate(ring(6, 60, 30_000))
    rng = np.random.default_rng(3)
    for of_rank in events.values():
        done = np.flatnonzero(of_rank["kind"] == COMPLETION)
        for run in np.split(done, np.flatnonzero(np.diff(done) > 1) + 1):
            mixed = of_rank[rng.permutation(run)]
            for name in ("peer", "tag", "request", "bytes"):
                of_rank[name][run] = mixed[name]
    steps = common_steps(events)
    assert steps is not None and len(steps.durations_s) >= 10


def _stages(ranks: int, steps: int) -> list[list[Op]]:
    """Return steps of four exchanges with the same two neighbours, of other
    sizes each, between a long beginning and a long end."""
    programs: list[list[Op]] = []
    for rank in range(ranks):
        left, right = (rank - 1) % ranks, (rank + 1) % ranks

        def exchange(size: int, left: int = left, right: int = right) -> list[Op]:
            there: list[Op] = [("irecv", left, 0), ("send", right, 0, size), ("waitall",)]
            return [*there, ("irecv", right, 0), ("send", left, 0, size), ("waitall",)]

        ops: list[Op] = [("allreduce", 8)] * 700
        for step in range(steps):
            sizes = [2000 + 8 * (step // 10), 2900, 2900, 2000]
            ops += [op for size in sizes for op in exchange(size)] + [("compute", 100_000)]
            if step % 10 == 9:
                ops += [("allreduce", 4), ("sendrecv", right, left, 0, 5000), ("sendrecv", left, right, 0, 5000)]
        for _ in range(30):
            ops += exchange(100)
        programs.append(ops + [("allreduce", 8)] * 50)
    return programs


def test_stages_that_call_alike_are_one_step_and_the_programs_ends_are_none() -> None:
    events = simulate(_stages(7, 60))
    steps = common_steps(events)
    assert steps is not None
    assert_consistent(events, steps)
    assert {level.step for level in map(levels_of, events.values())} == {24}
    assert steps.begins[:, 0].min() >= 700 and steps.ends[:, 0].max() <= 700 + 60 * 24 + 6 * 5
    # What the program does between two steps is in neither.
    assert set(np.diff(steps.begins[:, 0]).tolist()) == {24, 24 + 5} and (steps.ends[:, 0] - steps.begins[:, 0] == 24).all()
    assert [(kind.calls, kind.steps) for kind in steps.kinds] == [(24, 60), (3, 5)]
    sent = steps.events(events, 3)
    assert sent["bytes"][sent["kind"] == BLOCKING_SEND][2:].tolist() == [2900] * 4 + [2000] * 2
    assert 1e-4 < steps.to_dict()["time_s"] < 2e-4


@pytest.mark.parametrize("seed", range(6))
def test_the_step_is_where_most_bytes_and_time_go_whatever_is_called_before_and_after(seed: int) -> None:
    rng = np.random.default_rng(seed)
    neighbours, steps, ranks = int(rng.integers(1, 4)), int(rng.integers(12, 40)), int(rng.integers(4, 8))
    programs = staged(ranks, steps, neighbours, every=1000)
    for program in programs:
        program[:0] = [("allreduce", 8)] * (5 * seed * steps)
        program += [("allreduce", 16)] * (4 * seed * steps)
    events = simulate(programs)
    found = common_steps(events)
    assert found is not None
    assert_consistent(events, found)
    assert {level.step for level in map(levels_of, events.values())} == {3 * neighbours}
    assert found.begins[:, 0].min() >= 5 * seed * steps and found.ends[:, 0].max() <= 5 * seed * steps + 3 * neighbours * steps


def test_tags_that_count_the_steps_do_not_hide_them() -> None:
    """As mpi4py's reductions of objects have them."""
    programs: list[list[Op]] = [[], []]
    for step in range(40):
        for rank in (0, 1):
            other = 1 - rank
            programs[rank] += [
                ("irecv", other, 7),
                ("send", other, 7, 500),
                ("waitall",),
                ("sendrecv", other, other, 100 + step, 8),
            ]
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None and {level.step for level in map(levels_of, events.values())} == {5}


def test_a_wavefront_is_cut_in_one_pass() -> None:
    """A dependency moves the front by one message: whoever goes through all tags for each of them does not end."""
    events = simulate(wavefront(6, 24, 300))
    steps = common_steps(events)
    assert steps is not None and steps.levels.step == 301 and len(steps.durations_s) == 24
    assert_consistent(events, steps)


def test_records_that_end_at_different_times_are_cut_as_far_as_all_of_them_go() -> None:
    """As the windows of ranks that call more often are full earlier."""
    events = {rank: of_rank[: 2400 - 100 * (rank % 3)] for rank, of_rank in simulate(wavefront(6, 24, 60)).items()}
    steps = common_steps(events)
    assert steps is not None and steps.levels.step == 61 and 15 <= len(steps.durations_s) <= 20
    assert_consistent(events, steps)
    collective = {
        rank: of_rank[: 300 - 40 * (rank % 3)] for rank, of_rank in simulate(ring(6, 60, 30_000, reduce_every=1)).items()
    }
    steps = common_steps(collective)
    assert steps is not None and steps.levels.step == 9 and len(steps.durations_s) >= 22


def test_a_sweep_over_a_grid_has_its_corners_and_the_reduction_as_a_step() -> None:
    """A plane is none: while one rank does it, the opposite corner does nothing."""
    side, planes = 4, 5
    programs: list[list[Op]] = []
    for rank in range(side * side):
        x, y, ops = rank // side, rank % side, []
        for dx, dy in [(1, 1), (-1, 1), (1, -1), (-1, -1)] * 12:
            inside = [0 <= at < side for at in (x - dx, y - dy, x + dx, y + dy)]
            ways = (
                ("recv", rank - dx * side, 1),
                ("recv", rank - dy, 2),
                ("send", rank + dx * side, 1, 8),
                ("send", rank + dy, 2, 8),
            )
            ops += [op for op, there in zip(ways, inside, strict=True) if there] * planes
            ops += [("compute", 100), ("allreduce", 8)] * ((dx, dy) == (-1, -1))
        programs.append(ops)
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None and steps.levels.step == 8 * planes + 1 and len(steps.durations_s) == 12
    assert_consistent(events, steps)


def test_a_search_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    events = simulate(ring(4, 20, 30_000))
    monkeypatch.setattr("rankwise.observe.steps.MOST_SECONDS", -1.0)
    with pytest.raises(TooLongError, match="no step found within"):
        common_steps(events)


def test_steps_of_the_whole_run_are_told_by_kind_with_their_share() -> None:
    events = simulate(ring(6, 60, 300_000, reduce_every=10))
    for of_rank in events.values():  # a beginning as long as all steps
        of_rank["start_ns"] += 18_000_000
        of_rank["end_ns"] += 18_000_000
    steps = common_steps(events)
    assert steps is not None
    assert [(kind.calls, kind.steps) for kind in steps.kinds] == [(5, 54), (6, 6)]
    assert sum(kind.share for kind in steps.kinds) == pytest.approx(0.5, abs=0.02)
    assert steps.before_s == pytest.approx(18e-3, rel=0.01) and steps.after_s < 1e-3
    assert (
        "54 steps), 45 % of the run; 6 calls, 3" in steps.words
        and "(6 steps), 5 %; before the first 18.0 ms (50 %)" in steps.words
    )
    assert " % of the run" in "".join(
        step.words for step in [common_steps(events, None, 30e-3)] if step
    )  # a rank's clock is late
    half = common_steps(events, (18e-3, 27e-3), 36e-3)
    assert half is not None and 25 <= sum(kind.steps for kind in half.kinds) <= 30
    assert sum(kind.share for kind in half.kinds) > 0.9 and " % of 9.00 ms" in half.words


def test_a_step_is_one_turn_though_every_fifth_does_more_and_every_tenth_still_more() -> None:
    """As of LAMMPS: neighbours are found anew every 5 steps, and every 10 energies are printed."""
    programs: list[list[Op]] = [[], []]
    for turn in range(60):
        for rank, calls in enumerate(programs):
            for tag in range(8):
                calls += [("sendrecv", 1 - rank, 1 - rank, tag, 10_000)]
            if turn % 5 == 4:
                calls += [("sendrecv", 1 - rank, 1 - rank, 20 + tag, 500) for tag in range(4)]
            if turn % 10 == 9:
                calls += [("allreduce", 8 + 8 * of) for of in range(3)]
            calls.append(("compute", 50_000))
    steps = common_steps(simulate(programs))
    assert steps is not None and [(kind.calls, kind.steps) for kind in steps.kinds][0] == (8, 48)


def test_a_loop_with_little_of_everything_is_no_step() -> None:
    """Its time, calls or bytes, one of them, must be more."""
    events = simulate(ring(6, 60, 300_000))
    steps = common_steps(events)
    assert steps is not None
    little = replace(steps, kinds=(replace(steps.kinds[0], share=0.04),))
    assert _stands_for_the_run(steps, events) and _stands_for_the_run(little, events)
    one = replace(little, begins=steps.begins[:1], ends=steps.ends[:1])
    assert not _stands_for_the_run(one, events)  # 1 step of 60
    for column, (_, of_rank) in enumerate(sorted(events.items())):
        of_rank["bytes"][: steps.begins[0, column]] = of_rank["bytes"][steps.ends[0, column] :] = 0
    assert _stands_for_the_run(one, events)


def test_single_calls_between_long_stretches_of_others_are_no_step() -> None:
    """As of NWChem: a sum now and then, and thousands of other calls in between; unless most of the time is in them."""
    events = simulate(staged(6, 40, 8, 40))
    steps = common_steps(events)
    assert steps is not None and (steps.ends - steps.begins).min() > 10
    for share, stands in ((0.3, False), (0.6, True)):
        sparse = replace(steps, begins=steps.ends - 1, kinds=(replace(steps.kinds[0], share=share),))
        assert _stands_for_the_run(sparse, events) == stands


def test_a_step_has_all_its_calls_and_none_that_sets_up() -> None:
    """Calls to MPI_PROC_NULL are calls; a rank that waits for others in MPI_Cart_create is not in a step yet."""
    events = simulate(ring(4, 20, 300_000))
    for rank, of_rank in events.items():
        of_rank["start_ns"] += 5_000_000
        of_rank["end_ns"] += 5_000_000
        posts = np.flatnonzero(of_rank["kind"] == 0)[::2]
        nowhere = of_rank[posts].copy()
        nowhere["kind"], nowhere["peer"], nowhere["end_ns"] = TIME_ONLY, -1, nowhere["start_ns"]
        nowhere["start_ns"] -= 1
        made = of_rank[:1].copy()
        made["kind"], made["call"], made["start_ns"], made["end_ns"] = TIME_ONLY, 9, 10 if rank == 1 else 4_900_000, 4_950_000
        events[rank] = np.concatenate([made, np.insert(of_rank, posts, nowhere)])
    steps = common_steps(events)
    assert steps is not None and [(kind.calls, kind.steps) for kind in steps.kinds] == [(6, 20)]
    assert (steps.begins[0] == 1).all()
    assert steps.spans_s(events).max() < 1.1 * steps.durations_s.sum()


def test_levels_of_a_search_in_a_graph_are_stages_of_a_step() -> None:
    """Each level sends another number of bytes, to any ranks, into receives that stand from the level before."""
    ranks, count = 5, 25
    random = np.random.default_rng(7)
    others = [np.delete(np.arange(ranks), rank) for rank in range(ranks)]
    levels = ((1, 500), (6, 900), (3, 200), (4, 4000))
    stages = [(size, [random.choice(of_rank, number).tolist() for of_rank in others]) for number, size in levels * count]
    incoming = [[sum(peers.count(rank) for peers in to) for rank in range(ranks)] for _, to in stages] + [[0] * ranks]
    programs: list[list[Op]] = []
    for rank in range(ranks):
        ops: list[Op] = [("irecv", -1, 5)] * incoming[0][rank]
        for number, (size, to) in enumerate(stages):
            ops += [*(("isend", peer, 5, size + int(random.integers(9))) for peer in to[rank]), ("waitall",)]
            ops += [*[("irecv", -1, 5)] * incoming[number + 1][rank], ("compute", 10_000), ("allreduce", 8)]
        programs.append(ops)
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None and len(steps.durations_s) == count
    assert sum(kind.share for kind in steps.kinds) > 0.9


@pytest.mark.parametrize(
    "behind", [[], [("allreduce", 64)], [("compute", 50_000_000), ("allreduce", 64)]], ids=["end", "call", "pause"]
)
@pytest.mark.parametrize("order", ["xc", "cx", "xcac", "xca", "cxac", "xa", "s", "sca"])
def test_every_iteration_of_a_loop_is_a_step(order: str, behind: list[Op]) -> None:
    """Whether computing lies before, between or behind its calls, and whatever follows the loop."""
    ranks, count = 4, 20
    parts: list[dict[str, list[Op]]] = []
    for rank in range(ranks):
        left, right = (rank - 1) % ranks, (rank + 1) % ranks
        exchange: list[Op] = [("irecv", left, 1), ("irecv", right, 2), ("isend", right, 1, 900), ("isend", left, 2, 900)]
        parts.append({
            "x": [*exchange, ("waitall",)], "c": [("compute", 400_000)], "a": [("allreduce", 8)],
            "s": [("sendrecv", right, left, 9, 5000)],
        })  # fmt: skip
    one = {"x": 5, "c": 0, "a": 1, "s": 1}
    events = simulate([[op for part in order for op in of_rank[part]] * count + behind for of_rank in parts])
    end_s = max(of_rank["end_ns"].max() for of_rank in events.values()) * 1e-9
    for run_s in (0.0, end_s + 4e-4, end_s + 1.0):
        steps = common_steps(events, None, run_s)
        assert steps is not None
        assert [(kind.calls, kind.steps) for kind in steps.kinds] == [(sum(map(one.__getitem__, order)), count)]
        assert steps.durations_s == pytest.approx(np.full(count, np.median(steps.durations_s)), rel=0.1)


def test_steps_that_call_alike_are_two_kinds_where_their_times_lie_far_apart() -> None:
    slow = np.random.default_rng(5).random(80) < 0.4
    steps = common_steps(simulate(ring(4, 80, lambda _, step: 900_000 if slow[step] else 100_000)))
    assert steps is not None and [kind.calls for kind in steps.kinds] == [5, 5]
    assert abs(steps.kinds[0].steps - slow.sum()) <= 1 and steps.kinds[0].time_s == pytest.approx(9e-4, rel=0.05)
    assert steps.to_dict()["time_lo_s"] > 8e-4 and steps.kinds[1].time_s < 2e-4


def test_the_representative_step_does_not_begin_with_the_program() -> None:
    """What is computed before a rank's very first call is in no event."""
    steps = common_steps(simulate(ring(4, 9, 40_000)))
    assert steps is not None and steps.begins[steps.representative].all()


@pytest.mark.parametrize("seed", range(12))
def test_a_program_that_ends_in_the_middle_of_a_step_has_those_before(seed: int) -> None:
    """Each rank's calls end somewhere in the last two of its steps."""
    events = simulate(ring(6, 20, 100_000, reduce_every=1))
    rng = np.random.default_rng(seed)
    ended = {rank: of_rank[: len(of_rank) - int(rng.integers(1, 18))] for rank, of_rank in events.items()}
    steps = common_steps(ended)
    assert steps is not None and steps.levels.step == 9 and 16 <= len(steps.durations_s) <= 19
    assert_consistent(ended, steps)
    assert phased(ended, steps).phases > 0
    waits = analyse({rank: steps.window(ended, rank) for rank in ended}, 6)
    assert waits.why_not is None and waits.unmatched == 0
