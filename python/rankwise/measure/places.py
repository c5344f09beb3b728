"""Where the ranks of a measurement run, for each class of link: pairs of CPUs, and one rank with many partners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.errors import InputError
from rankwise.machine.topology import Topology

OTHER_NODE = "other-node"


@dataclass(frozen=True)
class Places:
    """The CPUs of one link class.

    ``pairs`` have nothing in common, the one that is measured first; ``star`` is a rank's CPU and those of its partners. With
    ``hosts`` (two or more) each pair's CPUs lie on the first two of them, and each of the star's on one.
    """

    pairs: tuple[tuple[int, int], ...]
    star: tuple[int, ...]
    hosts: tuple[str, ...] = ()

    def cpus_of_pairs(self, pairs: int) -> list[int]:
        """Return the CPUs of so many pairs, one end of all first (rank i talks to rank i + pairs).

        Where there are fewer pairs of CPUs, ranks share those.
        """
        chosen = [self.pairs[i % len(self.pairs)] for i in range(pairs)]
        return [pair[0] for pair in chosen] + [pair[1] for pair in chosen]

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Places:
        return Places(
            tuple((int(a), int(b)) for a, b in record["pairs"]),
            tuple(int(cpu) for cpu in record["star"]),
            tuple(str(host) for host in record.get("hosts", ())),
        )


def find_places(topology: Topology, hosts: Sequence[str] = (), links: Sequence[str] = ()) -> dict[str, Places]:
    """Return the places of each link class that this machine offers, and between nodes when ``hosts`` are given.

    ``links`` restricts the classes. The hosts are taken to be alike this one. Raises InputError.
    """
    found = {
        link: Places(tuple(topology.disjoint_pairs(link)), tuple(topology.star(link)))
        for link in topology.representative_pairs()
    }
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
        )
    unknown = [link for link in links if link not in found]
    if unknown:
        raise InputError(
            f"link class '{unknown[0]}' is not offered here: choose of {', '.join(found) or 'none'}"
            + ("" if hosts else f"; {OTHER_NODE} needs --hosts")
        )
    return {link: places for link, places in found.items() if not links or link in links}
