"""What processes see where a launcher puts them, told by a shell: host, rank,
CPUs, bytes of the network cards. No MPI needed.

Where ranks ran, read back from inside them, held against where they were asked to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwise.errors import RankwiseError
from rankwise.launch.command import Command
from rankwise.launch.launchers import ANY_HOST
from rankwise.launch.process import Child
from rankwise.machine.hosts import distinct, node_name

_SILENCE_S = 120.0
# Ranks by what each family of launchers sets; cards by the kernel's counters and the InfiniBand driver's (in words of 4 bytes).
_SCRIPT = r"""
h=$(uname -n)
r=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${FLUX_TASK_RANK:-${SLURM_PROCID:--1}}}}}
l=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-0}}
echo "rankwise-place $r $h $l"
[ "$1" = cards ] || exit 0
while read -r d i a b c e f g j o k; do
  case $d in
    lo:) ;;
    *:) n=${d%:}; p=virtual; [ -e /sys/class/net/$n/device ] && p=card; echo "rankwise-card $h $p $n $i $o";;
  esac
done < /proc/self/net/dev
for p in /sys/class/infiniband/*/ports/*; do
  [ -r $p/counters/port_xmit_data ] || continue
  read -r i < $p/counters/port_rcv_data; read -r o < $p/counters/port_xmit_data
  echo "rankwise-card $h infiniband $p $((4 * i)) $((4 * o))"
done
"""

Counters = Mapping[str, Mapping[str, tuple[int, int]]]  # of each host, of each card: bytes received and sent so far


def _told(command: Command, hosts: Sequence[str], what: str) -> list[list[str]]:
    words = command.on(hosts, ["/bin/sh", "-c", _SCRIPT, "sh", what])
    with Child(words) as child:
        try:
            lines = [line.split() for line in child.lines(_SILENCE_S)]
        except TimeoutError:
            raise RankwiseError(f"nothing heard for {_SILENCE_S:.0f} s from ranks started by: {_short(words)}") from None
        if (code := child.wait()) != 0:
            why = child.error_line() or f"exit code {code}"
            raise RankwiseError(
                f"the launcher does not start ranks on {', '.join(distinct(hosts))} ({why}): name nodes that it reaches with "
                "--hosts, or observe the program again where it runs now"
            )
    return [line for line in lines if line and line[0].startswith("rankwise-")]


def _short(words: Sequence[str]) -> str:
    return " ".join("..." if "\n" in word else word for word in words)


def require_hosts_of_ranks(command: Command, hosts: Sequence[str]) -> None:
    """Start a shell on every rank and see that each is on its host, and counts as one of its ranks. Raises RankwiseError."""
    found: dict[int, str] = {}
    shared: dict[int, int] = {}
    for line in _told(command, hosts, "places"):
        if line[0] == "rankwise-place" and len(line) == 4:
            found[int(line[1])], shared[int(line[1])] = line[2], int(line[3])
    told = f"told by the launcher's words: {_short(command.on(hosts))}"
    if sorted(found) != list(range(len(hosts))):
        raise RankwiseError(f"{len(hosts)} ranks were started and {len(found)} tell which they are; {told}")
    for rank, host in enumerate(hosts):
        if node_name(found[rank]) != node_name(host):
            raise RankwiseError(f"rank {rank} ran on {found[rank]} instead of {host}; {told}")
        if shared[rank] not in (0, hosts.count(host)):
            raise RankwiseError(
                f"rank {rank} counts {shared[rank]} ranks on {host} instead of {hosts.count(host)}, so that they share no "
                f"memory; {told}"
            )


def read_counters(command: Command, hosts: Sequence[str]) -> Counters:
    """Return what the network cards of these hosts (each once) have passed so far; only real cards where there are some."""
    cards: dict[str, dict[str, dict[str, tuple[int, int]]]] = {}
    for line in _told(command, hosts, "cards"):
        if line[0] == "rankwise-card" and len(line) == 6:
            _, host, kind, name, received, sent = line
            cards.setdefault(host, {}).setdefault(kind, {})[name] = int(received), int(sent)
    return {
        host: next((of_kind[kind] for kind in ("infiniband", "card", "virtual") if kind in of_kind), {})
        for host, of_kind in cards.items()
    }


def sent_between(before: Counters, after: Counters) -> int | None:
    """Return the bytes that left all hosts meanwhile; None where a host's counters are not known at both times."""
    if not after or before.keys() != after.keys() or not all(after.values()):
        return None
    return sum(
        max(0, after[host][card][1] - before[host][card][1]) for host in after for card in after[host] if card in before[host]
    )


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
