"""``rankwise measure collectives``: what a collective takes besides its messages, put into the profile that is there.

How long adding vectors takes; up to which size MPI_Send does not wait for its receiver, over each class of link; how much
later a rank takes a message up where ranks share processors; and the library's own collectives within a node, which go through
shared memory. Every launch is in the samples file when the next one begins, so that ``--resume`` goes on there.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.allocation import allocated_hosts, find_allocation
from rankwise.launch.mpi import Mpi, find_mpi, stream_kernel
from rankwise.launch.reach import require_hosts
from rankwise.launch.under_way import require_seconds, under_way
from rankwise.machine.collective_costs import CollectiveCosts, NodeTime
from rankwise.machine.discover import discover
from rankwise.machine.profile import Profile, open_profile
from rankwise.machine.record import machine_record
from rankwise.machine.snapshot import cpu_quota
from rankwise.machine.topology import Topology
from rankwise.measure.fitting import limits_of
from rankwise.measure.places import find_places
from rankwise.measure.samples import Campaign, SamplesFile, now, read_campaigns, samples_path_of
from rankwise.measure.workloads import limits_words

_SIZES = (8, 1024, 16384, 262144, 1048576)  # of vectors, and of all blocks of a rank together
_OF_BLOCKS = ("allgather", "alltoall", "gather", "scatter")
_VECTORS = ("bcast", "reduce", "allreduce", "reduce_scatter", "scan")
_LAUNCHES = 3
_MOST_SHARING = 128  # ranks that hand a token on


@dataclass(frozen=True)
class Launch:
    """Ranks that are started once, on CPUs of this node (``hosts``: one each on these), and what they measure."""

    name: str
    arguments: tuple[str, ...]
    cpus: tuple[int, ...]
    hosts: tuple[str, ...] = ()

    @property
    def shared_cpus(self) -> bool:
        return not self.hosts and len(set(self.cpus)) < len(self.cpus)


def measure_collectives(
    output: Path, hosts: Sequence[str], counts: Sequence[int], seconds: float, resume: bool
) -> CollectiveCosts:
    """Measure for ``seconds`` at most, add what is found to the profile, and return it.

    ``counts``: numbers of ranks within a node (empty: 2, 4, ... and all cores). Raises RankwiseError and its kinds; what was
    measured stays in the samples file.
    """
    profile, topology = open_profile(output), discover()
    require_seconds(seconds)
    hosts = hosts or allocated_hosts()
    require_hosts(hosts, find_allocation())
    mpi = find_mpi()
    mpi.require_match()
    machine = machine_record(topology, mpi)
    if profile.mpi_version not in ("", machine["mpi"]["library_version"]):
        raise InputError(
            f"{output} was measured with another MPI ({profile.mpi_version[:40]}): measure with this one first, "
            f"rankwise measure -o {output}"
        )
    path, processors = samples_path_of(output), len(topology.pus_one_per_core())
    launches = list(launches_of(topology, hosts, counts, seconds))
    kept = f"all launches so far are in {path}; go on with 'rankwise measure collectives -o {output} --resume'"
    with SamplesFile(path) as samples, under_way("measuring collectives", len(launches), kept) as progress:
        campaign = last_of(read_campaigns(path)) if resume else None
        if resume and (campaign is None or campaign.complete):
            raise InputError(f"{path} holds no measurement of collectives to go on with: leave --resume out")
        if campaign is not None and campaign.head["machine"]["mpi"]["library_version"] != machine["mpi"]["library_version"]:
            raise InputError(f"{path}: the measurement of collectives was begun with another MPI: leave --resume out")
        identity = campaign.id if campaign is not None else str(
            samples.begin(collectives=True, processors=processors, machine=machine)["campaign"]
        )  # fmt: skip
        done = {str(witness["launch"]) for witness in campaign.witnesses} if campaign is not None else set()
        for launch in launches:
            if launch.name not in done:
                _start(mpi, launch, samples, identity)
            progress.advance(1)
        samples.complete(identity)
    newest = last_of(read_campaigns(path))
    assert newest is not None
    added = with_costs(profile, newest)
    added.save(output)
    assert added.collectives is not None
    return added.collectives


def launches_of(topology: Topology, hosts: Sequence[str], counts: Sequence[int], seconds: float) -> Iterator[Launch]:
    """Yield what is to be launched. Raises InputError and UnusableEnvironmentError."""
    cpus = tuple(topology.pus_one_per_core())
    places = find_places(topology, hosts, (), cpu_quota())
    if not places:
        raise UnusableEnvironmentError("this process may use one CPU only: two ranks need two (see 'taskset -p $$')")
    if most := [count for count in counts if not 2 <= count <= len(cpus)]:
        raise InputError(f"--ranks {most[0]}: this node has {len(cpus)} cores, one for each rank: give at least 2, and no more")
    yield Launch("combine", ("combine",), cpus[:1])
    for link, at in places.items():
        words = ("--cells", "send:0", "--budget-s", "1e-6", "--least", "1", "--most", "1", "--seconds", "5", *limits_words())
        yield Launch(f"limits {link}", ("pingpong", *words), tuple(at.cpus_of_pairs(1)), at.hosts[:2])
    own = cpus[: _MOST_SHARING // 2]
    for name, taken in (("token", own), ("token shared", own * 2)):
        yield Launch(name, ("token", "--budget-s", f"{seconds / 60:.3f}"), taken)
    counts = sorted(set(counts)) or sorted({*(2**i for i in range(1, len(cpus).bit_length()) if 2**i <= len(cpus)), len(cpus)})
    for number in range(_LAUNCHES):
        for count in counts:
            cases = [f"{kind}:{size}" for kind in _VECTORS for size in _SIZES]
            cases += [f"{kind}:{size // count // 4 * 4}" for kind in _OF_BLOCKS for size in _SIZES if size >= 4 * count]
            cases.append("barrier:0")
            budget_s = max(1e-4, 0.5 * seconds / (_LAUNCHES * len(counts) * len(cases)))
            timed = ("--cases", ",".join(cases), "--budget-s", f"{budget_s:.6f}", "--least", "5", "--most", "1000")
            yield Launch(f"in node, {count} ranks, {number}", ("collective", *timed), cpus[:count])


def _start(mpi: Mpi, launch: Launch, samples: SamplesFile, identity: str) -> None:
    begun_s = time.monotonic()
    arguments = [*launch.arguments, "--cpus", ",".join(map(str, launch.cpus))]
    doing = f"measuring collectives ({launch.name})"
    for record in stream_kernel(mpi, arguments, len(launch.cpus), launch.shared_cpus, doing, launch.hosts):
        if not record.get("verified", True):
            raise RankwiseError(
                f"{record['collective']} delivered wrong bytes: this MPI is unreliable; {samples.path} has the rest"
            )
        if record["record"] in ("combined", "token", "samples"):
            times_s = record["time_s"] if isinstance(record["time_s"], list) else [record["time_s"]]
            record = {"kernel": record["record"], **record, "record": "samples", "time_s": times_s}
        samples.append({**record, "campaign": identity, "launch": launch.name})
    samples.append({"record": "witness", "campaign": identity, "launch": launch.name, "seconds": time.monotonic() - begun_s})


def last_of(campaigns: Sequence[Campaign]) -> Campaign | None:
    """Return the newest measurement of collectives; None where there is none."""
    return next((one for one in reversed(campaigns) if one.head.get("collectives")), None)


def with_costs(profile: Profile, campaign: Campaign) -> Profile:
    """Return a profile with what a measurement of collectives found. Raises RankwiseError where that is not all there."""
    combine: dict[int, float] = {}
    hops_s: dict[str, float] = {}
    in_node: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for sample in campaign.samples:
        times_s: list[float] = sample["time_s"]
        match sample["kernel"]:
            case "combined":
                combine[int(sample["size_bytes"])] = times_s[0]
            case "token":
                hops_s[str(sample["launch"])] = median(times_s)
            case "collective":
                where = str(sample["collective"]), int(sample["ranks"]), int(sample["message_bytes"])
                in_node[where].append(median(times_s))
    if not combine or {"token", "token shared"} - hops_s.keys():
        raise RankwiseError("a kernel ended without a result: see 'rankwise doctor', and measure again")
    machine: Mapping[str, Any] = campaign.head["machine"]
    rows = [
        NodeTime(*where, median(times_s), (min(times_s), max(times_s)) if len(times_s) > 1 else None)
        for where, times_s in sorted(in_node.items())
    ]
    costs = CollectiveCosts(
        str(machine["mpi"]["library_version"]), now(), tuple(sorted(combine.items())),
        int(campaign.head["processors"]), max(0.0, hops_s["token shared"] - hops_s["token"]), tuple(rows),
    )  # fmt: skip
    links = dict(profile.links)
    for limit in campaign.limits:
        name = str(limit["launch"]).removeprefix("limits ")
        if name in links:
            links[name] = replace(links[name], parameters={**links[name].parameters, **limits_of([limit])})
    return replace(profile, collectives=costs, links=links)
