"""Measuring one session: launches spread over half an hour, each of a few cells, taken up again where they were cut off."""

from __future__ import annotations

import hashlib
import math
import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.errors import EXIT_FAILURE, InputError, InterruptedWorkError, RankwiseError
from rankwise.files import locked, opened_to_append
from rankwise.health.record import LEAST_LAUNCHES, OF_LAUNCHES, OF_PROFILE, Launch, Session
from rankwise.launch.mpi import Mpi
from rankwise.launch.under_way import require_seconds
from rankwise.machine.profile import Profile
from rankwise.machine.record import machine_record
from rankwise.machine.snapshot import governors
from rankwise.machine.sysfs import read_file
from rankwise.machine.topology import Topology
from rankwise.measure.campaign import Plan
from rankwise.measure.campaign import measure as run_campaign
from rankwise.measure.cells import cells_of, timer_cost_s
from rankwise.measure.places import Places
from rankwise.measure.samples import Campaign, now, read_campaigns
from rankwise.measure.witness import switches_per_s
from rankwise.measure.workloads import HEALTH
from rankwise.progress import Meter, tell

# What a session watches: the figure's name after the link class, and the cell it is made of.
_FIGURES = {"latency_s": ("send", 0), "exchange_s": ("exchange", 8192), "s_per_byte": ("send", 1 << 20)}
_SIZES = tuple(sorted({size for _, size in _FIGURES.values()}))
_MOST_PAUSE_S = 3600.0  # of an interrupted session, beyond its span


@dataclass(frozen=True)
class SessionPlan:
    """Where to measure, how often the ranks start, over which time, and how long they measure in all."""

    places: Mapping[str, Places]
    launches: int = 20
    spread_s: float = 1800.0
    seconds: float = 20.0

    def __post_init__(self) -> None:
        if self.launches < LEAST_LAUNCHES:
            raise InputError(f"launches {self.launches} are too few: {LEAST_LAUNCHES} undisturbed ones are needed")
        if not 0 <= self.spread_s <= 86400:
            raise InputError(
                f"spread {self.spread_s:g} s is not a time of at most a day: give 30m, or 0 for one after the other"
            )
        require_seconds(self.seconds)

    def begins_s(self, seed: str) -> list[float]:
        """Return when each launch begins, after the session does: at random in equal parts of the spread."""
        rng = random.Random(seed)
        part = self.spread_s / self.launches
        return [0.0, *((i + rng.random()) * part for i in range(1, self.launches))]


def key_of(topology: Topology, mpi: Mpi, places: Mapping[str, Places], name: str | None) -> dict[str, Any]:
    """Return what identifies this machine in its history, and what else of it may change the figures."""
    machine = machine_record(topology, mpi)
    binding = "; ".join(
        f"{link} {','.join(map(str, at.pairs[0]))}" + (f" on {','.join(at.hosts[:2])}" if at.hosts else "")
        for link, at in places.items()
    )
    return _key(machine, name, binding, OF_LAUNCHES) | {
        "microcode": _microcode(),
        "governors": ", ".join(governors(Path("/"), topology.allowed)),
    }


def digest_of(mpi: Mpi) -> str:
    """Return what tells the kernels' builds apart."""
    return hashlib.sha256(mpi.kernels_path.read_bytes()).hexdigest()[:16]


def session_of_profile(profile: Profile, name: str | None) -> Session:
    """Return a session of one ready profile. Raises InputError where it has none of the figures."""
    value = {}
    for link, of_link in profile.links.items():
        for figure, (operation, size) in _FIGURES.items():
            curve = of_link.send if operation == "send" else of_link.variants.get(operation)
            row = next((point for point in curve.table if point.size_bytes == size), None) if curve is not None else None
            if row is not None:
                value[f"{link}.{figure}"] = math.log(row.time_s / (size if figure == "s_per_byte" else 1))
    if not value:
        raise InputError(
            f"the profile has no send of 0 B or 1 MiB and no exchange of 8 KiB: measure these sizes "
            f"({', '.join(map(str, _SIZES))})"
        )
    key = _key(profile.machine, name, ", ".join(profile.links), f"{OF_PROFILE}, {profile.source.get('statistic', '')}")
    return Session(profile.created, key, 0.0, (), value, "", poor=profile.trust.is_poor)


