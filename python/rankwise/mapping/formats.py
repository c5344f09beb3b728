"""Mappings as files that launchers read (reading.py reads them back).

A mapping says which node is to hold each cell of the process grid. The files place rank r on the node of cell r, so a
program that numbers its grid row-major (as ``MPI_Cart_create`` does without reordering) runs unchanged.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Mapping, Sequence

from rankwise.errors import InputError

# How each format is used, as its first comment says where the format has comments.
USES = {
    "slurm-hostfile": "SLURM_HOSTFILE=FILE srun --distribution=arbitrary -n RANKS PROGRAM",
    "openmpi-rankfile": "mpirun -n RANKS --map-by rankfile:file=FILE PROGRAM (before 5.0: --rankfile FILE)",
    "hydra-hostfile": "mpiexec -f FILE -n RANKS PROGRAM (MPICH, Intel MPI)",
    "cray-rank-order": "copy to MPICH_RANK_ORDER, then MPICH_RANK_REORDER_METHOD=3 srun -n RANKS PROGRAM",
    "json": "node_of_cell: the node of every cell, row-major",
    "csv": "one line a cell: its rank, coordinates, node and host",
}


def default_hosts(nodes: int) -> list[str]:
    """Names for nodes that the user has not named: node0000, node0001, ..."""
    width = max(4, len(str(nodes - 1)))
    return [f"node{node:0{width}d}" for node in range(nodes)]


Parts = Mapping[str, Sequence[int]]


def write_mapping(
    kind: str, grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str], parts: Parts | None = None
) -> str:
    """Return a mapping in one of the formats of ``USES``; ``hosts`` names each node. Raises InputError.

    ``parts`` holds the part of every cell at each level below the node, the outer first: formats that name cores place
    the ranks accordingly, those that name nodes only leave that to the launcher.
    """
    if kind not in _WRITERS:
        raise InputError(f"--format {kind} is unknown: take {', '.join(USES)}")
    nodes = max(node_of_cell) + 1
    if len(hosts) < nodes:
        raise InputError(f"--hosts names {len(hosts)} nodes but the mapping has {nodes}: name one for each node")
    return _WRITERS[kind](grid, node_of_cell, hosts, parts or {})


def _core_order(node_of_cell: Sequence[int], parts: Parts) -> list[int]:
    """Ranks node by node, within a node part by part (the innermost parts are numbered in that order)."""
    inner = list(parts.values())[-1] if parts else node_of_cell
    return sorted(range(len(node_of_cell)), key=lambda rank: (node_of_cell[rank], inner[rank], rank))


def _slurm(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str], parts: Parts) -> str:
    # Slurm takes every line for a host, comments too.
    return "".join(f"{hosts[node]}\n" for node in node_of_cell)


def _openmpi(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str], parts: Parts) -> str:
    slots = [""] * len(node_of_cell)
    sockets = parts.get("socket")
    first_socket: dict[int, int] = {}  # of each node
    used: dict[int, int] = {}
    for rank in _core_order(node_of_cell, parts):
        group = node_of_cell[rank] if sockets is None else sockets[rank]
        core = used.get(group, 0)
        used[group] = core + 1
        first = first_socket.setdefault(node_of_cell[rank], group)
        slots[rank] = f"{core}" if sockets is None else f"{group - first}:{core}"
    lines = [f"# {USES['openmpi-rankfile']}\n"]
    lines += [f"rank {rank}={hosts[node]} slot={slots[rank]}\n" for rank, node in enumerate(node_of_cell)]
    return "".join(lines)


def _hydra(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str], parts: Parts) -> str:
    runs = [(node, len(list(same))) for node, same in itertools.groupby(node_of_cell)]
    lines = [f"# {USES['hydra-hostfile']}\n"]
    if len(runs) > len(set(node_of_cell)):
        # MPICH takes each run of ranks for a node of its own.
        names = list(dict.fromkeys(node_of_cell))
        order = ",".join(str(names.index(node)) for node in node_of_cell)
        lines.append("# Ranks of a node that do not stand together will not share its memory under MPICH; they do with:\n")
        lines.append(f"# mpiexec -hosts {','.join(hosts[node] for node in names)} -rankmap {order} -n {len(node_of_cell)} PROGRAM\n")
    return "".join([*lines, *(f"{hosts[node]}:{count}\n" for node, count in runs)])


def _cray(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str], parts: Parts) -> str:
    # The list fills the nodes of the job in their order, so the hosts' names play no part.
    ranks_of: dict[int, list[int]] = {}
    for rank in _core_order(node_of_cell, parts):
        ranks_of.setdefault(node_of_cell[rank], []).append(rank)
    lines = [f"# {USES['cray-rank-order']}\n"]
    nodes = sorted(ranks_of)
    for node in nodes:
        # A line may end in a comma: the list goes on.
        lines.append(",".join(map(str, ranks_of[node])) + ("," if node != nodes[-1] else "") + "\n")
    return "".join(lines)


def _json(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str], parts: Parts) -> str:
    record: dict[str, object] = {"grid": list(grid), "hosts": list(hosts), "node_of_cell": list(node_of_cell)}
    if parts:
        record["parts"] = {level: list(part) for level, part in parts.items()}
    return json.dumps(record) + "\n"


def _csv(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str], parts: Parts) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["rank", *(f"axis{axis}" for axis in range(len(grid))), "node", "host", *parts])
    at = [0] * len(grid)
    for rank, node in enumerate(node_of_cell):
        writer.writerow([rank, *at, node, hosts[node], *(part[rank] for part in parts.values())])
        for axis in reversed(range(len(grid))):
            at[axis] += 1
            if at[axis] < grid[axis]:
                break
            at[axis] = 0
    return stream.getvalue()


_WRITERS: dict[str, Callable[[Sequence[int], Sequence[int], Sequence[str], Parts], str]] = {
    "slurm-hostfile": _slurm,
    "openmpi-rankfile": _openmpi,
    "hydra-hostfile": _hydra,
    "cray-rank-order": _cray,
    "json": _json,
    "csv": _csv,
}
