"""What one computer is made of, as far as messages between its ranks feel it, and pure questions to that.

A PU (processing unit) is what the operating system schedules on: a hardware thread. It is named by its ``os_index``,
the number that taskset and launchers take. Cores and sockets are numbered here from 0, in the order of their lowest
PU, so that every source of discovery gives the same numbers; NUMA nodes keep the operating system's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, Self, get_args

from rankwise.errors import InputError
from rankwise.records import Record, key, record

Source = Literal["hwloc-library", "lstopo", "sysfs"]


@record
class Pu(Record):
    """One hardware thread: its number in the operating system, and the core, socket and NUMA node it belongs to."""

    os_index: int = key("number in the operating system", least=0)
    core: int = key("number of its core", least=0)
    socket: int = key("number of its socket", least=0)
    numa_node: int = key("its NUMA node", least=0)


@record
class Cache(Record):
    """One data or unified cache and the PUs that share it; the size is 0 where the system does not tell it."""

    level: int = key("level of the cache", least=0)
    size_bytes: int = key("its size; 0: not known", least=0)
    pus: tuple[int, ...] = key("hardware threads that share it", least=0)


@record
class Topology(Record):
    """One computer. ``allowed`` are the PUs that this process may use (affinity mask, cgroup's cpuset).

    Nodes, caches and allowed PUs are put in order. Raises ValueError when the parts contradict each other.
    """

    host: str = key("name of the host")
    cpu_model: str = key("model of the processor")
    memory_bytes: int = key("memory of the node", least=0)
    numa_nodes: tuple[int, ...] = key("NUMA nodes", least=0)
    pus: tuple[Pu, ...] = key("hardware threads")
    caches: tuple[Cache, ...] = key("caches")
    allowed: tuple[int, ...] = key("hardware threads that this process may use", least=0)
    source: Source = key("where it is from")

    def __post_init__(self) -> None:
        object.__setattr__(self, "numa_nodes", tuple(sorted(set(self.numa_nodes))))
        object.__setattr__(self, "caches", tuple(sorted(self.caches, key=lambda cache: (cache.level, cache.pus))))
        object.__setattr__(self, "allowed", tuple(sorted(set(self.allowed))))
        known = {pu.os_index for pu in self.pus}
        if not known:
            raise ValueError("it has no processor")
        if len(known) < len(self.pus):
            raise ValueError("it has a processor twice")
        if not self.allowed or not known.issuperset(self.allowed):
            raise ValueError("its allowed processors are none, or not all its own")
        if not set(self.numa_nodes).issuperset(pu.numa_node for pu in self.pus):
            raise ValueError("it has a processor in a NUMA node that is not its own")
        if len({(pu.core, pu.socket) for pu in self.pus}) > self.core_count:
            raise ValueError("it has a core that lies in two sockets")
        if any(not known.issuperset(cache.pus) for cache in self.caches):
            raise ValueError("it has a cache that serves processors which are not its own")
        if self.source not in get_args(Source):
            raise ValueError(f"its source '{self.source}' is none of {', '.join(get_args(Source))}")

    @property
    def socket_count(self) -> int:
        return len({pu.socket for pu in self.pus})

    @property
    def core_count(self) -> int:
        return len({pu.core for pu in self.pus})

    @property
    def allowed_core_count(self) -> int:
        """The number of cores of which at least one hardware thread may be used."""
        return len(self.pus_one_per_core())

    def pu(self, os_index: int) -> Pu:
        """Return one PU by its number. Raises ValueError when the machine has no such PU."""
        for pu in self.pus:
            if pu.os_index == os_index:
                return pu
        raise ValueError(f"{self.host} has no processor {os_index}")

    def link_class(self, pu_a: int, pu_b: int) -> str:
        """Return the class of the link between two PUs of this machine, the narrowest that holds both.

        Raises ValueError for one and the same PU, or a PU that the machine does not have.
        """
        if pu_a == pu_b:
            raise ValueError(f"processor {pu_a} has no link to itself")
        return self._classify(self.pu(pu_a), self.pu(pu_b))

    def representative_pairs(self) -> dict[str, tuple[int, int]]:
        """Return one pair of PUs for each link class that this machine offers among those that this process may use.

        Of several pairs the first in the order of placement is taken, so a pair on one socket is as near as can be.
        """
        found: dict[str, tuple[int, int]] = {}
        for a, b in combinations(self._placement_order(), 2):
            found.setdefault(self._classify(a, b), (a.os_index, b.os_index))
            if len(found) == len(LINK_TABLE):
                break
        return {name: found[name] for name, _ in LINK_TABLE if name in found}

    def disjoint_pairs(self, link: str) -> list[tuple[int, int]]:
        """Return pairs of PUs of a link class that have no PU in common, the representative pair first."""
        left = self._placement_order()
        first = self.representative_pairs().get(link)
        pairs = [] if first is None else [first]
        left = [pu for pu in left if first is None or pu.os_index not in first]
        while left:
            a, *left = left
            b = next((pu for pu in left if self._classify(a, pu) == link), None)
            if b is not None:
                pairs.append((a.os_index, b.os_index))
                left.remove(b)
        return pairs

    def star(self, link: str) -> list[int]:
        """Return a PU and all others that it has a link of this class to, the representative pair first."""
        pairs = self.representative_pairs()
        if link not in pairs:
            return []
        centre, nearest = (self.pu(index) for index in pairs[link])
        usable = self.allowed if link == "same-core" else self.pus_one_per_core()
        others = [index for index in usable if index not in (centre.os_index, nearest.os_index)]
        return [centre.os_index, nearest.os_index] + [
            index for index in others if self._classify(centre, self.pu(index)) == link
        ]

    def _classify(self, a: Pu, b: Pu) -> str:
        return next(name for name, holds in LINK_TABLE if holds(self, a, b))

    def shares_cache(self, a: Pu, b: Pu) -> bool:
        """Tell whether two cores share a cache that other cores of their socket, which may be used, do not share.

        A cache of all of them tells no pair from another: its pairs are of the class of the socket.
        """
        return not self._part_caches[a.os_index].isdisjoint(self._part_caches[b.os_index])

    def part_cache(self, pu: Pu) -> int:
        """Return the number of the largest cache by which cores of one socket are told apart; -1 where there is none."""
        return max(self._part_caches[pu.os_index], default=-1)

    @cached_property
    def _part_caches(self) -> dict[int, frozenset[int]]:
        """For each PU the numbers of its caches that serve only a part of the usable cores of its socket."""
        place = {pu.os_index: pu for pu in self.pus}
        usable: dict[int, set[int]] = {}
        for index in self.allowed:
            usable.setdefault(place[index].socket, set()).add(place[index].core)
        found: dict[int, set[int]] = {index: set() for index in place}
        for number, cache in enumerate(self.caches):
            cores = {place[index].core for index in cache.pus}
            for index in cache.pus:
                if not usable.get(place[index].socket, set()) <= cores:
                    found[index].add(number)
        return {index: frozenset(numbers) for index, numbers in found.items()}

    def pus_one_per_core(self) -> list[int]:
        """Return one allowed PU of each core, socket by socket and NUMA node by NUMA node: where ranks 0, 1, ... go."""
        first: dict[int, int] = {}
        for pu in self._placement_order():
            first.setdefault(pu.core, pu.os_index)
        return list(first.values())

    def _placement_order(self) -> list[Pu]:
        """Return the allowed PUs: the first of every core, then the second of every core, and so on."""
        usable = set(self.allowed)
        nth_of_core: dict[int, int] = {}
        keyed = []
        for pu in sorted(self.pus, key=lambda pu: pu.os_index):
            if pu.os_index in usable:
                nth = nth_of_core[pu.core] = nth_of_core.get(pu.core, -1) + 1
                keyed.append((nth, pu.socket, pu.numa_node, pu.core, pu))
        return [entry[-1] for entry in sorted(keyed, key=lambda entry: entry[:-1])]

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        """Build a topology from its JSON value. Raises InputError when the value is not one."""
        try:
            return super().from_dict(value, what)
        except KeyError as error:
            raise InputError(f"topology lacks the key {error}: discover the machine again") from None
        except (ValueError, TypeError) as error:
            raise InputError(f"topology cannot be used ({error}): discover the machine again") from None


def pus_of(
    core_of: Mapping[int, Hashable], socket_of: Mapping[int, Hashable], numa_node_of: Mapping[int, int]
) -> tuple[Pu, ...]:
    """Return the PUs from what a source calls each one's core and socket; the names are turned into numbers."""
    core, socket = _numbered(core_of), _numbered(socket_of)
    return tuple(Pu(index, core[index], socket[index], numa_node_of[index]) for index in sorted(core_of))


# Link classes inside one computer, the narrowest first: the first whose test holds is the class.
LINK_TABLE: tuple[tuple[str, Callable[[Topology, Pu, Pu], bool]], ...] = (
    ("same-core", lambda _, a, b: a.core == b.core),
    ("shared-cache", lambda topology, a, b: topology.shares_cache(a, b)),
    ("same-socket", lambda _, a, b: a.socket == b.socket),
    ("other-socket", lambda _, a, b: True),
)


def _numbered(name_of: Mapping[int, Hashable]) -> dict[int, int]:
    """Replace the names by numbers from 0, in the order in which rising keys first show them."""
    numbers: dict[Hashable, int] = {}
    return {key: numbers.setdefault(name_of[key], len(numbers)) for key in sorted(name_of)}
