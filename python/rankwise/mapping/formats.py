"""Mappings as files that launchers read, and back.

A mapping says which node is to hold each cell of the process grid. The files place rank r on the node of cell r, so a
program that numbers its grid row-major (as ``MPI_Cart_create`` does without reordering) runs unchanged.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
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


def write_mapping(kind: str, grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str]) -> str:
    """Return a mapping in one of the formats of ``USES``; ``hosts`` names each node. Raises InputError."""
    if kind not in _WRITERS:
        raise InputError(f"--format {kind} is unknown: take {', '.join(USES)}")
    nodes = max(node_of_cell) + 1
    if len(hosts) < nodes:
        raise InputError(f"--hosts names {len(hosts)} nodes but the mapping has {nodes}: name one for each node")
    return _WRITERS[kind](grid, node_of_cell, hosts)


def _slurm(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str]) -> str:
    # Slurm takes every line for a host, comments too.
    return "".join(f"{hosts[node]}\n" for node in node_of_cell)


def _openmpi(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str]) -> str:
    used = dict.fromkeys(range(len(hosts)), 0)
    lines = [f"# {USES['openmpi-rankfile']}\n"]
    for rank, node in enumerate(node_of_cell):
        lines.append(f"rank {rank}={hosts[node]} slot={used[node]}\n")
        used[node] += 1
    return "".join(lines)


def _hydra(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str]) -> str:
    lines = [f"# {USES['hydra-hostfile']}\n"]
    start = 0
    for rank in range(1, len(node_of_cell) + 1):
        if rank == len(node_of_cell) or node_of_cell[rank] != node_of_cell[start]:
            lines.append(f"{hosts[node_of_cell[start]]}:{rank - start}\n")
            start = rank
    return "".join(lines)


def _cray(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str]) -> str:
    # The list fills the nodes of the job in their order, so the hosts' names play no part.
    ranks_of: dict[int, list[int]] = {}
    for rank, node in enumerate(node_of_cell):
        ranks_of.setdefault(node, []).append(rank)
    lines = [f"# {USES['cray-rank-order']}\n"]
    nodes = sorted(ranks_of)
    for node in nodes:
        # A line may end in a comma: the list goes on.
        lines.append(",".join(map(str, ranks_of[node])) + ("," if node != nodes[-1] else "") + "\n")
    return "".join(lines)


def _json(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str]) -> str:
    record = {"grid": list(grid), "hosts": list(hosts), "node_of_cell": list(node_of_cell)}
    return json.dumps(record) + "\n"


def _csv(grid: Sequence[int], node_of_cell: Sequence[int], hosts: Sequence[str]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["rank", *(f"axis{axis}" for axis in range(len(grid))), "node", "host"])
    at = [0] * len(grid)
    for rank, node in enumerate(node_of_cell):
        writer.writerow([rank, *at, node, hosts[node]])
        for axis in reversed(range(len(grid))):
            at[axis] += 1
            if at[axis] < grid[axis]:
                break
            at[axis] = 0
    return stream.getvalue()


_WRITERS: dict[str, Callable[[Sequence[int], Sequence[int], Sequence[str]], str]] = {
    "slurm-hostfile": _slurm,
    "openmpi-rankfile": _openmpi,
    "hydra-hostfile": _hydra,
    "cray-rank-order": _cray,
    "json": _json,
    "csv": _csv,
}


def read_mapping(path: Path, node_sizes: Sequence[int]) -> dict[str, list[int]]:
    """Read mappings from a file of another program or of this one: the node of every cell under each mapping's name.

    Takes JSON (``rankwise map --json --with-mapping``, or an object with ``node_of_cell``), CSV with a column ``node``
    in the order of cells, a rank order (ranks separated by commas, node by node), or a host for each rank (a line
    each). Raises InputError.
    """
    mend = "give JSON with node_of_cell, CSV with a column node, a rank order, or one host a line"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"--compare {path} does not exist: {mend}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--compare {path} cannot be read ({error}): {mend}") from None
    name = path.name
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise InputError(f"--compare {path} is empty: {mend}")
    try:
        if lines[0].startswith(("{", "[")):
            found = _from_json(json.loads(text), name)
        elif "node" in (header := [word.strip() for word in lines[0].split(",")]):
            column = header.index("node")
            found = {name: [int(row[column]) for row in csv.reader(lines[1:])]}
        elif re.fullmatch(r"[\d,\s-]+", "".join(lines)) and ("," in text or len(lines) == 1):
            found = {name: _from_rank_order("".join(f"{line.strip(',')}," for line in lines), node_sizes)}
        else:
            hosts: dict[str, int] = {}
            found = {name: [hosts.setdefault(line, len(hosts)) for line in lines]}
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        raise InputError(f"--compare {path} is no mapping: {mend}") from None
    if not found:
        raise InputError(f"--compare {path} holds no node_of_cell: write it with --json --with-mapping")
    for nodes in found.values():
        check_mapping(nodes, node_sizes, f"--compare {path}")
    return found


def _from_json(record: object, name: str) -> dict[str, list[int]]:
    if isinstance(record, list):
        return {name: [int(node) for node in record]}
    if not isinstance(record, dict):
        raise TypeError
    if "node_of_cell" in record:
        return {name: [int(node) for node in record["node_of_cell"]]}
    return {
        f"{name}:{row['algorithm']}": [int(node) for node in row["node_of_cell"]]
        for row in record["results"]
        if "node_of_cell" in row
    }


def _from_rank_order(text: str, node_sizes: Sequence[int]) -> list[int]:
    order: list[int] = []
    for word in text.split(","):
        if word.strip():
            first, _, last = word.strip().partition("-")
            order += range(int(first), int(last or first) + 1)
    node_of_slot = [node for node, size in enumerate(node_sizes) for _ in range(size)]
    if sorted(order) != list(range(len(node_of_slot))):
        raise ValueError
    node_of_cell = [0] * len(order)
    for slot, rank in enumerate(order):
        node_of_cell[rank] = node_of_slot[slot]
    return node_of_cell


def check_mapping(node_of_cell: Sequence[int], node_sizes: Sequence[int], where: str) -> None:
    """Raise InputError where a mapping is not for that many cells or gives a node more ranks than it holds."""
    if len(node_of_cell) != sum(node_sizes):
        raise InputError(
            f"{where} maps {len(node_of_cell)} cells but the grid has {sum(node_sizes)}: give one node for each cell"
        )
    held = [0] * len(node_sizes)
    for node in node_of_cell:
        if not 0 <= node < len(node_sizes):
            raise InputError(f"{where} has the node {node}: the nodes count from 0 to {len(node_sizes) - 1}")
        held[node] += 1
    if sorted(held) != sorted(node_sizes):
        node = next(i for i, (has, size) in enumerate(zip(held, node_sizes, strict=True)) if has != size)
        raise InputError(
            f"{where} puts {held[node]} ranks on node {node}, which holds {node_sizes[node]}: every node must be full"
        )
