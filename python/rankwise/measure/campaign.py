"""The measurement: what is measured, in which order, and how it goes on after an interruption.

A measurement measures cells (an operation and a message size) for each link class that the machine offers, in many short
launches (turns.py). Within a launch every cell is visited once, in another order each time, so that a disturbance falls
neither on one cell nor on neighbouring sizes. Raw samples go to the samples file as they come.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.mpi import Mpi, stream_kernel
from rankwise.launch.probe import require_placement
from rankwise.machine.profile import OTHER_NODE
from rankwise.measure.cells import imprecise_cells
from rankwise.measure.places import Places, moved_to
from rankwise.measure.samples import Campaign, SamplesFile, now, read_campaigns, require_one_machine
from rankwise.measure.turns import LEAST_LAUNCHES, PATIENCE_S, Progress, Turn, left_of, next_of
from rankwise.measure.witness import Watch, network_changes, tcp_of
from rankwise.measure.workloads import (
    COMPLETE,
    OF_ALL_HOSTS,
    Cell,
    Part,
    fitted_stream,
    largest_bytes,
    limits_words,
    parts_of,
)
from rankwise.progress import SILENT, Meter
from rankwise.records import Record, key, record

if TYPE_CHECKING:
    from typing import Self

_TELLING_BYTES = 4096  # of a message whose time tells how long a byte takes
_LOOK_EVERY = 5  # launches: whether all is known precisely


@record
class Plan(Record):
    """What a measurement measures: where for each link class, which cells, and the time to spend."""

    places: Mapping[str, Places] = key()
    sizes: tuple[int, ...] = key()
    what: str = key(default="pingpong")
    background: int = key(default=0)  # pairs that keep the link busy for what is measured under load
    launches: int | None = key(default=None)  # of each part; None: as many as the time holds
    seconds: float = key(default=15.0)  # at most; starting the ranks of the launches that there are at least is not counted
    seed: int = key(default=1)
    precision: float | None = key(default=None)  # stop when every cell is known to ± this share
    statistic: str = key(default="median")  # of which
    pairs_share: float = key(default=0.25)  # of the time, for pairs at once with a ping-pong; 0: none
    spread_s: float = key(default=0.0)  # of waiting between launches, besides the time to measure

    def parts(self, link: str) -> list[Part]:
        """Return what is measured over one link class, each part by ranks of its own."""
        return parts_of(self.what, self.places[link], self.background, self.pairs_share > 0)

    def cells(self, part: Part) -> list[Cell]:
        """Return the cells of one part: its own, or every operation at every size that suits it."""
        return list(part.aside) or [
            (operation, size)
            for operation in part.operations
            for size in self.sizes
            if size <= (largest_bytes(operation) or size)
        ]

    def cell_count(self, aside: bool = False) -> int:
        """Return how many cells there are of all link classes: of those whose precision counts, or of those aside."""
        parts = (part for link in self.places for part in self.parts(link))
        return sum(len(self.cells(part)) for part in parts if bool(part.aside) == aside)

    def progresses(self) -> list[Progress]:
        """Return all parts as they are before the first launch; link classes have equal shares of the time."""
        found = []
        for link, places in self.places.items():
            parts = self.parts(link)
            kernels = Counter(part.kernel for part in parts if part.aside)  # each has as much time, whatever parts it has
            for index, part in enumerate(parts):
                of_link = (
                    self.pairs_share / len(kernels) / kernels[part.kernel]
                    if part.aside
                    else (1 - self.pairs_share * bool(kernels)) / (len(parts) - kernels.total())
                )
                wanted = max(LEAST_LAUNCHES, (len(places.hosts) + 1) // 2)
                cells = tuple(self.cells(part))
                found.append(Progress(link, index, part, cells, of_link / len(self.places), self.launches, wanted))
        return found

    @classmethod
    def from_dict(cls, value: Any, what: str = "plan") -> Self:
        """Read back a plan; an old one had no pairs at once. Raises InputError when it is not one."""
        try:
            return super().from_dict({"pairs_share": 0.0, **value}, what)
        except KeyError as error:
            raise InputError(f"the samples file's plan lacks {error}: measure again without --resume") from None
        except (ValueError, TypeError) as error:
            raise InputError(f"the samples file's plan cannot be read ({error}): measure again without --resume") from None


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
    """Run a measurement, or with ``resume`` the rest of the last one in the file; return it as read back.

    ``hosts`` are the nodes at hand now: a resumed measurement goes on between those when it has lost its own.

    Raises RankwiseError when a rank dies, InputError when there is nothing to resume, and leaves all samples taken so
    far in the file whatever happens.
    """
    if resume:
        campaign = last_campaign(path)
        plan = Plan.from_dict(campaign.plan)
        identity = campaign.id
        if campaign.complete:
            return campaign
        plan = replace(plan, places=moved_to(plan.places, hosts, plan.what in OF_ALL_HOSTS))
    if path.exists() and machine:
        require_one_machine([*read_campaigns(path), Campaign({"machine": dict(machine)}, [], [])], path)
    with SamplesFile(path) as samples:
        if not resume:
            identity = samples.begin(plan=plan.to_dict(), machine=dict(machine))["campaign"]
        else:
            between = {link: places.hosts for link, places in plan.places.items() if places.hosts}
            samples.append({"record": "resumed", "campaign": identity, "at": now(), "hosts": between})
        run = _Run(mpi, plan, identity, samples, meter, plan.progresses())
        run.take_up(last_campaign(path))
        stop = run.to_the_end()
        samples.complete(identity, **stop)
    return last_campaign(path)


def last_campaign(path: Path) -> Campaign:
    """Return the newest measurement of a samples file that has a plan. Raises InputError when there is none."""
    campaigns = [campaign for campaign in read_campaigns(path) if "plan" in campaign.head]
    if not campaigns:
        raise InputError(f"{path} holds no measurement: measure without --resume first")
    require_one_machine(campaigns, path)
    return campaigns[-1]


@dataclass
class _Run:
    """A measurement under way."""

    mpi: Mpi
    plan: Plan
    identity: str
    samples: SamplesFile
    meter: Meter
    progresses: list[Progress]
    waited_s: float = 0.0
    shown: int = 0  # seconds, on the meter
    last_seen: dict[str, Any] = field(default_factory=dict)  # of each host, the last reading of where a rank sits
    byte_s: dict[str, float] = field(default_factory=dict)  # of each link class, by its first launch
    line: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))  # time of a plain send by size

    def take_up(self, campaign: Campaign) -> None:
        """Take in what an interrupted measurement has done; a launch that was cut off lacks only what it did not visit."""
        of_launch: dict[tuple[str, int], int] = defaultdict(int)  # witnesses: in the order of parts where they name none
        for witness in campaign.witnesses:
            link, launch = str(witness["class"]), int(witness["launch"])
            index = int(witness.get("part", of_launch[link, launch]))
            of_launch[link, launch] += 1
            for each in self.progresses:
                if (each.link, each.index) == (link, index):
                    each.ended(witness)
        for sample in campaign.samples:
            if (progress := self._progress_of(sample)) is None:
                continue
            cell = self.seen(progress, sample)
            if int(sample["launch"]) >= progress.launches:
                progress.cut.add(cell)

    def _progress_of(self, sample: Mapping[str, Any]) -> Progress | None:
        of_link = [progress for progress in self.progresses if progress.link == sample["class"]]
        if "part" in sample:
            return next((progress for progress in of_link if progress.index == sample["part"]), None)
        return next((progress for progress in of_link if sample["operation"] in progress.part.operations), None)

    def seen(self, progress: Progress, sample: Mapping[str, Any]) -> Cell:
        """Take in a visit; return its cell."""
        cell = str(sample["operation"]), int(sample["size_bytes"])
        progress.note(sample, cell)
        if cell[0] == "send" and int(sample["launch"]) == 0:
            self.line[progress.link][cell[1]] = min(sample["time_s"]) / float(sample.get("parts", 2))
        return cell

    def settle(self, link: str) -> float:
        """Return how long a byte takes over a link class, by the plain sends of its first launch; 0 before it.

        Streams of pairs at once then get windows that such a link can carry.
        """
        line = self.line[link]
        if link not in self.byte_s and max(line, default=0) >= _TELLING_BYTES:
            small, large = min(line), max(line)
            self.byte_s[link] = max(0.0, (line[large] - line[small]) / max(1, large - small))
        byte_s = self.byte_s.get(link, 0.0)
        for progress in self.progresses:
            if progress.link == link and progress.aside:
                fitted = [fitted_stream(cell, byte_s, link == OTHER_NODE) for cell in self.plan.cells(progress.part)]
                progress.cells = tuple(dict.fromkeys(cell for cell in fitted if cell is not None))
        return byte_s

    def to_the_end(self) -> dict[str, Any]:
        """Launch until all parts are done; say what stopped them."""
        plan, begun_s = self.plan, time.monotonic()
        first = True
        while (following := next_of(self.progresses, plan.seconds)) is not None:
            progress, left_s = following
            byte_s = self.settle(progress.link) if progress.index or progress.launches else 0.0
            turn = progress.turn(left_s, byte_s, plan.seed)
            if not first:
                self.wait(left_s, turn)
            first = False
            self.meter.say(f"{progress.link}, launch {progress.launches + 1}")
            self.launch(progress, turn)
            self.look(progress)
            spent = min(int(sum(p.spent_s for p in self.progresses)), int(plan.seconds))
            self.meter.advance(spent - self.shown)
            self.shown = spent
        return self.stop(time.monotonic() - begun_s)

    def wait(self, left_s: float, turn: Turn) -> None:
        """Wait between launches, for a random time, so that what there is to wait is spread over all launches ahead."""
        left_to_wait_s = self.plan.spread_s - self.waited_s
        if left_to_wait_s <= 0:
            return
        each_s = max(turn.seconds, 0.1)
        ahead = max(1.0, sum(max(0.0, own_s) for own_s in left_of(self.progresses, self.plan.seconds)) / each_s)
        seconds = min(left_to_wait_s, random.uniform(0, 2) * left_to_wait_s / ahead)
        self.meter.say(f"waiting for {seconds:.0f} s between launches")
        time.sleep(seconds)
        self.waited_s += seconds

    def look(self, progress: Progress) -> None:
        """See every few launches whether all cells of a part are known as precisely as asked."""
        if self.plan.precision is None or progress.aside:
            return
        if progress.launches >= LEAST_LAUNCHES and progress.launches % _LOOK_EVERY == 0:
            progress.precise = not self.unknown(progress, last_campaign(self.samples.path))

    def unknown(self, progress: Progress, campaign: Campaign) -> list[Cell]:
        """Return the cells of a part that are known less well than asked, those that no launch came to included."""
        assert self.plan.precision is not None
        imprecise = imprecise_cells(campaign, progress.link, progress.cells, self.plan.statistic, self.plan.precision)
        return [cell for cell in progress.cells if cell in imprecise]

    def stop(self, lasted_s: float) -> dict[str, Any]:
        """Say how many launches there were, over what time, and why there are no more."""
        plan, campaign = self.plan, last_campaign(self.samples.path)
        counted = [progress for progress in self.progresses if not progress.aside] or self.progresses
        before = [progress for progress in counted if not progress.precise]
        left_out = sum(progress.left_out() for progress in counted)
        stop: dict[str, Any] = {
            "launches": min(progress.launches for progress in counted),
            "span_s": max(lasted_s, campaign.span_s) if campaign.was_resumed else lasted_s,
        }
        if plan.precision is not None:
            imprecise = sum(len(self.unknown(progress, campaign)) for progress in before)
            stop |= {
                "precision": plan.precision,
                "stopped_by": "time" if imprecise else "precision",
                "imprecise_cells": imprecise,
            }
        if left_out:
            stop |= {"stopped_by": "time", "visits_left_out": left_out}
        return stop

    def launch(self, progress: Progress, turn: Turn) -> None:
        """Start the ranks once and measure cells in the order given, for so many seconds at most."""
        link, launch, part = progress.link, progress.launches, progress.part
        if len(part.hosts) == 2:
            part = replace(part, hosts=self.plan.places[link].hosts_of_launch(launch))
        arguments = [
            part.kernel,
            "--cells", ",".join(f"{operation}:{size}" for operation, size in turn.cells),
            "--cpus", ",".join(map(str, part.cpus)),
            "--budget-s", f"{max(turn.budget_s, 1e-6):.6f}",
            "--least", "1",
            "--most", str(progress.most),
            "--seconds", f"{turn.seconds:.6f}",
            *(("--needed", str(turn.needed), "--patience-s", f"{PATIENCE_S:g}") if turn.needed else ()),
        ]  # fmt: skip
        if part.kernel == "pingpong" and self.plan.what in COMPLETE and launch == 0:
            arguments += limits_words(self.plan.seconds)
        if part.kernel == "pingpong" and self.plan.background:
            # A pair of the load stops when it has kept the link busy for all the time there is.
            arguments += ["--load-seconds", f"{self.plan.seconds:.3f}"]
        tags: dict[str, Any] = {"campaign": self.identity, "launch": launch, "class": link, "part": progress.index}
        if part.hosts:
            tags["hosts"] = list(part.hosts)
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
                        "this MPI is unreliable; samples so far are kept"
                    )
                ended_s = time.monotonic()
                record = {**record, **tags}
                self.samples.append(record)
                if record["record"] == "samples":
                    taken += 1
                    self.seen(progress, record)
        except UnusableEnvironmentError:
            raise
        except RankwiseError as error:
            raise RankwiseError(
                f"{error}; {taken} of {len(turn.cells)} sample batches are in {self.samples.path}: go on with --resume"
            ) from None
        # A link that was down between two launches was down, too.
        seen = {
            "measuring_s": ended_s - begun_s,
            **network_changes(placements[0], placements[-1], list(self.last_seen.values())),
            **({"tcp": tcp} if (tcp := tcp_of(placements[-1])) else {}),
        }
        self.last_seen.update({str(placement["host"]): placement for placement in placements[-1]})
        witness = {"record": "witness", **watch.witness(), **seen, **tags}
        self.samples.append(witness)
        progress.ended(witness)
