"""The campaign: what is measured, in which order, and how it goes on after an interruption.

A campaign measures cells (an operation and a message size) for each link class that the machine offers, in several
launches. Within a launch every cell is visited several times, each time in another shuffled order, so that a disturbance
falls neither on one cell nor on neighbouring sizes. Raw samples go to the samples file as they come.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch import Mpi, stream_kernel
from rankwise.launch.placement import require_placement
from rankwise.measure.places import Places, moved_to
from rankwise.measure.precision import imprecise_cells
from rankwise.measure.samples import SCHEMA, Campaign, SamplesFile, new_campaign_id, now, read_campaigns
from rankwise.measure.witness import Watch, network_changes
from rankwise.measure.workloads import Cell, Part, largest_bytes, parts_of
from rankwise.progress import SILENT, Meter

_LEAST, _MOST = 10, 200  # samples of one visit
_LEAST_ASIDE = 3
_LEAST_LAUNCH_S = 0.01
_MOST_VISITS = 2000  # of one launch
_LEAST_SHARE = 0.02  # of the time: a launch for less is mostly warm-up

@dataclass(frozen=True)
class Plan:
    """What a campaign measures: where for each link class, which cells, in how many launches, and the time to spend."""

    places: Mapping[str, Places]
    sizes: tuple[int, ...]
    what: str = "pingpong"
    background: int = 0  # pairs that keep the link busy for what is measured under load
    launches: int = 3
    visits: int = 3  # of each cell in a launch
    seconds: float = 15.0  # of measuring at most; starting the ranks of planned launches is not counted
    seed: int = 1
    precision: float | None = None  # go on with further launches until every cell is known to ± this share, or time is up
    statistic: str = "median"  # of which
    pairs_share: float = 0.25  # of the time, for pairs at once beside a ping-pong; 0: none

    def parts(self, link: str) -> list[Part]:
        """Return what a launch over one link class consists of."""
        return parts_of(self.what, self.places[link], self.background, self.pairs_share > 0)

    def cells(self, part: Part) -> list[Cell]:
        """Return the cells of one part: its own, or every operation at every size that suits it."""
        return list(part.aside) or [
            (operation, size)
            for operation in part.operations
            for size in self.sizes
            if size <= (largest_bytes(operation) or size)
        ]

    def visits_of(self, part: Part) -> int:
        """Return how often a launch visits each cell of one of its parts."""
        return 1 if part.aside else self.visits

    def cell_count(self, aside: bool = False) -> int:
        """Return how many cells there are of all link classes: of those whose precision counts, or of those aside."""
        parts = (part for link in self.places for part in self.parts(link))
        return sum(len(self.cells(part)) for part in parts if bool(part.aside) == aside)

    def steps(self) -> int:
        """Return how many visits of cells the whole campaign makes."""
        return self.launches * (self.visits * self.cell_count() + self.cell_count(aside=True))

    def visit_budget_s(self, aside: bool = False) -> float:
        """Return the time of one visit's samples; the rest is for warm-ups, or for what turns out to need more."""
        beside = self.cell_count(aside=True)
        share, visits = (self.pairs_share, beside) if aside else (1 - self.pairs_share * (beside > 0), self.visits * self.cell_count())
        return share * self.seconds / (self.launches * visits) * (0.8 if self.precision is None else 0.5)

    def spent_s(self, witness: Mapping[str, Any]) -> float:
        """Return what a launch takes from the time: a planned one its measuring, a further one all that it lasts."""
        return float(witness["measuring_s" if int(witness["launch"]) < self.launches else "seconds"])

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Plan:
        """Read back a plan. Raises InputError when it is not one."""
        try:
            return Plan(
                places={str(name): Places.from_dict(places) for name, places in record["places"].items()},
                sizes=tuple(int(size) for size in record["sizes"]),
                what=str(record["what"]),
                background=int(record["background"]),
                launches=int(record["launches"]),
                visits=int(record["visits"]),
                seconds=float(record["seconds"]),
                seed=int(record["seed"]),
                precision=None if record.get("precision") is None else float(record["precision"]),
                statistic=str(record.get("statistic", "median")),
                pairs_share=float(record.get("pairs_share", 0.0)),
            )
        except (KeyError, ValueError, TypeError, AttributeError, IndexError):
            raise InputError("the samples file's plan cannot be read: measure anew without --resume") from None


