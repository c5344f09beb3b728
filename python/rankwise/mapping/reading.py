"""Mappings from files, to be scored next to ours: what launchers read, what other programs wrote, and our own output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import InputError
from rankwise.files import load_json, read_text


def read_mapping(
    path: Path, node_sizes: Sequence[int], option: str = "--compare", hosts: Sequence[str] = ()
) -> dict[str, list[int]]:
    """Read mappings from a file of another program or of this one: the node of every cell under each mapping's name.

    Takes JSON (``rankwise map --json --with-mapping``, or an object with ``node_of_cell``), CSV with a column ``node``
    in the order of cells, a rank order (ranks separated by commas, node by node), an Open MPI rankfile, or hosts in the
    order of ranks (one a line, ``host:count`` for several ranks in a row; or in the order that a comment's -rankmap says).
    Hosts are the nodes of these names; of other names they become nodes in the order of their first ranks. ``option`` named the
    file. Raises InputError.
    """
    fix = "give JSON with node_of_cell, CSV with a column node, a rank order, a rankfile, or one host a line"
    text = read_text(path, option, fix)
    name = path.name
    numbered = [(n, line.strip()) for n, line in enumerate(text.splitlines(), start=1) if not line.lstrip().startswith("#")]
    numbered = [(n, line) for n, line in numbered if line]
    lines = [line for _, line in numbered]
    if not lines:
        raise InputError(f"{option} {path} is empty: {fix}")
    try:
        if lines[0].startswith(("{", "[")):
            found = _from_json(load_json(text), name)
        elif "node" in (header := [word.strip() for word in lines[0].split(",")]):
            found = {name: _from_csv(numbered[1:], header.index("node"), len(node_sizes))}
        elif re.fullmatch(r"[0-9,\s-]+", "".join(lines)) and ("," in text or len(lines) == 1):
            found = {name: _from_rank_order("".join(f"{line.strip(',')}," for line in lines), node_sizes)}
        elif lines[0].startswith("rank"):
            found = {name: _numbered(_from_rankfile(numbered, sum(node_sizes)), hosts)}
        elif (rankmap := re.search(r"^#.*-rankmap ([\d,]+) ", text, re.MULTILINE)) is not None:
            listed = [line.partition(":")[0] for line in lines]
            found = {name: _numbered([listed[int(word)] for word in rankmap[1].split(",")], hosts)}
        else:
            found = {name: _numbered(_from_hosts(numbered, sum(node_sizes)), hosts)}
    except KeyError as error:
        raise InputError(f"{option} {path} is no mapping ({error} is missing): {fix}") from None
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(f"{option} {path} is no mapping ({error}): {fix}") from None
    if not found:
        raise InputError(f"{option} {path} holds no node_of_cell: write it with --json --with-mapping")
    for nodes in found.values():
        check_mapping(nodes, node_sizes, f"{option} {path}")
    return found


def _from_json(record: object, name: str) -> dict[str, list[int]]:
    if isinstance(record, list):
        return {name: _whole(record, "its list")}
    if not isinstance(record, dict):
        raise ValueError("neither an object nor a list")
    if "node_of_cell" in record:
        return {name: _whole(record["node_of_cell"], "node_of_cell")}
    results = record["results"]
    if not isinstance(results, list) or not all(isinstance(row, dict) for row in results):
        raise ValueError("results is no list of objects")
    return {
        f"{name}:{row['algorithm']}": _whole(row["node_of_cell"], f"results[{i}].node_of_cell")
        for i, row in enumerate(results) if "node_of_cell" in row
    }  # fmt: skip


def _whole(values: object, what: str) -> list[int]:
    if not isinstance(values, list):
        raise ValueError(f"{what} is no list")
    for i, value in enumerate(values):
        if type(value) is not int:
            raise ValueError(f"{what}[{i}] is {value!r:.40}, not a whole number")
    return values


def _from_csv(lines: Sequence[tuple[int, str]], column: int, nodes: int) -> list[int]:
    found = []
    for number, line in lines:
        words = line.split(",")
        word = words[column].strip().strip('"') if column < len(words) else ""
        if not _NUMBER.fullmatch(word):
            raise ValueError(f"line {number}: node '{word:.40}' is not a whole number")
        if not 0 <= int(word) < nodes:
            raise ValueError(f"line {number}: node {word}, and the nodes count from 0 to {nodes - 1}")
        found.append(int(word))
    return found


_NUMBER = re.compile(r"-?[0-9]{1,10}")


def _from_rank_order(text: str, node_sizes: Sequence[int]) -> list[int]:
    node_of_slot = [node for node, size in enumerate(node_sizes) for _ in range(size)]
    order: list[int] = []
    for word in filter(None, map(str.strip, text.split(","))):
        match = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10}))?", word)
        if match is None or int(match[2] or match[1]) - int(match[1]) >= len(node_of_slot):
            raise ValueError(f"'{word:.40}' is no rank, nor a range of them")
        order += range(int(match[1]), int(match[2] or match[1]) + 1)
    if sorted(order) != list(range(len(node_of_slot))):
        raise ValueError(f"not each of the ranks 0 to {len(node_of_slot) - 1} once")
    node_of_cell = [0] * len(order)
    for slot, rank in enumerate(order):
        node_of_cell[rank] = node_of_slot[slot]
    return node_of_cell


def _from_rankfile(lines: Sequence[tuple[int, str]], ranks: int) -> list[str]:
    """The host of each rank, in lines such as ``rank 3=node0001 slot=0:2``."""
    hosts: dict[int, str] = {}
    for number, line in lines:
        match = re.fullmatch(r"rank\s+(\d{1,10})\s*=\s*(\S+)(\s+slots?\s*=\s*\S+)?", line)
        if match is None or int(match[1]) in hosts:
            raise ValueError(f"line {number}: '{line:.40}' is no 'rank N=host slot=M', or a rank's second")
        hosts[int(match[1])] = match[2]
    if sorted(hosts) != list(range(ranks)):
        raise ValueError(f"not a line for each of the ranks 0 to {ranks - 1}")
    return [hosts[rank] for rank in range(ranks)]


def _from_hosts(lines: Sequence[tuple[int, str]], ranks: int) -> list[str]:
    """The host of each rank, in lines such as ``node0001`` or ``node0001:12``."""
    hosts: list[str] = []
    for number, line in lines:
        match = re.fullmatch(r"([A-Za-z0-9._-]+)(?::(\d{1,10}))?", line)
        count = 1 if match is None else int(match[2] or 1)
        if match is None or len(hosts) + count > ranks:
            why = "is no host, nor host:count" if match is None else f"makes more ranks than {ranks}"
            raise ValueError(f"line {number}: '{line:.40}' {why}")
        hosts += [match[1]] * count
    return hosts


def _numbered(hosts: Sequence[str], names: Sequence[str]) -> list[int]:
    known = {name: node for node, name in enumerate(names)}
    node_of_host = known if known.keys() >= set(hosts) else {}
    return [node_of_host.setdefault(host, len(node_of_host)) for host in hosts]


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
