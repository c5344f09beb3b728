"""Whose turn it is: campaigns over links of many rates, simulated visit by visit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from rankwise.machine.link import LEAST_SIZES
from rankwise.measure.campaign import Plan, default_sizes
from rankwise.measure.places import Places
from rankwise.measure.turns import CHEAP_LAUNCH_S, LEAST_DEAR, LEAST_LAUNCHES, Progress, next_of
from rankwise.measure.workloads import Cell, bytes_in_a_row, fitted_stream

LINK = Places(((0, 1), (1, 0)), (0, 1), ("n1", "n2"), "card", 2)
HERE = Places(((0, 1),), (0, 1), (), "memory")


@dataclass
class Machine:
    """Links of a latency and a rate; ``start_s`` to start ranks. Visits last as the kernels' do."""

    byte_s: dict[str, float]
    latency_s: float = 10e-6
    start_s: float = 0.15

    def launch(self, progress: Progress, seconds: float, cells: tuple[Cell, ...], budget_s: float) -> float:
        """Visit cells in their order until the time is up; return how long it measured."""
        spent_s = 0.0
        for cell in cells:
            sample_s = 2 * self.latency_s + bytes_in_a_row(*cell) * self.byte_s[progress.link]
            if spent_s >= seconds or 2 * sample_s > seconds - spent_s + 0.05:
                continue
            count = max(1, min(progress.most, int(budget_s / sample_s)))
            visit_s = (count + 1 + 4 * (sample_s < budget_s)) * sample_s
            progress.note({"time_s": [sample_s] * count, "visit_s": visit_s}, cell)
            spent_s += visit_s
        progress.ended({"measuring_s": spent_s, "seconds": spent_s + self.start_s})
        return spent_s


def run(plan: Plan, machine: Machine) -> tuple[list[Progress], float]:
    """Return what a whole campaign comes to, and how long it lasts."""
    progresses, lasted_s, first = plan.progresses(), 0.0, set()
    while (following := next_of(progresses, plan.seconds)) is not None:
        progress, left_s = following
        byte_s = machine.byte_s[progress.link] if progress.launches or progress.index else 0.0
        if progress.aside:
            progress.cells = tuple(
                fit for cell in plan.cells(progress.part) if (fit := fitted_stream(cell, byte_s, True)) is not None
            )
        turn = progress.turn(left_s, byte_s, 1)
        if progress.link not in first and not progress.aside and plan.launches is None:
            needed, rest = turn.cells[:LEAST_SIZES], turn.cells[LEAST_SIZES:]
            assert list(needed) == [("send", size) for size in sorted(plan.sizes)[:LEAST_SIZES]]
            sizes = [bytes_in_a_row(*cell) for cell in rest]
            assert sizes == sorted(sizes) and len(turn.cells) == len(progress.cells)
            first.add(progress.link)
        lasted_s += machine.start_s + machine.launch(progress, turn.seconds, turn.cells, turn.budget_s)
    return progresses, lasted_s


@pytest.mark.parametrize("seconds", [10.0, 60.0])
@pytest.mark.parametrize("bytes_per_s", [1.25e6, 12.5e6, 125e6, 12e9])
@pytest.mark.parametrize("sizes", [(0, 8, 1000, 64_000, 1 << 20), default_sizes(1 << 20)[::2], default_sizes()])
def test_any_link_gets_launches_enough_in_its_time(bytes_per_s: float, seconds: float, sizes: tuple[int, ...]) -> None:
    plan = Plan({"other-node": LINK}, sizes, seconds=seconds)
    (main, aside), lasted_s = run(plan, Machine({"other-node": 1 / bytes_per_s}))
    least = LEAST_LAUNCHES if bytes_per_s * seconds > 3e9 else LEAST_DEAR
    assert main.launches >= least and aside.launches >= 2
    assert 0.7 * seconds <= lasted_s <= 1.25 * seconds + 7 * 0.15
    # What is left out is what is dear: all that is cheaper has been visited, and as often as there were launches.
    cost = {cell: bytes_in_a_row(*cell) for cell in main.cells}
    seen = max(cost[cell] for cell in main.seen)
    assert seen * bytes_per_s**-1 * 8 > 0.03 * seconds or len(main.seen) == len(main.cells)
    assert all(cell in main.seen for cell in main.cells if cost[cell] < seen)
    assert main.seen["send", 0].visits >= 0.9 * main.launches
    # Pairs at once fill the link: a window of several tenths of a second at most.
    assert aside.seen and max(bytes_in_a_row(*cell) for cell in aside.seen) >= min(1 << 20, 0.08 * bytes_per_s)


