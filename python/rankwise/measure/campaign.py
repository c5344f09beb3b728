"""The ping-pong campaign: what is measured, in which order, and how it goes on after an interruption.

A campaign measures cells (an operation and a message size) over a pair of CPUs for each link class that the machine
offers, in several launches. Within a launch every cell is visited several times, each time in another shuffled order,
so that a disturbance falls neither on one cell nor on neighbouring sizes. Raw samples go to the samples file as they come.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch import Mpi, stream_kernel
from rankwise.measure.precision import imprecise_cells
from rankwise.measure.samples import SCHEMA, Campaign, SamplesFile, now, read_campaigns
from rankwise.measure.witness import Watch
from rankwise.progress import SILENT, Meter

OPERATIONS = ("send", "ssend", "exchange", "burst")
_LARGEST_BURST_BYTES = 1 << 20  # several messages of it in flight still fit in a cache of today
_LEAST, _MOST = 10, 200  # samples of one visit


@dataclass(frozen=True)
class Plan:
    """What a campaign measures: for each link class a pair of CPUs, cells, launches, and the time to spend."""

    pairs: Mapping[str, tuple[int, int]]
    sizes: tuple[int, ...]
    launches: int = 3
    visits: int = 3  # of each cell in a launch
    seconds: float = 15.0
    seed: int = 1
    precision: float | None = None  # go on with further launches until every cell is known to ± this share, or time is up
    statistic: str = "median"  # of which

    def cells(self) -> list[tuple[str, int]]:
        """Return the cells of one launch: every operation at every size that suits it."""
        return [
            (operation, size)
            for operation in OPERATIONS
            for size in self.sizes
            if size <= _LARGEST_BURST_BYTES or operation in ("send", "ssend")
        ]

    def steps(self) -> int:
        """Return how many visits of cells the whole campaign makes."""
        return self.launches * len(self.pairs) * self.visits * len(self.cells())

    def visit_budget_s(self) -> float:
        """Return the time of one visit; half of all is kept for what then turns out to need more."""
        return self.seconds / self.steps() * (1.0 if self.precision is None else 0.5)

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Plan:
        """Read back a plan. Raises InputError when it is not one."""
        try:
            return Plan(
                pairs={str(name): (int(pair[0]), int(pair[1])) for name, pair in record["pairs"].items()},
                sizes=tuple(int(size) for size in record["sizes"]),
                launches=int(record["launches"]),
                visits=int(record["visits"]),
                seconds=float(record["seconds"]),
                seed=int(record["seed"]),
                precision=None if record.get("precision") is None else float(record["precision"]),
                statistic=str(record.get("statistic", "median")),
            )
        except (KeyError, ValueError, TypeError, AttributeError, IndexError):
            raise InputError("the samples file's plan cannot be read: measure anew without --resume") from None


def default_sizes(largest_bytes: int = 4 << 20) -> tuple[int, ...]:
    """Return 0 B and sizes up to the largest: powers of two, and from 48 B on also the middle between two of them."""
    sizes = {0, largest_bytes}
    power = 1
    while power <= largest_bytes:
        sizes.add(power)
        if 32 <= power and power + power // 2 <= largest_bytes:
            sizes.add(power + power // 2)
        power *= 2
    return tuple(sorted(sizes))


def measure(
    mpi: Mpi, plan: Plan, machine: Mapping[str, Any], path: Path, resume: bool, meter: Meter = SILENT
) -> Campaign:
    """Run a campaign, or with ``resume`` the rest of the last one in the file; return it as read back.

    Raises RankwiseError when a rank dies, InputError when there is nothing to resume, and leaves all samples taken so
    far in the file whatever happens.
    """
    done: Counter[tuple[int, str, str, int]] = Counter()
    if resume:
        campaign = last_campaign(path)
        plan = Plan.from_dict(campaign.head["plan"])
        identity = campaign.id
        done.update((s["launch"], s["class"], s["operation"], s["size_bytes"]) for s in campaign.samples)
        if campaign.complete:
            meter.advance(plan.steps())
            return campaign
    else:
        identity = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{time.monotonic_ns() % 10**6:06d}"
    meter.advance(done.total())
    with SamplesFile(path) as samples:
        if not resume:
            samples.append(
                {
                    "record": "campaign",
                    "campaign": identity,
                    "schema": SCHEMA,
                    "created": now(),
                    "plan": asdict(plan),
                    "machine": dict(machine),
                }
            )
        for launch in range(plan.launches):
            for link, cpus in plan.pairs.items():
                cells = [
                    cell
                    for visit in range(plan.visits)
                    for cell in _shuffled(plan, launch, link, visit)
                    if visit >= done[launch, link, *cell]
                ]
                if cells:
                    meter.say(f"{link}, launch {launch + 1} of {plan.launches}")
                    _launch(mpi, plan, identity, launch, link, cpus, cells, samples, meter, plan.visit_budget_s())
        stop = _refine(mpi, plan, identity, samples, meter) if plan.precision is not None else {}
        samples.append({"record": "complete", "campaign": identity, "at": now(), **stop})
    return last_campaign(path)


def last_campaign(path: Path) -> Campaign:
    """Return the newest ping-pong campaign of a samples file. Raises InputError when there is none."""
    campaigns = [campaign for campaign in read_campaigns(path) if "plan" in campaign.head]
    if not campaigns:
        raise InputError(f"{path} holds no campaign: measure without --resume first")
    return campaigns[-1]


def _refine(mpi: Mpi, plan: Plan, identity: str, samples: SamplesFile, meter: Meter) -> dict[str, Any]:
    """Launch again for the cells that are not known well enough, until all are or the time is spent; say which."""
    assert plan.precision is not None
    while True:
        campaign = last_campaign(samples.path)
        cells = imprecise_cells(campaign, plan.statistic, plan.precision)
        left_s = plan.seconds - sum(float(witness["seconds"]) for witness in campaign.witnesses)
        if not cells or left_s <= 0:
            return {
                "precision": plan.precision,
                "stopped_by": "time" if cells else "precision",
                "imprecise_cells": sum(len(of_link) for of_link in cells.values()),
            }
        launch = 1 + max(int(sample["launch"]) for sample in campaign.samples)
        visits = {link: of_link * plan.visits for link, of_link in cells.items()}
        budget_s = left_s / sum(len(of_link) for of_link in visits.values())
        for link, of_link in visits.items():
            random.Random(f"{plan.seed}/{launch}/{link}").shuffle(of_link)
            meter.say(f"{link}, {len(cells[link])} cells until ± {100 * plan.precision:g} %")
            budget = min(budget_s, plan.visit_budget_s())
            _launch(mpi, plan, identity, launch, link, plan.pairs[link], of_link, samples, meter, budget)


def _shuffled(plan: Plan, launch: int, link: str, visit: int) -> list[tuple[str, int]]:
    cells = plan.cells()
    random.Random(f"{plan.seed}/{launch}/{link}/{visit}").shuffle(cells)
    return cells


def _launch(
    mpi: Mpi,
    plan: Plan,
    identity: str,
    launch: int,
    link: str,
    cpus: tuple[int, int],
    cells: Sequence[tuple[str, int]],
    samples: SamplesFile,
    meter: Meter,
    budget_s: float,
) -> None:
    arguments = [
        "pingpong",
        "--cells", ",".join(f"{operation}:{size}" for operation, size in cells),
        "--cpus", f"{cpus[0]},{cpus[1]}",
        "--budget-s", f"{max(budget_s, 1e-6):.6f}",
        "--least", str(_LEAST),
        "--most", str(_MOST),
    ]  # fmt: skip
    tags = {"campaign": identity, "launch": launch, "class": link}
    taken = 0
    watch = Watch()
    doing = f"measuring {link} (launch {launch + 1})"
    try:
        for record in stream_kernel(mpi, arguments, ranks=2, oversubscribed=False, doing=doing):
            if record["record"] in ("start", "end"):
                _require_placement(record["placements"], cpus, link)
            elif not record.get("verified", True):
                raise RankwiseError(
                    f"{record['operation']} of {record['size_bytes']} B delivered wrong bytes over {link}: "
                    "do not trust this MPI; samples so far are kept"
                )
            samples.append({**record, **tags})
            if record["record"] == "samples":
                taken += 1
                meter.advance()
    except UnusableEnvironmentError:
        raise
    except RankwiseError as error:
        raise RankwiseError(
            f"{error}; {taken} of {len(cells)} visits of this launch are in {samples.path}: go on with --resume"
        ) from None
    samples.append({"record": "witness", **watch.witness(), **tags})


def _require_placement(placements: Sequence[Mapping[str, Any]], cpus: Sequence[int], link: str) -> None:
    """Refuse samples whose ranks were not where their label says (read back from inside the ranks)."""
    for placement, cpu in zip(placements, cpus, strict=True):
        if placement["cpus_allowed"] != [cpu] or placement["cpu"] != cpu:
            raise RankwiseError(
                f"rank {placement['rank']} ran on CPU {placement['cpu']} instead of {cpu}: its samples would not be "
                f"{link}; something rebinds the ranks (a launcher's or cgroup's binding)"
            )
