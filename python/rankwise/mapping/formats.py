"""Mappings as files that launchers read (reading.py reads them back).

A mapping says which node is to hold each cell of the process grid. The files place rank r on the node of cell r, so a
program that numbers its grid row-major (as ``MPI_Cart_create`` does without reordering) runs unchanged.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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

_MOST_HOSTS = 1_000_000


def parse_hosts(text: str) -> list[str]:
    """Read node names: a file with one a line, or a list such as ``n1,n2`` or ``n[001-016,020],login``.

    Brackets are Slurm's notation. Raises InputError.
    """
    path = Path(text)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if is_file:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"--hosts {text} cannot be read ({error}): give one node name a line") from None
        words = [line.split("#")[0].strip() for line in lines]
        hosts = [host for word in words if word for host in _expand(word)]
    else:
        hosts = _expand(text)
    if not hosts:
        raise InputError(f"--hosts {text} names no node: write it as node[001-016] or give a file")
    if len(set(hosts)) < len(hosts):
        twice = next(host for host in hosts if hosts.count(host) > 1)
        raise InputError(f"--hosts names {twice} twice: name each node once")
    return hosts


def _expand(text: str) -> list[str]:
    hosts: list[str] = []
    for word in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text):
        names = [""]
        for plain, ranges in re.findall(r"([^\[\]]+)|\[([^\]]*)\]", word.strip()):
            ends = [plain] if plain else _range_ends(ranges, text)
            if len(names) * len(ends) > _MOST_HOSTS:
                raise InputError(f"--hosts {text[:40]} names more than {_MOST_HOSTS} nodes: shorten it")
            names = [name + end for name in names for end in ends]
        hosts += names
    if any(not re.fullmatch(r"[A-Za-z0-9._:-]+", host) for host in hosts) or text.count("[") != text.count("]"):
        raise InputError(f"--hosts '{text[:60]}' is no list of node names and no file: write it as node[001-016]")
    return hosts


def _range_ends(ranges: str, text: str) -> list[str]:
    ends: list[str] = []
    for part in ranges.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if match is None or int(match[2] or match[1]) - int(match[1]) not in range(_MOST_HOSTS):
            raise InputError(f"--hosts '{text[:60]}' has the range '{part}': write it as node[001-016,020]")
        width = len(match[1])
        ends += [f"{number:0{width}d}" for number in range(int(match[1]), int(match[2] or match[1]) + 1)]
    return ends


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
    lines = [f"# {USES['hydra-hostfile']}\n"]
    start = 0
    for rank in range(1, len(node_of_cell) + 1):
        if rank == len(node_of_cell) or node_of_cell[rank] != node_of_cell[start]:
            lines.append(f"{hosts[node_of_cell[start]]}:{rank - start}\n")
            start = rank
    return "".join(lines)


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
