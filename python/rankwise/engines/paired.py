"""The model held against itself: ingredients and exchanges by turns in one launch, so that the machine's drift cancels.

Of each launch the ingredients give predictions of its own exchanges; the error of a case is the median over launches. Odd and
even rounds, each with its own ingredients, tell the noise: the floor. Nothing is fitted to an exchange.

What exchanges are made of: which of it some cases need, and the machine that its times make.

An ingredient is timed as exchanges meet it: from a common start, blocks freshly written, carried out by the executor of
schedules. S(n): a step of n messages each way; hop(h, w): h steps of w messages, each forwarding what the last one brought;
P(h): there and back h times by sends that block; N: one message as a neighbourhood collective; copies and additions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.arrays import Floats
from rankwise.distributions import t_quantile
from rankwise.engines.judge import cost_of, judged, sizes_of
from rankwise.engines.machines import machine_of_profile
from rankwise.engines.placement import Placement
from rankwise.engines.run import Here
from rankwise.errors import RankwiseError
from rankwise.machine.profile import Profile
from rankwise.measure.cells import SMALLEST_TIME_S
from rankwise.measure.samples import SamplesFile
from rankwise.progress import SILENT, Meter
from rankwise.workloads.base import Case, Span, joined
from rankwise.workloads.comparison import Paired, PairedSession

_BLOCKING = ("send", "ssend")
_STARTS = (1, 2, 4)  # messages each way of a first step
_WIDTHS = (1, 2)  # of later ones
_LEAST_S = 1e-9  # a difference of two times is at least this
_NO_BOUND = 1e30  # bytes/s

Value = Callable[[str], float]


@dataclass(frozen=True)
class Plan:
    """The ingredients of some cases on one placement: sizes in bytes by mode, and two ranks for each link class."""

    sizes: Mapping[str, Sequence[int]]
    pairs: Mapping[str, tuple[int, int]]
    collective: bool
    ranks: int

    @classmethod
    def of(cls, cases: Sequence[Case], placement: _core.Placement) -> Plan:
        """Return what the cases need."""
        sizes: dict[str, set[int]] = {}
        for case in cases:
            program = case.program()
            found = sizes_of(judged(program, placement).message_blocks, case.block_bytes or 0)
            sizes.setdefault(program.mode, set()).update(found)
        pairs: dict[str, tuple[int, int]] = {}
        for a in range(placement.ranks):
            for b in range(a + 1, placement.ranks):
                pairs.setdefault(placement.link_between(a, b), (a, b))
        return cls(
            {mode: sorted(of_mode) for mode, of_mode in sizes.items()}, pairs,
            any(case.keys().get("algorithm") == "neighbor-alltoall" for case in cases), placement.ranks,
        )  # fmt: skip

    def jobs(self) -> list[str]:
        """Return all ingredients as the kernel reads them."""
        asked: dict[str, None] = {}

        def note(job: str) -> float:
            asked[job] = None
            return 1.0

        self._links(note)
        self._work(note)
        return list(asked)

    def warm_jobs(self, profile: Profile) -> dict[str, float]:
        """Return the profile's own ping-pongs at the sizes of the cases, with the time that each took by the profile."""
        every = sorted({size for sizes in self.sizes.values() for size in sizes})
        found: dict[str, float] = {}
        for name, (a, b) in self.pairs.items():
            if (link := profile.links.get(name)) is None:
                continue
            curves = {"send": link.send, **{way: link.variants[way] for way in ("ssend", "exchange") if way in link.variants}}
            found |= {f"+warm:{way}:{size}:{a}/{b}": curve.time_s(size) for way, curve in curves.items() for size in every}
        return found

    def fresh(self, profile: Profile, value: Value) -> list[float]:
        """Return how many times a warm ping-pong what exchanges meet takes: by link, way of sending and size."""
        known = self.warm_jobs(profile)
        ratios = []
        for pair in self.pairs.values():
            for mode, sizes in self.sizes.items():
                for size in sizes:
                    warm = f"+warm:{mode if mode in _BLOCKING else 'exchange'}:{size}:{pair[0]}/{pair[1]}"
                    if warm in known:
                        steps = self._steps(mode, size, pair, value)
                        ratios.append(steps["chain" if mode in _BLOCKING else "start-1"] / value(warm))
        return ratios

    def profile(self, profile: Profile, value: Value) -> Profile:
        """Return the profile with the steps that ``value`` (job → seconds) gives; links that it lacks are like its first."""
        any_link = next(iter(profile.links.values()))
        links = {name: replace(profile.links.get(name, any_link), steps=steps) for name, steps in self._links(value).items()}
        return replace(profile, links=links, work=self._work(value))

    def machine(self, profile: Profile, value: Value) -> _core.Machine:
        """Return the machine of these steps.

        Nothing of the profile counts then but what ranks share, and that only among more than two ranks: all that two
        share is in their ingredients.
        """
        shared = profile.shared.to_dict() if self.ranks > 2 else {"card": {"bytes_per_s": _NO_BOUND}}
        return machine_of_profile(self.profile(profile, value), shared=shared)

    def _links(self, value: Value) -> dict[str, dict[str, dict[str, list[list[float]]]]]:
        """Return the curves of the steps of each link class and mode."""
        links: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
        for name, pair in self.pairs.items():
            for mode, sizes in self.sizes.items():
                curves = links.setdefault(name, {}).setdefault(mode, {})
                for size in sizes:
                    for key, time_s in self._steps(mode, size, pair, value).items():
                        curves.setdefault(key, []).append([size, time_s])
        return links

    def _steps(self, mode: str, size: int, pair: tuple[int, int], value: Value) -> dict[str, float]:
        def job(kind: str, hops: int, width: int) -> float:
            return value(f"+{kind}:{mode}:{hops}:{width}:{size}:{pair[0]}/{pair[1]}")

        start = {n: job("step", 1, n) for n in _STARTS}
        steps = {f"start-{n}": time_s for n, time_s in start.items()}
        for width in _WIDTHS:
            steps[f"later-{width}"] = max(_LEAST_S, (job("step", 3, width) - start[width]) / 2)
        if mode in _BLOCKING:
            once, thrice = job("chain", 1, 1), job("chain", 3, 1)
            steps["chain"] = max(_LEAST_S, (thrice - once) / 4)  # one way
            steps["chain-start"] = max(_LEAST_S, once - steps["chain"])
        if self.collective and mode == "isend":
            steps["collective"] = max(0.0, job("collective", 1, 1) - start[1])
        return steps

    def _work(self, value: Value) -> dict[str, list[list[float]]]:
        """Return the curves of copying and of adding a block."""
        a, b = next(iter(self.pairs.values()), (0, 0))
        every = sorted({size for sizes in self.sizes.values() for size in sizes}) if a != b else []

        def each_s(kind: str, size: int) -> float:
            once, thrice = (value(f"+{kind}:isend:1:{width}:{size}:{a}/{b}") for width in (1, 3))
            return max(0.0, (thrice - once) / 2)

        return {kind: [[size, each_s(kind, size)] for size in every] for kind in ("copy", "add") if every}


