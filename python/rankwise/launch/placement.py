"""Where ranks ran, read back from inside them, held against where they were asked to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwise.errors import RankwiseError
from rankwise.launch.launchers import ANY_HOST
from rankwise.machine.hosts import distinct, node_name


def require_placement(
    placements: Sequence[Mapping[str, Any]], label: str, cpus: Sequence[int] = (), hosts: Sequence[str] = ()
) -> None:
    """Refuse samples whose ranks were not where their label says.

    ``cpus`` and ``hosts`` hold what was asked for each rank: the CPU that it is bound to (none: not bound), and its host
    (none: all on one; ``*0``, ``*1``, ...: one that the launcher chose). Raises RankwiseError.
    """
    for given in (cpus, hosts):
        if given and len(given) != len(placements):
            raise RankwiseError(f"{len(placements)} of {len(given)} ranks say where they are: see what the launcher starts")
    for placement, cpu in zip(placements, cpus, strict=bool(cpus)):
        if placement["cpus_allowed"] != [cpu] or placement["cpu"] != cpu:
            raise RankwiseError(
                f"rank {placement['rank']} ran on CPU {placement['cpu']} instead of {cpu}: its samples would not be "
                f"{label}; something rebinds the ranks (a launcher's or cgroup's binding)"
            )
    wanted = len(set(hosts))
    if hosts and hosts[0].startswith(ANY_HOST):
        # Which host that is shows in the first of its ranks.
        chosen = {host: str(placements[hosts.index(host)]["host"]) for host in distinct(hosts)}
        hosts = [chosen[host] for host in hosts]
    for placement, host in zip(placements, hosts, strict=bool(hosts)):
        if node_name(placement["host"]) != node_name(host):
            raise RankwiseError(
                f"rank {placement['rank']} ran on {placement['host']} instead of {host}: its samples would not be {label}; "
                "see which hosts the launcher uses"
            )
    groups = len({placement["memory_group"] for placement in placements})
    found = len({placement["host"] for placement in placements})
    wanted = wanted or 1
    if (groups, found) != (wanted, wanted):
        raise RankwiseError(
            f"the ranks ran on {found} host(s), {groups} by what MPI shares memory on, instead of {wanted}: its samples would "
            f"not be {label}; {_cure(groups, found, wanted)}"
        )


def _cure(groups: int, found: int, wanted: int) -> str:
    if found == wanted < groups:
        return "let mpiexec start the ranks (unset RANKWISE_MPIEXEC), for srun splits a node whose ranks do not stand together"
    return "see which hosts the launcher uses"
