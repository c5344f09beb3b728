"""Mappings as files that launchers read (reading.py reads them back), each with the command that takes it.

A mapping says which node is to hold each cell of the process grid. The files place rank r on the node of cell r, so a
program that numbers its grid row-major (as ``MPI_Cart_create`` does without reordering) runs unchanged. Of an observed
program the cells are its ranks.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from rankwise.errors import InputError
from rankwise.machine.hosts import natural_order
from rankwise.machine.rank_map import MISREAD, is_read_back

Parts = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Placed:
    """A mapping to be written: the node of each cell of a grid, the nodes' names, and the parts of each level below them."""

    grid: Sequence[int]
    node_of_cell: Sequence[int]
    hosts: Sequence[str]
    parts: Parts = field(default_factory=dict)

    @property
    def nodes(self) -> list[int]:
        """The nodes that hold ranks, in the order of their names, which Slurm's hydra takes whatever a list says."""
        return sorted(set(self.node_of_cell), key=lambda node: natural_order(self.hosts[node]))

    def slots(self) -> list[str]:
        """Return each node with how many ranks it holds: n1:4."""
        ranks = Counter(self.node_of_cell)
        return [f"{self.hosts[node]}:{ranks[node]}" for node in self.nodes]


@dataclass(frozen=True)
class Format:
    """A file: how it is written, the command that takes it, and what to beware of."""

    write: Callable[[Placed], str]
    use: str  # with {ranks}, {nodes}, {slots} and {rankmap}
    warning: str = ""


def default_hosts(nodes: int) -> list[str]:
    """Names for nodes that the user has not named: node0000, node0001, ..."""
    width = max(4, len(str(nodes - 1)))
    return [f"node{node:0{width}d}" for node in range(nodes)]


def write_mapping(
    kind: str, grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str], parts: Parts | None = None
) -> str:
    """Return a mapping in one of the ``FORMATS``; ``hosts`` names each node. Raises InputError.

    ``parts`` holds the part of every cell at each level below the node, the outer first: formats that name cores place
    the ranks accordingly, those that name nodes only leave that to the launcher.
    """
    require_format(kind)
    nodes = max(node_of_cell) + 1
    if len(hosts) < nodes:
        raise InputError(f"--hosts names {len(hosts)} nodes but the mapping has {nodes}: name one for each node")
    placed = Placed(grid, list(node_of_cell), hosts, parts or {})
    title = f"# {use_of(kind, placed)}\n" if kind in _TITLED else ""
    return title + FORMATS[kind].write(placed)


def require_format(kind: str) -> None:
    """Raise InputError where there is no format of that name."""
    if kind not in FORMATS:
        raise InputError(f"--format '{kind}' is unknown: choose one of {', '.join(FORMATS)}")


def use_of(kind: str, placed: Placed) -> str:
    """Return the command that starts a PROGRAM by a file of this format, which it names FILE."""
    return FORMATS[kind].use.format(
        ranks=len(placed.node_of_cell), nodes=len(placed.nodes), slots=",".join(placed.slots()),
        rankmap=",".join(map(str, _rank_map(placed))),
    )  # fmt: skip


def _rank_map(placed: Placed) -> list[int]:
    number = {node: i for i, node in enumerate(placed.nodes)}
    return [number[node] for node in placed.node_of_cell]


def warning_of(kind: str, placed: Placed) -> str:
    """Return what to beware of where this mapping is used by a file of this format."""
    if "{rankmap}" in FORMATS[kind].use and not is_read_back(_rank_map(placed)):
        return MISREAD
    return FORMATS[kind].warning


def _core_order(placed: Placed) -> list[int]:
    """Ranks node by node, within a node part by part (the innermost parts are numbered in that order)."""
    nodes = placed.node_of_cell
    inner = list(placed.parts.values())[-1] if placed.parts else nodes
    return sorted(range(len(nodes)), key=lambda rank: (nodes[rank], inner[rank], rank))


def _host_a_rank(placed: Placed) -> str:
    # No comment: Slurm takes every line for a host.
    return "".join(f"{placed.hosts[node]}\n" for node in placed.node_of_cell)