LAUNCHES = 10
ROUNDS = 5
SMALLEST = 0.2  # smallest-20, as in statistics.py
MOST_FLOOR = 0.15  # of a launch that counts
LEAST_LAUNCHES = 3
LEAST_ROWS = 20  # of other groups, for an interval
_JOB_S = 0.002  # of a visit, where 0.3 s are to be spent on a case
_USUAL_S = 0.3
_LEAST_TOTAL_S, _LEAST_LAUNCH_S = 15.0, 1.5
_START_S = 0.5  # until ranks run, and after they have
_SLACK = 1.4  # beyond the time asked for, before jobs and launches are left out


@dataclass(frozen=True)
class Launch:
    """What one launch gave: of each job its samples in seconds, round by round, and whether every byte was right."""

    samples_s: Mapping[str, Sequence[Floats]]
    verified: Mapping[str, bool]

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]], timer_cost_s: float) -> Launch:
        """Make it of a kernel's ``samples`` records; the timer's cost is subtracted from each time."""
        samples = {}
        for record in records:
            times_s = np.maximum(np.asarray(record["time_s"], dtype=np.float64) - timer_cost_s, SMALLEST_TIME_S)
            samples[str(record["item"])] = np.split(times_s, np.cumsum(record["rounds"])[:-1])
        return cls(samples, {str(record["item"]): bool(record["verified"]) for record in records})

    def value(self, first: int = 0, step: int = 1, share: float = SMALLEST) -> Value:
        """Return the mean of the smallest fifth (or another share) of a job's samples over every ``step``-th round.

        Each round counts alike, however many samples it has: a whole round can fall into a slow moment. The function raises
        KeyError for a job that was not visited.
        """

        def of(job: str) -> float:
            rounds = self.samples_s[job][first::step]
            if not rounds:
                raise KeyError(job)
            weights = np.concatenate([np.full(times.size, 1 / (times.size * len(rounds))) for times in rounds])
            times_s = np.concatenate(rounds)
            order = np.argsort(times_s)
            before = np.cumsum(weights[order]) - weights[order]
            used = np.clip(share - before, 0.0, weights[order])
            return float(np.sum(used * times_s[order]) / np.sum(used))

        return of

    def median(self, job: str) -> float:
        """Return the median of a job's samples."""
        return float(np.median(np.concatenate(self.samples_s[job])))