def measure_session(
    mpi: Mpi, plan: SessionPlan, key: Mapping[str, Any], machine: Mapping[str, Any], history: Path, meter: Meter
) -> Session:
    """Measure a session, or the rest of one that was interrupted; return it, not yet judged.

    Its raw samples lie next to the history until ``finish``. Raises InterruptedWorkError, RankwiseError.
    """
    path = samples_path(history, key)
    digest = digest_of(mpi)
    campaigns = _campaigns(path, plan, digest)
    at = str(campaigns[0].head["created"]) if campaigns else now()
    begun = datetime.fromisoformat(at)
    begins_s = plan.begins_s(at)
    steady_s = time.monotonic() - (datetime.now(UTC) - begun).total_seconds()  # when it began, by a clock that never jumps
    meter.advance(len(campaigns))
    try:
        for i in range(len(campaigns), plan.launches):
            wait_s = begins_s[i] - (time.monotonic() - steady_s)
            if wait_s > 0:
                meter.say(f"waits {wait_s / 60:.0f} min for launch {i + 1} of {plan.launches}")
                time.sleep(wait_s)
            meter.say(f"launch {i + 1} of {plan.launches}")
            one = Plan(plan.places, _SIZES, HEALTH, launches=1, seconds=plan.seconds / plan.launches, seed=i, pairs_share=1.0)
            run_campaign(mpi, one, {**machine, "kernels": digest}, path, resume=False)
            meter.advance()
    except KeyboardInterrupt:
        raise InterruptedWorkError(
            f"interrupted: the launches so far are in {path}; the same command goes on with them within "
            f"{(plan.spread_s + _MOST_PAUSE_S) / 60:.0f} min"
        ) from None
    except RankwiseError as error:
        if error.exit_code != EXIT_FAILURE:
            raise
        what = str(error).rpartition("; ")[0] or str(error)  # what a campaign says of --resume is not for a session
        raise RankwiseError(f"{what}; the launches before are kept: the same command goes on with them") from None
    launches = [_launch(campaign, begun) for campaign in _campaigns(path, plan, digest)]
    return Session.of(at, key, launches, digest)


def finish(history: Path, key: Mapping[str, Any]) -> None:
    """Remove a session's raw samples: its line is in the history."""
    samples_path(history, key).unlink(missing_ok=True)


@contextmanager
def alone(history: Path, key: Mapping[str, Any]) -> Iterator[None]:
    """See to it that no other session measures the same. Raises RankwiseError when one does, or the file cannot be written."""
    path = samples_path(history, key).with_suffix(".lock")
    try:
        stream = opened_to_append(path)
    except OSError as error:
        raise RankwiseError(f"no session can be saved next to {history} ({error.strerror}): name another --history") from None
    with stream:
        if not locked(stream):
            raise RankwiseError(f"another session of this machine is under way for {history}: let it end")
        yield


def samples_path(history: Path, key: Mapping[str, Any]) -> Path:
    """Return where the raw samples of a session under way lie, next to the history, apart for each key."""
    name = hashlib.sha256(repr(sorted((str(k), str(v)) for k, v in key.items())).encode()).hexdigest()[:8]
    return history.with_name(f"{history.stem}.{name}.session.jsonl")


def _campaigns(path: Path, plan: SessionPlan, digest: str) -> list[Campaign]:
    """Return the whole launches of the session under way; one too old, or of other kernels, is begun again."""
    if not path.exists() or not path.stat().st_size:
        return []
    campaigns = [campaign for campaign in read_campaigns(path) if campaign.complete and campaign.witnesses]
    if campaigns:
        age_s = (datetime.now(UTC) - datetime.fromisoformat(str(campaigns[0].head["created"]))).total_seconds()
        kernels = campaigns[0].head["machine"].get("kernels")
        if 0 <= age_s <= plan.spread_s + _MOST_PAUSE_S + plan.seconds * 10 and kernels == digest:
            return campaigns
        tell(f"{path}: the launches of an interrupted session are {age_s / 3600:.1f} h old, or of other kernels: begun again")
    path.unlink()
    return []


def _launch(campaign: Campaign, begun: datetime) -> Launch:
    """Return the medians of a launch over all link classes, and what its witnesses saw."""
    figures = {}
    cost_s = timer_cost_s(campaign)
    for link in dict.fromkeys(str(sample["class"]) for sample in campaign.samples):
        cells = cells_of(campaign, link, cost_s)
        for figure, (operation, size) in _FIGURES.items():
            if times := cells.get(operation, {}).get(size):
                figures[f"{link}.{figure}"] = float(np.median(np.concatenate(list(times.values())))) / (
                    size if figure == "s_per_byte" else 1
                )

    def most(key: str) -> float:
        return max((float(witness.get(key) or 0.0) for witness in campaign.witnesses), default=0.0)

    t = min(float(witness["begun_unix_s"]) for witness in campaign.witnesses) - begun.timestamp()
    return Launch(round(t, 3), figures, most("foreign_cpus"), most("steal_share"), switches_per_s(campaign.samples))


def _key(machine: Mapping[str, Any], name: str | None, binding: str, statistic: str) -> dict[str, Any]:
    mpi = machine.get("mpi") or {}
    return {
        "hostname": name or str(machine.get("hostname", "unknown")),
        "cpu_model": str(machine.get("cpu_model", "")),
        "mpi": str(mpi.get("library_version", "")),
        "binding": binding,
        "statistic": statistic,
        "kernel_release": str(machine.get("kernel_release", os.uname().release)),
    }


def _microcode() -> str:
    for line in read_file("/proc/cpuinfo").splitlines():
        if line.startswith("microcode"):
            return line.partition(":")[2].strip()
    return ""
