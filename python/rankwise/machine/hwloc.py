"""Discovery through hwloc: its XML (format 2), from the library in this process or from the lstopo program."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from xml.etree import ElementTree

from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.machine.topology import Cache, Source, Topology, pus_of

LIBRARY = "libhwloc.so.15"
LSTOPO_NAMES = ("lstopo-no-graphics", "lstopo")

_FIX = "remove or update hwloc; without it the machine is read from /sys"
_INCLUDE_DISALLOWED = 1  # HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED: also the PUs that this process may not use
_LSTOPO_TIMEOUT_S = 20
# With these hwloc would describe another machine than this one.
_FOREIGN_MACHINE = ("HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH", "HWLOC_COMPONENTS")
_INSTRUCTION_CACHE = "2"
_MOST_WORDS = 2048  # of 32 bits, in a bitmap: as many CPUs as a CPU list may name


def library_xml() -> str:
    """Return the XML of this machine from the hwloc library. Raises UnusableEnvironmentError when it cannot."""
    try:
        library = ctypes.CDLL(LIBRARY)
        topology, text, length = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        if library.hwloc_topology_init(ctypes.byref(topology)) != 0:
            raise UnusableEnvironmentError(f"{LIBRARY} cannot start: {_FIX}")
        try:
            library.hwloc_topology_set_flags(topology, ctypes.c_ulong(_INCLUDE_DISALLOWED))
            if library.hwloc_topology_load(topology) != 0:
                raise UnusableEnvironmentError(f"{LIBRARY} cannot read this machine: {_FIX}")
            if not library.hwloc_topology_is_thissystem(topology):
                named = [name for name in _FOREIGN_MACHINE if name in os.environ]
                raise UnusableEnvironmentError(
                    f"{LIBRARY} describes another machine: unset {', '.join(named) or 'the HWLOC_ variables'}"
                )
            if library.hwloc_topology_export_xmlbuffer(topology, ctypes.byref(text), ctypes.byref(length), ctypes.c_ulong(0)):
                raise UnusableEnvironmentError(f"{LIBRARY} cannot write XML: {_FIX}")
            try:
                return ctypes.string_at(text, length.value).rstrip(b"\0").decode("utf-8", "replace")
            finally:
                library.hwloc_free_xmlbuffer(topology, text)
        finally:
            library.hwloc_topology_destroy(topology)
    except (OSError, AttributeError) as error:
        raise UnusableEnvironmentError(f"{LIBRARY} cannot be used ({error}): {_FIX}") from None


def lstopo_xml() -> str:
    """Return the XML of this machine from the lstopo program. Raises UnusableEnvironmentError when it cannot."""
    program = next(filter(None, map(shutil.which, LSTOPO_NAMES)), None)
    if program is None:
        raise UnusableEnvironmentError("lstopo is not on PATH: install hwloc; without it the machine is read from /sys")
    environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN_MACHINE}
    try:
        done = subprocess.run(
            [program, "--of", "xml", "--no-io", "--disallowed"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LSTOPO_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnusableEnvironmentError(f"{program} cannot be used ({error}): {_FIX}") from None
    if done.returncode != 0:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())[-200:]
        raise UnusableEnvironmentError(f"{program} failed with exit code {done.returncode} ({reason}): {_FIX}")
    return done.stdout.decode("utf-8", "replace")


def parse_xml(text: str, source: Source) -> Topology:
    """Read hwloc's XML, format 2 or later. Raises InputError when it is not that, or contradicts itself."""
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"hwloc XML ({source}) is malformed ({error}): {_FIX}") from None
    version = root.get("version", "1")
    if root.tag != "topology" or not re.match(r"[2-9]\.", version):
        raise InputError(f"hwloc XML ({source}) is not a topology of format 2 (<{root.tag}> {version}): {_FIX}")
    machine = root.find("object")
    if machine is None:
        raise InputError(f"hwloc XML ({source}) holds no machine: {_FIX}")
    try:
        return _read_machine(machine, source)
    except ValueError as error:
        raise InputError(f"hwloc XML ({source}) cannot be used ({error}): {_FIX}") from None