@dataclass(frozen=True)
class Judged:
    """One launch judged: of each case measured / predicted, of odd rounds over
    that of even ones, and the median of its time."""

    ratios: Floats
    odd_over_even: Floats
    times_s: Floats
    drift: float | None
    fresh: float | None

    @property
    def floor(self) -> float:
        return float(np.mean(np.abs(self.odd_over_even - 1)))


def judge(launch: Launch, profile: Profile, cases: Sequence[Case], placement: _core.Placement) -> Judged | None:
    """Judge one launch; None where time was up before every job had two rounds. Raises InputError as a prediction does."""
    plan = Plan.of(cases, placement)

    def times(value: Value) -> Floats:
        return np.array([value(str(case.item)) for case in cases])

    def ratios(value: Value) -> Floats:
        machine = plan.machine(profile, value)
        predicted_s = [cost_of(judged(case.program(), placement), case.block_bytes or 0, machine).time_s for case in cases]
        return np.asarray(times(value) / np.array(predicted_s), dtype=np.float64)

    try:
        odd, even, of_all = ratios(launch.value(0, 2)), ratios(launch.value(1, 2)), ratios(launch.value())
        fresh = _median(plan.fresh(profile, launch.value()))
    except KeyError:
        return None
    warm = plan.warm_jobs(profile)
    drifts = [launch.median(job) / then_s for job, then_s in warm.items() if job in launch.samples_s]
    return Judged(of_all, odd / even, times(launch.median), _median(drifts), fresh)


def _median(values: Iterable[float | None]) -> float | None:
    """Return the median of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def sum_up(judgements: Sequence[Judged | None], groups: Sequence[str]) -> tuple[PairedSession, list[Paired]]:
    """Sum launches up, and each case; ``groups`` names the algorithm and mode of each case.

    Launches whose floor is above 15 % are left out; with fewer than three left all is unclear. A case's interval is that of
    the other groups' errors (conformal: the quantile ⌈.95 (n + 1)⌉ of n, which fewer than 20 cannot give).
    """
    whole = [one for one in judgements if one is not None]
    kept = [one for one in whole if one.floor <= MOST_FLOOR]
    unclear = len(kept) < LEAST_LAUNCHES
    used = whole if unclear else kept
    session = PairedSession(
        launches=len(kept),
        left_out=len(judgements) - len(kept),
        floor=float(np.mean([one.floor for one in used])) if used else None,
        drift=_median(one.drift for one in whole),
        fresh=_median(one.fresh for one in used),
        unclear=unclear,
    )
    if not used:
        return session, [Paired(group, None, None, None, True) for group in groups]
    logs = np.median([-np.log(one.ratios) for one in used], axis=0)
    floors = np.mean([np.abs(one.odd_over_even - 1) for one in used], axis=0)
    sizes = {group: np.sort([abs(log) for log, other in zip(logs, groups, strict=True) if other != group]) for group in groups}

    def half_width(group: str) -> float | None:
        others = sizes[group]
        rank = math.ceil(0.95 * (len(others) + 1))
        return float(others[rank - 1]) if len(others) >= LEAST_ROWS else None

    return session, [
        Paired(group, float(np.expm1(log)), float(floor), half_width(group), unclear)
        for log, floor, group in zip(logs, floors, groups, strict=True)
    ]


def times_of(judgements: Sequence[Judged | None]) -> list[Span]:
    """Return the time of each case over launches that were judged: mean of their logs, interval by Student's t."""
    logs = np.log([one.times_s for one in judgements if one is not None])
    if logs.size == 0:
        return []
    mean, count = logs.mean(axis=0), len(logs)
    half = (
        t_quantile(0.975, count - 1) * logs.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else np.full_like(mean, np.inf)
    )
    return [
        Span(*map(float, np.exp((m, m - h, m + h)))) if np.isfinite(h) else Span.point(float(np.exp(m)))
        for m, h in zip(mean, half, strict=True)
    ]


