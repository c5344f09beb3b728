"""What a profile keeps of the machine it was measured on: enough to compare, nothing that names a person."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from rankwise.machine.snapshot import virtualization
from rankwise.machine.topology import Topology
from rankwise.records import Record, computed, key, record


class MpiFacts(Protocol):
    """What must be known of an MPI here; ``launch.Mpi`` has it."""

    @property
    def origin(self) -> str: ...
    @property
    def library_version(self) -> str: ...
    @property
    def library_family(self) -> str: ...
    @property
    def launcher_path(self) -> Path | None: ...
    @property
    def launcher_version(self) -> str: ...
    @property
    def launcher_family(self) -> str: ...
    @property
    def matches(self) -> bool: ...


TCP = "of ranks' TCP connections between nodes: by congestion control, the largest segment in bytes"


@record
class CacheKind(Record):
    """Caches that are alike."""

    level: int = key("level of the cache")
    size_bytes: int = key("size of a cache")
    shared_by: int = key("hardware threads that share a cache")
    count: int = key("number of caches of this kind")


@record
class MpiRecord(Record):
    """The library and its launcher, without folders: these hold user names."""

    mpi: MpiFacts
    library_version = computed("version of the library", str, lambda of: short_version(of.mpi.library_version))
    library_family = computed("of the library: mpich, openmpi or another", str, lambda of: of.mpi.library_family)
    launcher = computed("name of the launcher", str, lambda of: of.mpi.launcher_path.name if of.mpi.launcher_path else "")
    launcher_family = computed("of the launcher: mpich, openmpi or another", str, lambda of: of.mpi.launcher_family)
    launcher_version = computed("version of the launcher", str, lambda of: short_version(of.mpi.launcher_version))
    origin = computed("wheel (installed by pip) or system", str, lambda of: of.mpi.origin)


@record
class MpiFound(MpiRecord):
    """The same with the launcher's path, as it is on this machine."""

    launcher_path = computed("path of the launcher", str, lambda of: str(of.mpi.launcher_path))
    matches = computed("whether the launcher is of the same MPI", bool, lambda of: of.mpi.matches)


@record
class Hardware(Record):
    """The machine without its MPI; ``caches`` are counted by kind, as all of a kind are alike."""

    topology: Topology
    root: Path = Path("/")
    hostname = computed("name of the host", str, lambda of: of.topology.host)
    cpu_model = computed("model of the processor", str, lambda of: of.topology.cpu_model, optional=True)
    sockets = computed("number of sockets", int, lambda of: of.topology.socket_count, optional=True)
    numa_nodes = computed("number of NUMA nodes", int, lambda of: len(of.topology.numa_nodes), optional=True)
    cores = computed("number of cores", int, lambda of: of.topology.core_count, optional=True)
    hardware_threads = computed("number of hardware threads", int, lambda of: len(of.topology.pus), optional=True)
    allowed_hardware_threads = computed(
        "how many this process may use", int, lambda of: len(of.topology.allowed), optional=True
    )
    memory_bytes = computed("memory of the node", int, lambda of: of.topology.memory_bytes, optional=True)
    caches = computed("caches by kind", tuple[CacheKind, ...], lambda of: cache_kinds(of.topology), optional=True)
    virtualization = computed(
        "kind of virtual machine, or none", str, lambda of: virtualization(of.root) or "none", optional=True
    )
    kernel_release = computed("release of the kernel", str, lambda of: os.uname().release, optional=True)
    topology_source = computed("hwloc-library, lstopo or sysfs", str, lambda of: of.topology.source, optional=True)


@record
class MachineRecord(Hardware):
    """What a profile stores under ``machine``; its keys are there as far as they are known."""

    mpi: MpiRecord | None = key("the MPI; null: none was found", default=None, optional=True)
    tcp: Mapping[str, int] = key(TCP, factory=dict, omit=True, optional=True)


def machine_record(topology: Topology, mpi: MpiFacts | None) -> dict[str, Any]:
    """Return what a profile stores under ``machine``; ``mpi`` is null where none was found."""
    return MachineRecord(topology, mpi=None if mpi is None else MpiRecord(mpi)).to_dict()


def cache_kinds(topology: Topology) -> list[CacheKind]:
    """Return the kinds of caches: level, size, how many there are, and by how many hardware threads one is shared."""
    counts: dict[tuple[int, int, int], int] = {}
    for cache in topology.caches:
        kind = (cache.level, cache.size_bytes, len(cache.pus))
        counts[kind] = counts.get(kind, 0) + 1
    return [CacheKind(*kind, count) for kind, count in sorted(counts.items())]


def tcp_words(tcp: Mapping[str, int]) -> str:
    """Return which congestion controls TCP uses, with their largest segments."""
    return " and ".join(f"{name} (segments of {segment} B)" for name, segment in sorted(tcp.items()))


def short_version(text: str) -> str:
    """Return the name and number in what a library says of itself, which goes on with builders and folders."""
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    return " ".join(first_line.split(", package:")[0].split())
