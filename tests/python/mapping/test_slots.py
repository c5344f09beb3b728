"""Fewer ranks than slots: who is left out."""

from __future__ import annotations

import pytest

from rankwise.errors import InputError
from rankwise.mapping import map_grid
from rankwise.mapping.slots import choose_slots, parse_node_sizes, ways_to_fill


def test_ways_hold_all_ranks_within_the_slots() -> None:
    slots = [24, 8, 24, 16]
    ways = ways_to_fill(slots, 50)
    assert (24, 0, 24, 2) in ways and (17, 0, 17, 16) in ways and (14, 8, 14, 14) in ways
    for way in ways:
        assert sum(way) == 50 and all(given <= size for given, size in zip(way, slots, strict=True))
    assert len(set(ways)) == len(ways)
    assert ways_to_fill([4, 4], 8) == [(4, 4)]
    assert all(min(way) == 0 for way in ways_to_fill([4, 4, 4], 2))


def test_blocks_of_equal_nodes_are_better_than_full_nodes_and_a_rest() -> None:
    found = choose_slots([12, 8], [36, 36, 36, 36], "nearest-neighbor", [False, False])
    assert found.kept == [0, 1, 2] and found.ranks == (32, 32, 32, 0)
    assert found.left_out[3].to_dict() == {"node": 3, "ranks": 0, "free": 36}
    least = map_grid([12, 8], [32] * 3, "nearest-neighbor", algorithms=["auto"]).best.j_sum
    assert least < map_grid([12, 8], [36, 36, 24], "nearest-neighbor", algorithms=["auto"]).best.j_sum


def test_too_few_slots_are_refused() -> None:
    with pytest.raises(InputError, match="sum to 8"):
        ways_to_fill([4, 4], 9)
    with pytest.raises(InputError, match="at least 1"):
        ways_to_fill([4, 0], 2)


def test_nodes_and_ranks_of_each_follow_from_each_other() -> None:
    assert parse_node_sizes([6, 4], 3, None, None) == parse_node_sizes([6, 4], None, 8, None) == [8] * 3
    assert parse_node_sizes([6, 4], 24, None, None) == [1] * 24
