"""Levels above and below the node: read from words, numbered on a machine, hosts ordered by them."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.errors import InputError
from rankwise.machine.switches import parse_switches
from rankwise.mapping import How, map_grid
from rankwise.mapping.levels import Above, Inner, Unit, levels_asked, levels_read, parse_levels, seat_nodes, seats
from rankwise.mapping.problem import problem_of


def test_levels_are_read_above_and_below() -> None:
    assert parse_levels("socket:2, l3:4") == ([Inner("socket", 2), Inner("l3", 4)], [])
    assert parse_levels("switch:4*5,group:2,numa:2") == ([Inner("numa", 2)], [Unit("switch", 4, 5), Unit("group", 2, None)])
    assert levels_asked(parse_levels("switch:2*3,group:2")[1], 4) == [
        Above("switch", (0, 0, 1, 1), 3), Above("group", (0, 0, 0, 0), 10)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["rack:2", "socket", "group:2,switch:2", "l3:2,socket:2", "switch:0", "switch:2*", "socket:2*3", ""]
)
def test_levels_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--levels"):
        parse_levels(text)


@pytest.mark.parametrize(
    ("text", "what"), [("switch:3", "divide the 4"), ("switch", "a number"), ("switch:2*9,group:1*4", "9 to 1024")]
)
def test_levels_that_do_not_fit_the_nodes_are_refused(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        levels_asked(parse_levels(text)[1], 4)


def test_uneven_switches_keep_their_places_on_the_machine() -> None:
    above = [Above("switch", (0, 1, 0, 2, 1), 5), Above("group", (0, 0, 0, 1, 0), 10)]
    assert seats(above, [4, 8]) == [0, 4, 1, 8, 5]
    with pytest.raises(InputError, match="more than the 1"):
        seats(above, [1, 8])
    with pytest.raises(InputError, match="1 levels"):
        seats(above, [4])


def test_hosts_are_ordered_so_that_neighbouring_nodes_share_a_switch() -> None:
    """A ring of eight nodes on two switches whose nodes alternate: two of its edges must lie between them, not all."""
    problem = problem_of([8, 4], [4] * 8, "component", [True, False], [1, 1])
    hosts = [f"n{i}" for i in range(8)]
    switches = parse_switches("SwitchName=a Nodes=n[0,2,4,6]\nSwitchName=b Nodes=n[1,3,5,7]\n", "file")
    plain = np.repeat(np.arange(8, dtype=np.int32), 4)
    seats = seat_nodes(problem, plain, levels_read(switches, hosts, []))[::4]
    assert sorted(seats.tolist()) == list(range(8))
    assert (seats % 2 != np.roll(seats, 1) % 2).sum() == 2


def test_what_crosses_switches_counts_by_its_cost_before_the_busiest_node() -> None:
    """Three nodes on one switch, one on another: a row of slabs leaves it at one place, a square of blocks at two."""
    above = [Above("switch", (0, 0, 0, 1), 5)]
    found = map_grid([16, 8], [32] * 4, "nearest-neighbor", how=How(above=above))
    cost = {result.algorithm: (result.j_sum, result.above[0].sent, result.cost) for result in found.results}
    assert cost["blocked"] == (48, 16, 48 + 4 * 16) and cost["nodecart"] == (48, 24, 48 + 4 * 24)
    assert found.best.cost == 112
    assert map_grid([16, 8], [32] * 4, "nearest-neighbor").best.j_max == 12
    alternating = [Above("switch", (0, 1, 0, 1), 5)]
    slabs = map_grid([16, 8], [32] * 4, "nearest-neighbor", algorithms=["blocked", "refined"], how=How(above=alternating))
    assert [result.above[0].sent for result in slabs.results] == [48, 16]
    two = [Above("switch", (0, 0, 1, 1), 5), Above("group", (0, 0, 0, 1), 10)]
    (result,) = map_grid([4], [1] * 4, "nearest-neighbor", algorithms=["blocked"], how=How(above=two)).results
    assert (result.j_sum, [crossing.sent for crossing in result.above], result.cost) == (6, [2, 2], 2 * 1 + 2 * 1 + 2 * 10)
