"""What the machine did while ranks measured: other programs, the hypervisor, tasks that waited for a processor."""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rankwise.machine.snapshot import parse_stat, usage
from rankwise.machine.sysfs import read_file

# From here on what was measured meanwhile is poor; switches are those of each rank.
POOR = {"foreign_cpus": 0.5, "steal_share": 0.1, "switches_per_s": 200.0}


class Watch:
    """Watches from its making to ``witness()``, over the CPUs that this process may use."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._cpus = os.sched_getaffinity(0)
        self._stat = parse_stat(read_file(root / "proc/stat"))
        self._waited_s = _waited_s(root)
        self._own_s = _own_s()
        self._start_s = time.monotonic()
        self._clock_s = time.time()

    def witness(self) -> dict[str, float | None]:
        """Return what was seen: ``foreign_cpus``, ``steal_share``, ``pressure_share`` (None: the system does not tell); when it
        began (``begun_unix_s``), and by how much the wall clock was set meanwhile (``clock_jump_s``; no time here depends on
        it).

        Call it when the ranks have ended: only then does the system count their time as ours.
        """
        wall_s = max(time.monotonic() - self._start_s, 1e-6)
        busy, steal_share = usage(self._stat, parse_stat(read_file(self._root / "proc/stat")), self._cpus)
        waited_s = _waited_s(self._root)
        pressure = None if waited_s is None or self._waited_s is None else (waited_s - self._waited_s) / wall_s
        return {
            "seconds": wall_s,
            "begun_unix_s": self._clock_s,
            "clock_jump_s": time.time() - self._clock_s - wall_s,
            "foreign_cpus": max(0.0, busy - (_own_s() - self._own_s) / wall_s),
            "steal_share": steal_share,
            "pressure_share": pressure,
        }


def switches_per_s(samples: Sequence[Mapping[str, Any]]) -> float:
    """Return how often a rank lost its processor in a second of sampling, of those samples that have a reference loop."""
    # A reference loop of each rank stands next to each cell.
    seconds = sum(len(s.get("reference_loop_s") or (0, 0)) * sum(s["time_s"]) for s in samples)
    return sum(int(sample.get("involuntary_switches", 0)) for sample in samples) / seconds if seconds > 0 else 0.0


def network_changes(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], earlier: Sequence[Mapping[str, Any]] = ()
) -> dict[str, object]:
    """Return ``network_bytes`` ([received, sent]) and ``network_faults`` ([changes of the carrier, damaged packets]).

    Each is by host and interface, between two readings of the placements; faults since an ``earlier`` one where there is one.
    """
    hosts = {str(placement["host"]) for placement in earlier}
    since = [*earlier, *(placement for placement in before if placement["host"] not in hosts)]
    return {
        "network_bytes": _counted(before, after, "network_bytes"),
        "network_faults": _counted(since, after, "network_faults"),
    }


def tcp_of(placements: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return by congestion control the largest segment, in bytes, of all TCP connections of ranks to other hosts."""
    found: dict[str, int] = {}
    for placement in placements:
        for name, segment in placement.get("tcp", {}).items():
            if isinstance(segment, int):  # the reading's own name stands among them
                found[name] = max(segment, found.get(name, 0))
    return found


def _counted(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], key: str
) -> dict[str, dict[str, list[int]]]:
    first = {str(placement["host"]): placement.get(key, {}) for placement in before}
    crossed: dict[str, dict[str, list[int]]] = {}
    for placement in after:
        host = str(placement["host"])
        for interface, counts in placement.get(key, {}).items():
            then = first.get(host, {}).get(interface)
            if isinstance(counts, list) and then is not None:
                crossed.setdefault(host, {})[interface] = [now - was for now, was in zip(counts, then, strict=True)]
    return crossed


def _own_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usages)


def _waited_s(root: Path) -> float | None:
    """Return for how long some task has waited for a CPU since the start of the machine."""
    match = re.search(r"^some .*\btotal=(\d{1,18})", read_file(root / "proc/pressure/cpu"), re.MULTILINE)
    return int(match[1]) * 1e-6 if match else None