def default_sizes(largest_size_bytes: int = 4 << 20) -> tuple[int, ...]:
    """Return 0 B and sizes up to the largest: powers of two, and from 48 B on also the middle between two of them."""
    sizes = {0, largest_size_bytes}
    power = 1
    while power <= largest_size_bytes:
        sizes.add(power)
        if 32 <= power and power + power // 2 <= largest_size_bytes:
            sizes.add(power + power // 2)
        power *= 2
    return tuple(sorted(sizes))


def measure(
    mpi: Mpi,
    plan: Plan,
    machine: Mapping[str, Any],
    path: Path,
    resume: bool,
    meter: Meter = SILENT,
    hosts: Sequence[str] = (),
) -> Campaign:
    """Run a campaign, or with ``resume`` the rest of the last one in the file; return it as read back.

    ``hosts`` are the nodes at hand now: a resumed campaign goes on between those when it has lost its own.

    Raises RankwiseError when a rank dies, InputError when there is nothing to resume, and leaves all samples taken so
    far in the file whatever happens.
    """
    if resume:
        campaign = last_campaign(path)
        plan = Plan.from_dict(campaign.head["plan"])
        identity = campaign.id
        if campaign.complete:
            meter.advance(plan.steps())
            return campaign
        plan = replace(plan, places=moved_to(plan.places, hosts))
    else:
        identity = new_campaign_id()
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
        else:
            between = {link: places.hosts for link, places in plan.places.items() if places.hosts}
            samples.append({"record": "resumed", "campaign": identity, "at": now(), "hosts": between})
        run = _Run(mpi, plan, identity, samples, meter)
        for launch, link, part, cells, share in run.planned():
            if run.left_s() <= _LEAST_SHARE * plan.seconds:
                break
            meter.say(f"{link}, launch {launch + 1} of {plan.launches}")
            run.launch(launch, link, part, cells, plan.visit_budget_s(bool(part.aside)), share * run.left_s())
        stop = run.refine() if plan.precision is not None else run.stop()
        samples.append({"record": "complete", "campaign": identity, "at": now(), **stop})
    return last_campaign(path)


def last_campaign(path: Path) -> Campaign:
    """Return the newest campaign of a samples file that has a plan. Raises InputError when there is none."""
    campaigns = [campaign for campaign in read_campaigns(path) if "plan" in campaign.head]
    if not campaigns:
        raise InputError(f"{path} holds no campaign: measure without --resume first")
    return campaigns[-1]


@dataclass
class _Run:
    """A campaign under way."""

    mpi: Mpi
    plan: Plan
    identity: str
    samples: SamplesFile
    meter: Meter
    spent_s: float = 0.0  # on measuring
    visits: Counter[tuple[str, Cell]] = field(default_factory=Counter)  # of each link class and cell, in all launches

    def campaign(self) -> Campaign:
        return last_campaign(self.samples.path)

    def left_s(self) -> float:
        """Return what is left of the time."""
        return self.plan.seconds - self.spent_s

    def planned(self) -> Iterator[tuple[int, str, Part, list[Cell], float]]:
        """Yield launch, link, part, the cells not yet visited, and its share of the time that is then left.

        A launch that came to its end had its share of the time: what it left out is left out.
        """
        plan, campaign = self.plan, self.campaign()
        self.spent_s = sum(map(plan.spent_s, campaign.witnesses))
        done = Counter(
            (int(s["launch"]), str(s["class"]), (str(s["operation"]), int(s["size_bytes"]))) for s in campaign.samples
        )
        for (_, link, cell), visits in done.items():
            self.visits[link, cell] += visits
        self.meter.advance(done.total())
        ended = Counter((int(w["launch"]), str(w["class"])) for w in campaign.witnesses)  # how many parts, in their order
        todo = []
        for launch in range(plan.launches):
            for link in plan.places:
                for part in plan.parts(link)[ended[launch, link] :]:
                    cells = [
                        cell
                        for visit in range(plan.visits_of(part))
                        for cell in part.aside or _shuffled(plan, plan.cells(part), launch, link, visit)
                        if visit >= done[launch, link, cell]
                    ]
                    if cells:
                        todo.append((launch, link, part, cells))
        # What is kept for refining is not given to the planned launches.
        kept = 1.0 if plan.precision is None else 0.75
        budgets_s = [plan.visit_budget_s(bool(part.aside)) * len(cells) for _, _, part, cells in todo]
        for i, (launch, link, part, cells) in enumerate(todo):
            if part.aside:  # where the time ends before the cells do, a further launch begins with the others
                cells.sort(key=lambda cell: self.visits[link, cell])
            yield launch, link, part, cells, kept * budgets_s[i] / sum(budgets_s[i:])

    def stop(self) -> dict[str, Any]:
        """Say whether the time ended the planned launches before their end."""
        left_out = self.plan.steps() - len(self.campaign().samples)
        return {"stopped_by": "time", "visits_left_out": left_out} if left_out > 0 else {}

    def refine(self) -> dict[str, Any]:
        """Launch again for the cells that are not known well enough, until all are or the time is spent; say which."""
        plan = self.plan
        assert plan.precision is not None
        while True:
            campaign = self.campaign()
            imprecise = self.unknown(campaign)
            left_s, startup_s = self.left_s(), self.startup_s(campaign)
            if not imprecise or left_s <= max(_LEAST_SHARE * plan.seconds, startup_s):
                return {
                    "precision": plan.precision,
                    "stopped_by": "time" if imprecise else "precision",
                    "imprecise_cells": sum(len(of_link) for of_link in imprecise.values()),
                }
            launch = 1 + max((int(sample["launch"]) for sample in campaign.samples), default=0)
            todo = [
                (link, part, cells * self.rounds(campaign, link, cells, startup_s))
                for link, of_link in imprecise.items()
                for part in plan.parts(link)
                if (cells := [cell for cell in of_link if cell[0] in part.operations])
            ]
            left = sum(len(cells) for *_, cells in todo)
            budget_s = min(0.8 * left_s / left, plan.visit_budget_s())
            for link, part, cells in todo:
                random.Random(f"{plan.seed}/{launch}/{link}").shuffle(cells)
                self.meter.say(f"{link}, {len(imprecise[link])} cells until ± {100 * plan.precision:g} %")
                self.launch(launch, link, part, cells, budget_s, self.left_s() * len(cells) / left)
                left -= len(cells)

    def startup_s(self, campaign: Campaign) -> float:
        """Return how long launches so far took beside their measuring, in the mean."""
        witnesses = campaign.witnesses
        return sum(w["seconds"] - w["measuring_s"] for w in witnesses) / len(witnesses) if witnesses else 0.0

    def rounds(self, campaign: Campaign, link: str, cells: Sequence[Cell], least_s: float) -> int:
        """Return how often a further launch visits cells so that it measures for about as long as it takes to start."""
        visits_s: dict[Cell, list[float]] = {cell: [] for cell in cells}
        for sample in campaign.samples:
            cell = str(sample["operation"]), int(sample["size_bytes"])
            if sample["class"] == link and cell in visits_s:
                visits_s[cell].append(2 * sum(sample["time_s"]))  # there and back
        expected_s = sum(sum(s) / len(s) if s else self.plan.visit_budget_s() for s in visits_s.values())
        wanted = math.ceil(least_s / expected_s) if expected_s > 0 else _MOST_VISITS
        return max(self.plan.visits, min(wanted, _MOST_VISITS // len(cells)))

    def unknown(self, campaign: Campaign) -> dict[str, list[Cell]]:
        """Return for each link class the cells known less well than asked, those that no launch came to included."""
        plan = self.plan
        assert plan.precision is not None
        imprecise = imprecise_cells(campaign, plan.statistic, plan.precision)
        visited = {(str(s["class"]), str(s["operation"]), int(s["size_bytes"])) for s in campaign.samples}
        unknown = {}
        for link in plan.places:
            cells = [cell for part in plan.parts(link) if not part.aside for cell in plan.cells(part)]
            if of_link := [cell for cell in cells if cell in imprecise.get(link, ()) or (link, *cell) not in visited]:
                unknown[link] = of_link
        return unknown

    def launch(
        self, launch: int, link: str, part: Part, cells: Sequence[Cell], budget_s: float, seconds: float
    ) -> None:
        """Start the ranks once and measure cells in the order given, for so many seconds at most."""
        arguments = [
            part.kernel,
            "--cells", ",".join(f"{operation}:{size}" for operation, size in cells),
            "--cpus", ",".join(map(str, part.cpus)),
            "--budget-s", f"{max(budget_s, 1e-6):.6f}",
            "--least", str(_LEAST_ASIDE if part.aside else _LEAST),
            "--most", str(_MOST),
            "--seconds", f"{max(seconds, _LEAST_LAUNCH_S):.6f}",
            *part.arguments,
        ]  # fmt: skip
        if part.kernel == "pingpong" and self.plan.background:
            # A pair of the load stops when it has kept the link busy for all the time there is.
            arguments += ["--load-seconds", f"{self.plan.seconds:.3f}"]
        tags = {"campaign": self.identity, "launch": launch, "class": link}
        taken, placements = 0, []
        begun_s = ended_s = time.monotonic()
        watch = Watch()
        doing = f"measuring {link} (launch {launch + 1})"
        try:
            for record in stream_kernel(self.mpi, arguments, len(part.cpus), part.shared_cpus, doing, part.host_of_rank):
                if record["record"] in ("start", "end"):
                    require_placement(record["placements"], link, part.cpus, part.host_of_rank)
                    placements.append(record["placements"])
                    begun_s = time.monotonic() if record["record"] == "start" else begun_s
                elif not record.get("verified", True):
                    raise RankwiseError(
                        f"{record['operation']} of {record['size_bytes']} B delivered wrong bytes over {link}: "
                        "do not trust this MPI; samples so far are kept"
                    )
                ended_s = time.monotonic()
                self.samples.append({**record, **tags})
                if record["record"] == "samples":
                    taken += 1
                    self.visits[link, (str(record["operation"]), int(record["size_bytes"]))] += 1
                    self.meter.advance()
        except UnusableEnvironmentError:
            raise
        except RankwiseError as error:
            raise RankwiseError(
                f"{error}; {taken} of {len(cells)} visits of this launch are in {self.samples.path}: go on with --resume"
            ) from None
        seen = {"measuring_s": ended_s - begun_s, **network_changes(*placements)}
        witness = {"record": "witness", **watch.witness(), **seen, **tags}
        self.spent_s += self.plan.spent_s(witness)
        self.samples.append(witness)


def _shuffled(plan: Plan, cells: Sequence[Cell], launch: int, link: str, visit: int) -> list[Cell]:
    shuffled = list(cells)
    random.Random(f"{plan.seed}/{launch}/{link}/{visit}").shuffle(shuffled)
    return shuffled
