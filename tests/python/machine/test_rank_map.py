"""What ranks of MPICH 5.0 make of rank maps: as runs of MPICH 5.0.2 on four nodes ended."""

import pytest

from rankwise.machine.rank_map import is_read_back


@pytest.mark.parametrize(
    "nodes",
    ["211122000", "101032201212", "100301122", "032122320003", "32000102", "101202001212", "0200120102", "3232", "0202",
     "32321010", "030312", "120303", "021021", "02130213", "32103210", "0011001122332233", "01233210", "01012323"],
)  # fmt: skip
def test_maps_by_which_ranks_start(nodes: str) -> None:
    assert is_read_back([int(node) for node in nodes])


@pytest.mark.parametrize(
    "nodes",
    ["001210100", "010132121211", "020221223301", "02102111", "0323220011",  # a rank after a group, on the node of its last
     "010123230101", "001100112233223311001100", "3123102023013012"],  # a third group, or something after the second
)  # fmt: skip
def test_maps_by_which_ranks_hang(nodes: str) -> None:
    assert not is_read_back([int(node) for node in nodes])
