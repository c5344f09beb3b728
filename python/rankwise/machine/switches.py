"""Which switch each node hangs on, and which group that switch: from Slurm's files and words, or a list of addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rankwise.errors import InputError
from rankwise.files import read_text
from rankwise.machine.hosts import parse_hosts

_FIX = "give Slurm's topology.conf or topology.yaml, what 'scontrol show topology' prints, or a SLURM_TOPOLOGY_ADDR a line"


@dataclass
class _Unit:
    """A switch or block: where it is written, the units below it or its nodes."""

    line: int
    children: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Switches:
    """The units of each node, the innermost first; units that hold all nodes are left out.

    ``source`` says where from, ``last_line`` as far as which line.
    """

    source: str
    units_of: dict[str, tuple[str, ...]]
    last_line: int = 0

    def of_hosts(self, hosts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return for each level, the inner first, the unit of each host, numbered in the order of hosts. Raises InputError."""
        for host in hosts:
            if host not in self.units_of:
                where = f", lines 1 to {self.last_line}," if self.last_line else ""
                raise InputError(f"{self.source}{where} does not know the node {host}: name one of its nodes with --hosts")
        found = []
        for level in range(max((len(units) for units in self.units_of.values()), default=0)):
            names = [self.units_of[host][level:] for host in hosts]
            number = {name: i for i, name in enumerate(dict.fromkeys(names))}
            found.append(tuple(number[name] for name in names))
        return found


def read_switches(path: Path) -> Switches:
    """Read the switches above nodes from a file. Raises InputError with the line of what is wrong."""
    return parse_switches(read_text(path, "--topology", _FIX), f"--topology {path}")


def parse_switches(text: str, source: str) -> Switches:
    """Read the same from text; ``source`` begins a complaint. Raises InputError."""
    lines = list(_plain(text))
    if any(re.match(r"(-\s*)?topology\s*:", line) for _, line in lines):
        found = _of_records(list(_yaml_records(lines, source)), source)
    elif any(re.match(r"(SwitchName|BlockName|AggregatedBlock|BlockSizes)=", line, re.IGNORECASE) for _, line in lines):
        found = _of_records([(at, dict(_pairs(line))) for at, line in lines], source)
    else:
        found = _of_addresses(lines, source)
    return replace(found, last_line=lines[-1][0])