def _read_machine(machine: ElementTree.Element, source: Source) -> Topology:
    """Read a Machine element. Raises ValueError."""
    parent_of: dict[ElementTree.Element, ElementTree.Element] = {
        child: parent for parent in machine.iter("object") for child in parent.findall("object")
    }

    def around(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
        while (above := parent_of.get(element)) is not None:
            yield above
            element = above

    core_of: dict[int, ElementTree.Element | int] = {}
    socket_of: dict[int, ElementTree.Element | None] = {}
    pus_under: dict[ElementTree.Element, set[int]] = {}
    nodes: list[tuple[int, ElementTree.Element]] = []
    memory_bytes = 0
    cpu_model = ""
    for element in machine.iter("object"):
        kind = element.get("type")
        if kind == "PU":
            index = _integer(element, "os_index")
            if index in core_of:
                raise ValueError(f"it has PU {index} twice")
            core_of[index], socket_of[index] = index, None
            for above in around(element):
                pus_under.setdefault(above, set()).add(index)
                if above.get("type") == "Core":
                    core_of[index] = above
                elif above.get("type") == "Package":
                    socket_of[index] = above
        elif kind == "NUMANode":
            # A memory-side cache may stand between a NUMA node and the object whose memory it is.
            owner = next((above for above in around(element) if above.get("type") != "MemCache"), machine)
            nodes.append((_integer(element, "os_index"), owner))
            memory_bytes += _integer(element, "local_memory", default=0)
        elif kind == "Package":
            cpu_model = cpu_model or _info(element, "CPUModel")
    caches = tuple(
        Cache(_integer(element, "depth"), _integer(element, "cache_size", default=0), tuple(sorted(pus_under[element])))
        for element in machine.iter("object")
        if re.fullmatch(r"L\di?Cache", element.get("type", ""))
        and element.get("cache_type") != _INSTRUCTION_CACHE
        and element in pus_under
    )
    return Topology(
        host=_info(machine, "HostName") or "unknown",
        cpu_model=" ".join((cpu_model or _info(machine, "CPUModel") or "unknown").split()),
        memory_bytes=memory_bytes,
        numa_nodes=tuple(index for index, _ in nodes) or (0,),
        pus=pus_of(core_of=core_of, socket_of=socket_of, numa_node_of=_nearest_node(nodes, pus_under, core_of)),
        caches=caches,
        allowed=_allowed(machine.get("allowed_cpuset"), core_of),
        source=source,
    )


def _nearest_node(
    nodes: list[tuple[int, ElementTree.Element]],
    pus_under: dict[ElementTree.Element, set[int]],
    pus: dict[int, ElementTree.Element | int],
) -> dict[int, int]:
    """Give each PU the NUMA node of the fewest PUs around it, of equals the one with the lowest number."""
    nearest = dict.fromkeys(pus, 0 if not nodes else min(index for index, _ in nodes))
    for index, owner in sorted(nodes, key=lambda node: (-len(pus_under.get(node[1], ())), -node[0])):
        nearest.update(dict.fromkeys(pus_under.get(owner, ()), index))
    return nearest


def _allowed(bitmap: str | None, pus: dict[int, ElementTree.Element | int]) -> tuple[int, ...]:
    """Return the PUs whose bit is set in hwloc's bitmap: 32-bit words, the highest first; ``0xf...f`` has no end."""
    if bitmap is None:
        return tuple(pus)
    words = bitmap.split(",")
    endless = words[0] == "0xf...f"
    words = words[1:] if endless else words
    if len(words) > _MOST_WORDS or any(not re.fullmatch(r"(0x)?[0-9a-fA-F]{1,8}|", word) for word in words):
        raise ValueError(f"its allowed_cpuset '{bitmap[:40]}' is not a bitmap")
    bits = int("".join(word.removeprefix("0x").rjust(8, "0") for word in words) or "0", 16)
    return tuple(pu for pu in pus if (endless and pu >= 32 * len(words)) or (bits >> pu) & 1)


def _integer(element: ElementTree.Element, name: str, default: int | None = None) -> int:
    text = element.get(name)
    if text is None and default is not None:
        return default
    if text is None or not re.fullmatch(r"[0-9]{1,20}", text):
        raise ValueError(f"its {element.get('type')} has the {name} '{(text or '')[:40]}'")
    return int(text)


def _info(element: ElementTree.Element, name: str) -> str:
    return next((info.get("value", "") for info in element.findall("info") if info.get("name") == name), "")
