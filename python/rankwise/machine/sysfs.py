"""Discovery without any library: /sys/devices/system and /proc, below a root that tests replace.

Lists of CPU numbers as Linux writes them: ``0-3,8,10-11``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from rankwise.errors import InputError
from rankwise.machine.topology import Cache, Topology, pus_of

# Eight times what Linux can be built for; a larger number is damage, and would fill the memory.
_MOST_CPUS = 65536
_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def parse_cpu_list(text: str, what: str = "CPU list") -> tuple[int, ...]:
    """Read a list of CPU numbers, in rising order without repetition; an empty text is an empty list.

    Raises InputError, in which ``what`` names the list.
    """
    text = text.strip()
    cpus: set[int] = set()
    for part in text.split(",") if text else ():
        match = _PART.fullmatch(part)
        if match is None:
            raise InputError(f"{what} '{text[:60]}' is not a list of CPU numbers: it should read like 0-3,8")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last >= _MOST_CPUS:
            raise InputError(f"{what} '{text[:60]}' has the impossible range '{part}': it should read like 0-3,8")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


_SIZE_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_MODEL_KEYS = ("model name", "cpu model", "cpu")


def read_file(path: str | Path) -> str:
    """Return a small file's text without its last line end, or nothing when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().rstrip("\n")
    except OSError:
        return ""


def read_sysfs(root: Path = Path("/")) -> Topology:
    """Read this machine. What the system hides is taken as plain: no SMT, one socket, one NUMA node.

    Raises InputError when a file is malformed, contradicts another, or no processor is to be seen.
    """
    cpus = _online(root)
    try:
        return Topology(
            host=read_file(root / "proc/sys/kernel/hostname") or "unknown",
            cpu_model=cpu_model(root),
            memory_bytes=memory_bytes(root),
            numa_nodes=_nodes(root),
            pus=pus_of(
                core_of=_groups(root, cpus, "core_cpus_list", "thread_siblings_list", shared=False),
                socket_of=_groups(root, cpus, "package_cpus_list", "core_siblings_list", shared=True),
                numa_node_of=_node_of(root, cpus),
            ),
            caches=_caches(root, cpus),
            allowed=cpus,
            source="sysfs",
        )
    except ValueError as error:
        raise InputError(f"{root / 'sys/devices/system'} cannot be used ({error}): install hwloc") from None


def memory_bytes(root: Path = Path("/")) -> int:
    """Return the memory that the operating system manages, or 0 when it does not tell."""
    match = re.search(r"^MemTotal:\s*(\d{1,15}) kB", read_file(root / "proc/meminfo"), re.MULTILINE | re.ASCII)
    return int(match[1]) * 1024 if match else 0


def cpu_model(root: Path = Path("/")) -> str:
    """Return the processor's name as the system tells it, or ``unknown``."""
    text = read_file(root / "proc/cpuinfo")
    for key in _MODEL_KEYS:
        if match := re.search(rf"^{key}\s*:\s*(\S.*)$", text, re.MULTILINE):
            return " ".join(match[1].split())
    return "unknown"


def _online(root: Path) -> tuple[int, ...]:
    path = root / "sys/devices/system/cpu/online"
    cpus = parse_cpu_list(read_file(path), str(path))
    if not cpus:  # some sandboxes show no /sys
        found = re.findall(r"^processor\s*:\s*(\d{1,5})$", read_file(root / "proc/cpuinfo"), re.MULTILINE | re.ASCII)
        cpus = tuple(sorted({int(cpu) for cpu in found}))
    if not cpus:
        raise InputError(f"neither {path} nor {root / 'proc/cpuinfo'} names a processor: mount /sys and /proc")
    return cpus


def _groups(root: Path, cpus: tuple[int, ...], new_name: str, old_name: str, shared: bool) -> dict[int, int]:
    """Give each CPU the lowest CPU of its group; where no file tells, all share one group, or none does."""
    group: dict[int, int] = {}
    for cpu in cpus:
        if cpu in group:
            continue
        folder = f"{root}/sys/devices/system/cpu/cpu{cpu}/topology"
        text = read_file(f"{folder}/{new_name}") or read_file(f"{folder}/{old_name}")
        members = parse_cpu_list(text, f"{folder}/{new_name}") or (cpus if shared else (cpu,))
        if cpu not in members:
            raise ValueError(f"{folder}/{new_name} lacks CPU {cpu} itself")
        for member in members:
            group.setdefault(member, cpu)
    return {cpu: group[cpu] for cpu in cpus}


def _nodes(root: Path) -> tuple[int, ...]:
    path = root / "sys/devices/system/node/online"
    return parse_cpu_list(read_file(path), str(path)) or (0,)


def _node_of(root: Path, cpus: tuple[int, ...]) -> dict[int, int]:
    nodes = _nodes(root)
    node_of = dict.fromkeys(cpus, nodes[0])
    for node in nodes:
        path = f"{root}/sys/devices/system/node/node{node}/cpulist"
        node_of.update(dict.fromkeys(parse_cpu_list(read_file(path), path), node))
    return {cpu: node_of[cpu] for cpu in cpus}


def _caches(root: Path, cpus: tuple[int, ...]) -> tuple[Cache, ...]:
    caches = []
    seen: set[tuple[str, int]] = set()  # each file costs a system call: read a shared cache once
    online = set(cpus)
    for cpu in cpus:
        folder = f"{root}/sys/devices/system/cpu/cpu{cpu}/cache"
        try:
            indices = sorted(name for name in os.listdir(folder) if name.startswith("index"))
        except OSError:
            continue
        for index in indices:
            if (index, cpu) in seen:
                continue
            place = f"{folder}/{index}"
            pus = tuple(sorted({cpu} | (online & set(parse_cpu_list(read_file(f"{place}/shared_cpu_list"), place)))))
            seen.update((index, pu) for pu in pus)
            if read_file(f"{place}/type") != "Instruction":
                level = read_file(f"{place}/level")
                if not re.fullmatch(r"[1-9]", level):
                    raise ValueError(f"{place}/level is '{level[:40]}'")
                caches.append(Cache(int(level), _cache_size(place), pus))
    return tuple(caches)


def _cache_size(place: str) -> int:
    text = read_file(f"{place}/size")
    match = re.fullmatch(r"([0-9]{1,9})([KMG]?)", text)
    if match is None and text:
        raise ValueError(f"{place}/size is '{text[:40]}'")
    return int(match[1]) * _SIZE_UNITS[match[2]] if match else 0
