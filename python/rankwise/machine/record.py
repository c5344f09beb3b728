"""What a profile keeps of the machine it was measured on: enough to compare, nothing that names a person."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from rankwise.machine.snapshot import virtualization
from rankwise.machine.topology import Topology


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


def machine_record(topology: Topology, mpi: MpiFacts | None) -> dict[str, Any]:
    """Return what a profile stores under ``machine``; ``mpi`` is null where none was found."""
    return {**hardware_record(topology), "mpi": None if mpi is None else mpi_record(mpi)}


def hardware_record(topology: Topology, root: Path = Path("/")) -> dict[str, Any]:
    """Return the machine without its MPI; ``caches`` are counted by kind, as all of a kind are alike."""
    return {
        "hostname": topology.host,
        "cpu_model": topology.cpu_model,
        "sockets": topology.socket_count,
        "numa_nodes": len(topology.numa_nodes),
        "cores": topology.core_count,
        "hardware_threads": len(topology.pus),
        "allowed_hardware_threads": len(topology.allowed),
        "memory_bytes": topology.memory_bytes,
        "caches": cache_kinds(topology),
        "virtualization": virtualization(root) or "none",
        "kernel_release": os.uname().release,
        "topology_source": topology.source,
    }


def cache_kinds(topology: Topology) -> list[dict[str, int]]:
    """Return the kinds of caches: level, size, how many there are, and by how many hardware threads one is shared."""
    counts: dict[tuple[int, int, int], int] = {}
    for cache in topology.caches:
        kind = (cache.level, cache.size_bytes, len(cache.pus))
        counts[kind] = counts.get(kind, 0) + 1
    return [
        {"level": level, "size_bytes": size, "shared_by": shared_by, "count": count}
        for (level, size, shared_by), count in sorted(counts.items())
    ]


def mpi_record(mpi: MpiFacts) -> dict[str, str]:
    """Return the library and its launcher, without folders: these hold user names."""
    return {
        "library_version": short_version(mpi.library_version),
        "library_family": mpi.library_family,
        "launcher": mpi.launcher_path.name if mpi.launcher_path is not None else "",
        "launcher_family": mpi.launcher_family,
        "launcher_version": short_version(mpi.launcher_version),
        "origin": mpi.origin,
    }


def short_version(text: str) -> str:
    """Return the name and number in what a library says of itself, which goes on with builders and folders."""
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    return " ".join(first_line.split(", package:")[0].split())