def test_quick_links_are_launched_at_least_every_half_second() -> None:
    (main, aside), _ = run(
        Plan({"same-socket": HERE}, default_sizes(1 << 16), seconds=15.0), Machine({"same-socket": 1e-10}, 1e-6)
    )
    assert main.launches > 0.9 * 0.75 * 15 / (CHEAP_LAUNCH_S + 0.15)
    assert all(seen.visits == main.launches for seen in main.seen.values()) and len(main.seen) == len(main.cells)
    assert aside.launches >= 5


def test_each_link_class_has_its_share_whatever_another_takes() -> None:
    plan = Plan({"same-socket": HERE, "other-node": LINK}, default_sizes(), seconds=20.0)
    progresses, lasted_s = run(plan, Machine({"same-socket": 1e-10, "other-node": 1 / 1.25e6}))
    spent = {link: sum(p.spent_s for p in progresses if p.link == link) for link in plan.places}
    assert spent["same-socket"] > 8 and spent["other-node"] < 14 and lasted_s < 26


def test_so_many_launches_as_are_asked_for() -> None:
    for asked in (1, 3, 12):
        progresses, lasted_s = run(
            Plan({"other-node": LINK}, default_sizes(), launches=asked, seconds=10.0), Machine({"other-node": 1e-8})
        )
        assert [progress.launches for progress in progresses] == [asked, asked]
        assert lasted_s < 12.5 + 2 * asked * 0.15


def test_where_starting_ranks_is_dear_there_are_five_launches() -> None:
    progresses, lasted_s = run(
        Plan({"other-node": LINK}, default_sizes(1 << 16), seconds=10.0), Machine({"other-node": 1e-9}, start_s=5.0)
    )
    assert [progress.launches for progress in progresses] in ([LEAST_DEAR, 2], [LEAST_DEAR + 1, 2])
    assert lasted_s < 10.0 * 1.25 + 7 * 5.0


def test_all_nodes_have_their_turn() -> None:
    hosts = tuple(f"n{i}" for i in range(31))
    places = replace(LINK, hosts=hosts)
    for count in (2, 3, 4, 7, 31):
        some = replace(places, hosts=hosts[:count])
        launches = range((count + 1) // 2)
        assert {host for launch in launches for host in some.hosts_of_launch(launch)} == set(hosts[:count])
        assert some.hosts_of_launch(0) == hosts[:2]
        pairs = {frozenset(some.hosts_of_launch(launch)) for launch in range(count * (count - 1) // 2)}
        assert len(pairs) == count * (count - 1) // 2 and all(len(pair) == 2 for pair in pairs)
    (main, *_), _ = run(Plan({"other-node": places}, default_sizes(1 << 14), seconds=15.0), Machine({"other-node": 1e-9}))
    assert main.launches >= 16


def test_a_launch_goes_no_farther_than_what_was_seen_lets_know() -> None:
    """A shaper that lets small messages pass at once makes a byte seem to cost nothing; of larger ones that is not known."""
    plan = Plan({"other-node": LINK}, default_sizes(), seconds=5.0)
    (main, _) = plan.progresses()
    for size in (0, 1, 8, 64, 1024, 8192):
        main.note({"time_s": [1e-4] * 5, "visit_s": 6e-4}, ("send", size))
    main.ended({"measuring_s": 0.1, "seconds": 0.2})
    for reach in (32 << 10, 128 << 10):
        turn = main.turn(4.0, 0.0, 1)
        largest = max(size for operation, size in turn.cells if operation == "send")
        assert largest == reach
        main.note({"time_s": [1e-4] * 5, "visit_s": 6e-4}, ("send", largest))
    # A size asked for is come to however far it is beyond the others.
    (main, _) = Plan({"other-node": LINK}, (0, 8, 1 << 20), seconds=5.0).progresses()
    main.note({"time_s": [1e-4] * 5, "visit_s": 6e-4}, ("send", 8))
    main.ended({"measuring_s": 0.1, "seconds": 0.2})
    assert ("send", 1 << 20) in main.turn(4.0, 0.0, 1).cells
