"""Discovery of this machine: the hwloc library when it is there, else lstopo, else /sys."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.machine.sysfs import memory_bytes, read_sysfs
from rankwise.machine.topology import Source, Topology


def _from_hwloc(source: Source) -> Topology:
    from rankwise.machine import hwloc

    return hwloc.parse_xml(hwloc.library_xml() if source == "hwloc-library" else hwloc.lstopo_xml(), source)


_READERS: dict[Source, Callable[[], Topology]] = {
    "hwloc-library": partial(_from_hwloc, "hwloc-library"),
    "lstopo": partial(_from_hwloc, "lstopo"),
    "sysfs": read_sysfs,
}


def discover(sources: Collection[Source] = tuple(_READERS)) -> Topology:
    """Return this machine from the first source that can tell it; a broken hwloc does not stand in the way.

    The allowed PUs are those of this process's affinity mask, which lies within its cgroup's cpuset.
    Raises UnusableEnvironmentError with every source's reason when none can.
    """
    reasons = []
    for source in sources:
        try:
            topology = _READERS[source]()
        except (InputError, UnusableEnvironmentError) as error:
            reasons.append(str(error))
            continue
        known = {pu.os_index for pu in topology.pus}
        return replace(
            topology,
            allowed=tuple(sorted(known & os.sched_getaffinity(0))) or topology.allowed,
            # The NUMA nodes' shares, hwloc's figure, leave out what the kernel set aside at boot.
            memory_bytes=memory_bytes() or topology.memory_bytes,
        )
    raise UnusableEnvironmentError(f"this machine cannot be discovered: {'; '.join(reasons)}")
