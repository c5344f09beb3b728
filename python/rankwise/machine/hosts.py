"""Names of nodes as people and Slurm write them: lists, ranges in brackets, files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import InputError
from rankwise.files import read_text

_MOST_HOSTS = 1_000_000


def parse_hosts(text: str) -> list[str]:
    """Read node names: a file with one a line, or a list such as ``n1,n2`` or ``n[001-016,020],login``, each once.

    Brackets are Slurm's notation. Raises InputError.
    """
    path = Path(text)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if is_file:
        lines = read_text(path, "--hosts", "give one node name a line").splitlines()
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
    if any(not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]*", host) for host in hosts) or text.count("[") != text.count("]"):
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


def node_name(host: str) -> str:
    """Return what a host calls itself without its domain: by that two names of one node are compared."""
    return host if re.fullmatch(r"[\d.]+", host) or ":" in host else host.partition(".")[0]


def distinct(hosts: Sequence[str]) -> list[str]:
    """Return the hosts of ranks, each once, in the order of their first ranks."""
    return list(dict.fromkeys(hosts))


def natural_order(host: str) -> list[tuple[int, str]]:
    """Return a key that sorts hosts as Slurm does: the numbers in their names by value."""
    return [(int(part), part) if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", host)]


def shortened(hosts: Sequence[str]) -> str:
    """Return hosts as a list for a message, of many only the first."""
    return ", ".join(hosts[:6]) + (f" and {len(hosts) - 6} more" if len(hosts) > 6 else "")
