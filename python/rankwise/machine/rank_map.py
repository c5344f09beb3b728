"""Rank maps that ranks of MPICH 5.0 misread, so that they hang in MPI_Init.

``mpiexec -rankmap`` starts each rank where it is asked to, but passes them the map in a compressed form, by which they find
who shares their memory. Up to MPICH 5.0 (mended in 5.1, pull request 7801) a rank is lost that follows a repeated group of
ranks and shares the node of its last one; and of several repeated groups each after the first is read once too often.
"""

from __future__ import annotations

from collections.abc import Sequence

MISREAD = "under MPICH 5.0 its ranks hang in MPI_Init (a bug of -rankmap where groups of nodes repeat, fixed in 5.1)"

Groups = list[tuple[list[int], int]]  # nodes of ranks one after the other, and how many times these follow


def is_read_back(node_of_rank: Sequence[int]) -> bool:
    """Tell whether ranks of MPICH 5.0 learn who is on which node."""
    nodes = list(node_of_rank)
    found: list[int] = []
    repeated = 0
    for group, times in _compressed(nodes):
        repeated += times > 1
        found += group * (times + 1 if times > 1 and repeated > 1 else times)
    return found[: len(nodes)] == nodes


def _compressed(nodes: list[int]) -> Groups:
    """Return the groups that are told: a repetition is looked for where a node comes again that a block began with."""
    groups: Groups = []
    blocks: list[tuple[int, int, int, int]] = []  # since the last repetition: first rank, first node, nodes, ranks on each
    began: dict[int, int] = {}  # of a node: which block it began
    rank = told = 0  # told: ranks that the groups hold, or have lost
    while rank < len(nodes):
        node = nodes[rank]
        if rank and node == nodes[rank - 1]:
            if not blocks:  # counted as one more of a repetition, which has no ranks of its own
                told = rank = rank + 1
                continue
            first, start, many, each = blocks[-1]
            blocks[-1] = (first, start, many, each + 1)
            rank += 1
            continue
        _merge(blocks, began)
        if node in began:
            first = blocks[began[node]][0]
            group = nodes[first:rank]
            times = 1
            while nodes[first + len(group) * times : first + len(group) * (times + 1)] == group:
                times += 1
            if times > 1:
                groups += [(nodes[told:first], 1), (group, times)]
                rank = told = first + len(group) * times
                blocks, began = [], {}
                continue
        began[node] = len(blocks)
        blocks.append((rank, node, 1, 1))
        rank += 1
    return [*groups, (nodes[told:], 1)]


def _merge(blocks: list[tuple[int, int, int, int]], began: dict[int, int]) -> None:
    """Join the last two blocks where nodes follow each other with as many ranks on each."""
    if len(blocks) > 1:
        (first, start, many, each), (_, after, _, of_it) = blocks[-2:]
        if each == of_it and start + many == after:
            blocks[-2:] = [(first, start, many + 1, each)]
            began.pop(after, None)
