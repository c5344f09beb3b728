"""Streams between all pairs of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.api.results import Result
from rankwise.errors import InputError, InterruptedWorkError
from rankwise.questions import Options, option
from rankwise.units import parse_sizes

if TYPE_CHECKING:
    from rankwise.measure.all_pairs import AllPairs

SAMPLES = Path("nodes.samples.jsonl")


@dataclass(frozen=True)
class Streams(Options):
    """Between which nodes, of which sizes, and for how long at most."""

    hosts: str | None = option(None, "--nodes: the nodes, as in n[01-16]. Default: all of the Slurm allocation.")
    samples: Path = option(SAMPLES, "--nodes: where the samples go.")
    sizes: str | None = option(None, "--nodes: sizes of messages. Default: 8,1MB.")
    seconds: float = option(300.0, "--nodes: begin no further sweep that would end later.")
    resume: bool = option(False, "--nodes: go on with an interrupted campaign.", "--resume")


@dataclass(frozen=True)
class StreamTimes(Result):
    """What a message of each size took between all pairs: ``campaign`` has all of it, ``samples`` is its file."""

    campaign: AllPairs
    samples: Path

    def to_dict(self) -> dict[str, Any]:
        return {**campaign_json(self.campaign), "samples": str(self.samples), "figures": self.records()}

    def records(self) -> list[dict[str, Any]]:
        import numpy as np

        campaign, rows = self.campaign, []
        for size in campaign.time_s:
            times_s = campaign.time_s[size][campaign.sweep >= 0] / campaign.messages[size]
            low, middle, high = (float(value) for value in np.nanquantile(times_s, [0.05, 0.5, 0.95]))
            rows.append(
                {"size_bytes": size, "messages": campaign.messages[size], "median_s": middle, "p05_s": low, "p95_s": high}
            )
        return rows

    @property
    def conclusion(self) -> str:
        return headline(self.campaign)


def measured(asked: Streams) -> StreamTimes:
    """Measure all pairs of nodes. Raises InputError, InterruptedWorkError, RankwiseError and its kinds."""
    return StreamTimes(campaign_of(asked), asked.samples)


def campaign_of(asked: Streams) -> AllPairs:
    """Measure all pairs of nodes. Raises InputError, InterruptedWorkError."""
    from rankwise.launch import find_mpi
    from rankwise.launch.allocation import allocated_hosts
    from rankwise.machine.hosts import parse_hosts
    from rankwise.measure.all_pairs import DEFAULT_SIZES, measure_all_pairs
    from rankwise.progress import meter

    hosts = tuple(parse_hosts(asked.hosts)) if asked.hosts else allocated_hosts()
    if len(hosts) < 2:
        there = f"{hosts[0]} alone has no other node to measure with" if hosts else "no nodes to measure between"
        raise InputError(f"{there}: name them with --hosts n[01-16], or start it inside a Slurm allocation")
    if not 0 < asked.seconds < 1e6:
        raise InputError(f"seconds {asked.seconds:g} is not a time to spend: give one above 0")
    sizes = tuple(sorted(set(parse_sizes(asked.sizes)))) if asked.sizes else DEFAULT_SIZES
    if len(sizes) > 20 or max(sizes) > 1 << 27:
        raise InputError("sizes of streams between all pairs are at most twenty, up to 128 MiB")
    try:
        with meter("streaming", len(hosts) - 1) as progress:
            return measure_all_pairs(find_mpi(), hosts, asked.samples, sizes, asked.seconds, asked.resume, progress)
    except KeyboardInterrupt:
        raise InterruptedWorkError(f"interrupted: all samples so far are in {asked.samples}: go on with --resume") from None


def headline(campaign: AllPairs) -> str:
    """Say how much was measured."""
    import numpy as np

    rounds = int(np.sum(campaign.sweep == 0))
    sweeps = int(campaign.sweep.max()) + 1
    return f"{len(campaign.hosts)} nodes, {rounds} rounds x {sweeps}, {campaign.seconds:.0f} s"


def campaign_json(campaign: AllPairs) -> dict[str, Any]:
    """Return as JSON what was measured between whom."""
    import numpy as np

    return {
        "hosts": list(campaign.hosts),
        "silent": list(campaign.silent),
        "created": campaign.created,
        "seconds": campaign.seconds,
        "sweeps": int(campaign.sweep.max()) + 1,
        "rounds": int(np.sum(campaign.sweep >= 0)),
    }