@dataclass(frozen=True)
class PairedRunner:
    """Runs exchanges and their ingredients by turns, launch after launch, and judges each launch against itself."""

    here: Here
    samples_path: Path
    seconds_per_case: float = _USUAL_S
    launches: int = LAUNCHES
    meter: Meter = SILENT

    def rows(
        self, profile: Profile, cases: Sequence[Case], placement: Placement
    ) -> tuple[PairedSession, list[Paired], list[tuple[Span, bool, int]]]:
        """Return the session, each case's judgement, and its time with whether every byte was right and how many samples.

        Whatever happens, the samples so far are in the samples file. Raises RankwiseError and its kinds.
        """
        groups: dict[object, list[int]] = {}
        for place, case in enumerate(cases):
            groups.setdefault(case.together, []).append(place)
        order = [place for places in groups.values() for place in places]
        total_s = max(_LEAST_TOTAL_S, _SLACK * self.seconds_per_case * len(cases))
        until_s = time.monotonic() + total_s
        judgements: list[Judged | None] = []
        launched: list[dict[int, Launch]] = []
        with (
            SamplesFile(self.samples_path) as samples,
            samples.campaign(workload=cases[0].workload, kernel="paired") as identity,
        ):
            for number in range(1, self.launches + 1):
                left_s = until_s - time.monotonic()
                if number > 1 and left_s < _LEAST_LAUNCH_S:
                    break
                parts: list[Judged | None] = []
                of_case: dict[int, Launch] = {}
                for places in groups.values():
                    share = left_s / (self.launches + 1 - number) * len(places) / len(cases) - _START_S
                    asked = [cases[place] for place in places]
                    on = placement.of(asked[0])
                    launch = self._launch(profile, asked, on, max(_LEAST_LAUNCH_S, share), number, samples, identity)
                    parts.append(judge(launch, profile, asked, on))
                    of_case |= dict.fromkeys(places, launch)
                judgements.append(joined_judgements(parts))
                launched.append(of_case)
                self.meter.advance()
        session, judged_rows = sum_up(judgements, [cases[place].way for place in order])
        spans = times_of(judgements)
        facts = {}
        for at, place in enumerate(order):
            of_place = [launch[place] for launch in launched]
            right = all(all(launch.verified.values()) for launch in of_place)
            rounds_s = [times_s for launch in of_place for times_s in launch.samples_s.get(str(cases[place].item), ())]
            if not rounds_s:
                raise RankwiseError(
                    f"the time was up before {str(cases[place].item)} was run once: the machine is too busy (samples so far "
                    f"are in {self.samples_path}); give more --seconds, or --unpaired"
                )
            all_s = np.concatenate(rounds_s)
            facts[place] = (judged_rows[at], (spans[at] if spans else Span.of(all_s), right, all_s.size))
        rows = [facts[place][0] for place in range(len(cases))]
        return replace(session, rows=rows), rows, [facts[place][1] for place in range(len(cases))]

    def _launch(
        self, profile: Profile, cases: Sequence[Case], placement: _core.Placement, seconds: float, number: int,
        samples: SamplesFile, identity: str,
    ) -> Launch:  # fmt: skip
        start = self.here.start(cases[0])
        plan = Plan.of(cases, placement)
        arguments = cases[0].arguments([case.item for case in cases], start.nodes, simulated=False)
        at = arguments.index("--cases")
        asked = arguments[at + 1].split(",")
        names = dict(zip(asked, (str(case.item) for case in cases), strict=True))
        jobs = [*asked, *plan.jobs(), *plan.warm_jobs(profile)]
        job_s = _JOB_S * self.seconds_per_case / _USUAL_S
        call = [
            "paired", *arguments[:at], *arguments[at + 2 :], "--jobs", joined(jobs), "--seed", str(number), "--rounds",
            str(ROUNDS),
            "--job-s", f"{job_s:.6f}", "--seconds", f"{seconds:.3f}",
        ]  # fmt: skip
        records, timer_cost_s = [], 0.0
        for record in self.here.sampled(start, call, samples, campaign=identity, launch=number):
            if record["record"] == "start":
                timer_cost_s = float(record["timer_cost_s"])
            elif record["record"] == "samples":
                records.append({**record, "item": names.get(record["item"], record["item"])})
        return Launch.of(records, timer_cost_s)


def joined_judgements(parts: Sequence[Judged | None]) -> Judged | None:
    """Put launches of several kinds that stand for one together; None where one of them was cut off."""
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None
    return Judged(
        np.concatenate([part.ratios for part in whole]),
        np.concatenate([part.odd_over_even for part in whole]),
        np.concatenate([part.times_s for part in whole]),
        _median(part.drift for part in whole),
        _median(part.fresh for part in whole),
    )