def _rankfile(placed: Placed) -> str:
    nodes, sockets = placed.node_of_cell, placed.parts.get("socket")
    slots = [""] * len(nodes)
    first_socket: dict[int, int] = {}  # of each node
    used: dict[int, int] = {}
    for rank in _core_order(placed):
        group = nodes[rank] if sockets is None else sockets[rank]
        core = used.get(group, 0)
        used[group] = core + 1
        first = first_socket.setdefault(nodes[rank], group)
        slots[rank] = f"{core}" if sockets is None else f"{group - first}:{core}"
    return "".join(f"rank {rank}={placed.hosts[node]} slot={slots[rank]}\n" for rank, node in enumerate(nodes))


def _hydra(placed: Placed) -> str:
    # Each host once: MPICH takes one that is named again for a node of its own, whose ranks share no memory with the others.
    return "".join(f"{slots}\n" for slots in placed.slots())


def _intel(placed: Placed) -> str:
    return "".join(f"{placed.hosts[node]}:1\n" for node in placed.node_of_cell)


def _cray(placed: Placed) -> str:
    # The list fills the nodes of the job in their order, so the hosts' names play no part.
    ranks_of: dict[int, list[int]] = {}
    for rank in _core_order(placed):
        ranks_of.setdefault(placed.node_of_cell[rank], []).append(rank)
    # A line may end in a comma: the list goes on.
    return ",\n".join(",".join(map(str, ranks_of[node])) for node in sorted(ranks_of)) + "\n"


def _json(placed: Placed) -> str:
    record: dict[str, object] = {
        "grid": list(placed.grid), "hosts": list(placed.hosts), "node_of_cell": list(placed.node_of_cell),
    }  # fmt: skip
    if placed.parts:
        record["parts"] = {level: list(part) for level, part in placed.parts.items()}
    return json.dumps(record) + "\n"


def _csv(placed: Placed) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    grid = placed.grid
    writer.writerow(["rank", *(f"axis{axis}" for axis in range(len(grid))), "node", "host", *placed.parts])
    for rank, (node, at) in enumerate(zip(placed.node_of_cell, product(*map(range, grid)), strict=True)):
        writer.writerow([rank, *at, node, placed.hosts[node], *(part[rank] for part in placed.parts.values())])
    return stream.getvalue()


FORMATS = {
    "slurm-hostfile": Format(
        _host_a_rank,
        "SLURM_HOSTFILE=FILE srun --mpi=pmix --distribution=arbitrary -n {ranks} PROGRAM",
        "with --mpi=pmi2 (MPICH) ranks of a node that do not stand together share no memory: take hydra-hostfile inside the "
        "job",
    ),
    "openmpi-rankfile": Format(
        _rankfile,
        "mpirun --host {slots} --map-by rankfile:file=FILE -n {ranks} PROGRAM (before 5.0: mpirun --host {slots} "
        "--rankfile FILE -n {ranks} PROGRAM)",
        "Open MPI 5 takes 'pe' in the path of FILE for its directive PE: start it in FILE's folder and give the name alone",
    ),
    "openmpi-seq": Format(_host_a_rank, "mpirun --hostfile FILE --map-by seq --bind-to none -n {ranks} PROGRAM"),
    "hydra-hostfile": Format(_hydra, "mpiexec -f FILE -rankmap {rankmap} -n {ranks} PROGRAM"),
    "intel-machinefile": Format(
        _intel,
        "mpiexec -machinefile FILE -n {ranks} PROGRAM",
        "by Intel MPI's documentation alone, its ranks were never read back: see that those of a node share its memory",
    ),
    "cray-rank-order": Format(
        _cray,
        "cp FILE MPICH_RANK_ORDER && MPICH_RANK_REORDER_METHOD=3 srun -n {ranks} PROGRAM",
        "by Cray's documentation alone: the list fills the job's nodes in their order, the hosts' names play no part",
    ),
    "flux-taskmap": Format(
        _host_a_rank,
        "flux run --taskmap=hostfile:FILE -N{nodes} -n{ranks} PROGRAM",
        "by Flux's documentation alone, its ranks were never read back",
    ),
    "json": Format(_json, "node_of_cell: the node of every cell, row-major"),
    "csv": Format(_csv, "one line a cell: its rank, coordinates, node and host"),
}
_TITLED = ("openmpi-rankfile", "hydra-hostfile", "cray-rank-order")  # whose readers know comments
