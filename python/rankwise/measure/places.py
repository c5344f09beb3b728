"""Where the ranks of a measurement run, for each class of link: pairs of CPUs, and one rank with many partners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from rankwise.errors import InputError
from rankwise.machine.profile import LINK_CLASSES, OTHER_NODE
from rankwise.machine.topology import Topology
from rankwise.records import Record, key, record


@record
class Places(Record):
    """The CPUs of one link class.

    ``pairs`` have nothing in common, the one that is measured first; ``star`` is a rank's CPU and those of its partners. With
    ``hosts`` (two or more) each pair's CPUs lie on two of them, and each of the star's on one.
    ``fills`` is the resource that pairs fill when ``at_once`` of them (0: all) stream (machine/shared.py), if any; where the
    first
    ``in_one_socket`` of these lie in one of several sockets, they fill its own.
    """

    pairs: tuple[tuple[int, int], ...] = key()
    star: tuple[int, ...] = key()
    hosts: tuple[str, ...] = key(default=())
    fills: str | None = key(default=None)
    at_once: int = key(default=0)
    in_one_socket: int = key(default=0)

    @property
    def most_at_once(self) -> int:
        """How many pairs stream at once at most."""
        return self.at_once or len(self.pairs)

    def resource_of(self, pairs: int) -> str | None:
        """Return the resource that so many pairs at once fill."""
        return "socket" if pairs <= self.in_one_socket else self.fills

    def cpus_of_pairs(self, pairs: int) -> list[int]:
        """Return the CPUs of so many pairs, one end of all first (rank i talks to rank i + pairs).

        Where there are fewer pairs of CPUs, ranks share those.
        """
        chosen = [self.pairs[i % len(self.pairs)] for i in range(pairs)]
        return [pair[0] for pair in chosen] + [pair[1] for pair in chosen]

    def hosts_of_launch(self, launch: int) -> tuple[str, ...]:
        """Return the two hosts between which a launch of pairs measures: the first two, and so on until all pairs had their
        turn.

        Of N hosts each is in one of the first N / 2 launches (rounded up), and so in every further such round of a tournament
        by the circle method.
        """
        if len(self.hosts) <= 2:
            return self.hosts
        seats = len(self.hosts) + len(self.hosts) % 2
        # Who meets the seat 0, which is empty then, pauses and is in the next round's first pair.
        odd = seats != len(self.hosts)
        one, other = (1, seats - 2) if odd else (0, seats - 1)
        rest = iter(self.hosts[2:])
        seated = {one: self.hosts[0], other: self.hosts[1]}
        seated |= {seat: next(rest) for seat in range(int(odd), seats) if seat not in seated}
        pairs = len(self.hosts) // 2
        turn, pair = divmod(launch % (pairs * (seats - 1)), pairs)
        order = [0, *((seat + turn) % (seats - 1) + 1 for seat in range(seats - 1))]
        first = pair + odd
        return seated[order[first]], seated[order[seats - 1 - first]]


def find_places(
    topology: Topology, hosts: Sequence[str] = (), links: Sequence[str] = (), granted_cpus: float | None = None
) -> dict[str, Places]:
    """Return the places of each link class that this machine offers, and between nodes when ``hosts`` are given.

    ``links`` restricts the classes. The hosts are taken to be alike this one. Pairs stream at once with one rank a core, and no
    more on a node than it grants CPUs for (None: no limit): more would take turns. Raises InputError.
    """
    found = {}
    granted = len(topology.allowed) if granted_cpus is None else max(2, int(granted_cpus))
    within = topology.representative_pairs()
    all_of_it = next((link for link in _FILLING_MEMORY if link in within), None)
    for link in within:
        pairs, star = tuple(topology.disjoint_pairs(link)), tuple(topology.star(link))
        at_once = min(_pairs_of_cores(topology, pairs), granted // 2)
        if link == all_of_it:
            found[link] = Places(pairs, star, (), "memory", at_once, _in_one_socket(topology, pairs[:at_once]))
        else:
            found[link] = Places(pairs, star, (), "sockets" if link == "other-socket" else None, at_once)
    if hosts:
        if len(set(hosts)) < 2 or len(set(hosts)) < len(hosts):
            raise InputError(f"hosts '{','.join(hosts)}' are not two or more different ones: give --hosts node1,node2")
        cpus = topology.pus_one_per_core()
        # Not the same CPU number on both: nodes that share a processor (containers, namespaces) would take turns on it.
        shifted = [*cpus[1:], cpus[0]]
        found[OTHER_NODE] = Places(
            tuple(zip(cpus, shifted, strict=True)),
            tuple(cpus[i % len(cpus)] for i in range(len(hosts))),
            tuple(hosts),
            "card",
            min(len(cpus), granted),
        )
    unknown = [link for link in links if link not in found]
    if unknown:
        if unknown[0] not in LINK_CLASSES:
            raise InputError(f"link class '{unknown[0]}' is unknown: choose one of {', '.join(LINK_CLASSES)}")
        raise InputError(
            f"link class '{unknown[0]}' is not offered here: give one of {', '.join(found) or 'none'}"
            + ("" if hosts else f"; {OTHER_NODE} needs --hosts")
        )
    return {link: places for link, places in found.items() if not links or link in links}


# Whose pairs reach all of a node's memory: within sockets, else across them, else (one core) within that.
_FILLING_MEMORY = ("same-socket", "shared-cache", "other-socket", "same-core")


def _pairs_of_cores(topology: Topology, pairs: Sequence[tuple[int, int]]) -> int:
    """Return how many pairs from the first on have cores of their own: further hardware threads come after these."""
    core_of = {pu.os_index: pu.core for pu in topology.pus}
    taken: set[int] = set()
    for count, pair in enumerate(pairs):
        cores = {core_of[cpu] for cpu in pair}
        if not taken.isdisjoint(cores):
            return count
        taken |= cores
    return len(pairs)


def _in_one_socket(topology: Topology, pairs: Sequence[tuple[int, int]]) -> int:
    """Return how many pairs from the first on lie in its socket; 0 where all do, or where they lie across."""
    sockets = [{topology.pu(cpu).socket for cpu in pair} for pair in pairs]
    inside = len(list(takewhile(lambda pair: pair == sockets[0], sockets)))
    return inside if len(sockets[0]) == 1 and inside < len(pairs) else 0


def moved_to(places: Mapping[str, Places], hosts: Sequence[str], of_all: bool = True) -> dict[str, Places]:
    """Return places whose nodes are among ``hosts``: those stay, the others move to the first of these.

    Without ``hosts`` all stay. Raises InputError when there are too few: fewer than two, or ``of_all`` fewer than before.
    """
    moved = {}
    for link, at in places.items():
        if hosts and not set(at.hosts) <= set(hosts):
            least = len(at.hosts) if of_all else 2
            if len(hosts) < least:
                raise InputError(
                    f"{link} was begun between {len(at.hosts)} nodes and there are {len(hosts)} now: "
                    f"go on with --resume on {least} nodes, or measure again without it"
                )
            at = replace(at, hosts=tuple(hosts[: len(at.hosts)]))
        moved[link] = at
    return moved