def _plain(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines with their numbers, without comments; what ends with a backslash goes on in the next."""
    kept, begun = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#")[0].rstrip()
        begun = begun if kept else number
        kept += line.rstrip("\\")
        if line.endswith("\\"):
            continue
        if kept.strip():
            yield begun, kept.strip()
        kept = ""


def _pairs(line: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"(\w+)=(\S+)", line):
        yield match[1].lower(), match[2]


def _yaml_records(lines: Sequence[tuple[int, str]], source: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Return what topology.yaml says of its default topology in the words of topology.conf."""
    entries: list[list[tuple[int, str, str]]] = []
    for at, line in lines:
        match = re.fullmatch(r"(?:-\s*)?(\w+)\s*:\s*(.*)", line)
        if match is None:
            if line == "---":
                continue
            raise InputError(f"{source}, line {at}: '{line[:40]}' is no 'key: value': {_FIX}")
        if match[1] == "topology":
            entries.append([])
        if not entries:
            raise InputError(f"{source}, line {at}: '{line[:40]}' stands before the first topology: {_FIX}")
        entries[-1].append((at, match[1].lower(), match[2].strip().strip("\"'")))
    default = [entry for entry in entries if any(key == "cluster_default" and value == "true" for _, key, value in entry)]
    record: tuple[int, dict[str, str]] | None = None
    for at, key, value in (default or entries)[0]:
        if (key in ("switch", "block") and value) or key == "block_sizes":
            if record:
                yield record
            name = {"switch": "switchname", "block": "blockname", "block_sizes": "blocksizes"}[key]
            record = (at, {name: value.strip("[]").replace(" ", "") if key == "block_sizes" else value})
        elif key in ("children", "nodes") and record:
            record[1]["switches" if key == "children" else "nodes"] = value
    if record:
        yield record


def _of_records(records: Sequence[tuple[int, dict[str, str]]], source: str) -> Switches:
    if any("blockname" in record for _, record in records):
        return _of_blocks(records, source)
    units: dict[str, _Unit] = {}
    for at, record in records:
        name = record.get("switchname")
        if name is None:
            continue
        if name in units:
            raise InputError(f"{source}, line {at}: switch {name} stands twice, first in line {units[name].line}")
        unit = units[name] = _Unit(at)
        if "switches" in record:
            unit.children = _names(record["switches"], source, at)
        elif "nodes" in record:
            unit.nodes = _names(record["nodes"], source, at)
    return _of_tree(units, source)


def _names(text: str, source: str, at: int) -> list[str]:
    try:
        return parse_hosts(text)
    except InputError:
        raise InputError(f"{source}, line {at}: '{text[:60]}' is no list of names: write it as n[01-16]") from None


def _of_tree(units: dict[str, _Unit], source: str) -> Switches:
    parent: dict[str, str] = {}
    for name, unit in units.items():
        for child in unit.children:
            if child not in units:
                raise InputError(f"{source}, line {unit.line}: switch {child} below {name} is not defined: add its line")
            if child in parent:
                raise InputError(f"{source}, line {unit.line}: switch {child} hangs on {parent[child]} and on {name}: keep one")
            parent[child] = name
    paths: dict[str, tuple[str, ...]] = {}
    for name, unit in units.items():
        path = [name]
        while path[-1] in parent:
            path.append(parent[path[-1]])
            if path[-1] in path[:-1]:
                raise InputError(f"{source}, line {units[path[-1]].line}: switch {path[-1]} hangs on itself: break the cycle")
        for node in unit.nodes:
            if node in paths:
                raise InputError(f"{source}, line {unit.line}: node {node} is on {paths[node][0]} and on {name}: keep one")
            paths[node] = tuple(path)
    tops = [name for name in units if name not in parent]
    if not paths:
        raise InputError(f"{source} has no switch with nodes: {_FIX}")
    if len(tops) > 1 and len(tops) < len(units):
        raise InputError(f"{source}, line {units[tops[1]].line}: {tops[0]} and {tops[1]} are both tops: join them by a switch")
    return _levelled(paths, source)


def _of_blocks(records: Sequence[tuple[int, dict[str, str]]], source: str) -> Switches:
    """Blocks in their order; the larger sizes join as many of them as the smallest goes into these."""
    blocks: dict[str, int] = {}
    paths: dict[str, tuple[str, ...]] = {}
    sizes: list[int] = []
    for at, record in records:
        if "blocksizes" in record:
            sizes = [_size(word, source, at) for word in record["blocksizes"].split(",")]
            if any(size % sizes[0] for size in sizes):
                raise InputError(f"{source}, line {at}: the sizes of blocks do not divide each other: write BlockSizes=16,32")
        elif "blocksize" in record and "aggregatedblock" in record:
            sizes.append(_size(record["blocksize"], source, at))
        elif "blocksize" in record:
            sizes[:1] = [_size(record["blocksize"], source, at)]
        name = record.get("blockname")
        if name is None:
            continue
        if name in blocks or "nodes" not in record:
            raise InputError(f"{source}, line {at}: block {name} {'stands twice' if name in blocks else 'has no nodes'}")
        blocks[name] = len(blocks)
        for node in _names(record["nodes"], source, at):
            if node in paths:
                raise InputError(f"{source}, line {at}: node {node} is on {paths[node][0]} and on {name}: keep one")
            paths[node] = (name,)
    joined = sorted({size // sizes[0] for size in sizes[1:]} - {1}) if sizes else []
    return _levelled(
        {node: (name, *(f"{each} blocks {blocks[name] // each}" for each in joined), "all") for node, (name,) in paths.items()},
        source,
    )


def _size(word: str, source: str, at: int) -> int:
    if not re.fullmatch(r"\s*0*[1-9][0-9]{0,8}\s*", word):
        raise InputError(f"{source}, line {at}: the sizes of blocks are no numbers ('{word:.40}'): write BlockSizes=16,32")
    return int(word)


def _of_addresses(lines: Sequence[tuple[int, str]], source: str) -> Switches:
    paths: dict[str, tuple[str, ...]] = {}
    for at, line in lines:
        words = line.split(".")
        if len(words) < 2 or not all(re.fullmatch(r"[\w\[\],-]+", word) for word in words):
            raise InputError(f"{source}, line {at}: '{line[:40]}' is no address as top.switch.node: {_FIX}")
        if words[-1] in paths:
            raise InputError(f"{source}, line {at}: node {words[-1]} stands twice")
        paths[words[-1]] = tuple(".".join(words[:end]) for end in range(len(words) - 1, 0, -1))
    if not paths:
        raise InputError(f"{source} is empty: {_FIX}")
    return _levelled(paths, source)


def _levelled(paths: dict[str, tuple[str, ...]], source: str) -> Switches:
    """Give each node a unit at every level: a switch that is nearer to the top than others stands for what is not below it."""
    depth = max(map(len, paths.values()))
    full = {node: (path[0],) * (depth - len(path)) + path for node, path in paths.items()}
    while depth and len({path[-1] for path in full.values()}) == 1:
        depth -= 1
        full = {node: path[:-1] for node, path in full.items()}
    return Switches(source, full)
