"""What the model of the 3-D FFT is made of, timed on demand and kept: shortened transforms of the very lengths asked for.

The speed of an FFT depends on the factors of its lengths, so nothing is interpolated. What a launch gave is kept in a file of
this machine (RANKWISE_FFT_KNOWLEDGE, else in the user's cache), next to what FFTW has learnt while it planned; the same
question is answered from it later. Between launches transforms differ more than within one (memory is placed again), and on a
machine that others use between minutes, so that several launches are made, by turns with those of other lengths, and one more
when the question comes again later; the interval is that in which a further launch should lie.

Calibrating is the other way: memory bandwidth, the phases' rates by rank count, the constant A of Eq. 2, put into a profile.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Floats
from rankwise.cache import knowledge_folder, wisdom_arguments
from rankwise.distributions import t_quantile
from rankwise.engines.placement import Placement
from rankwise.engines.run import Here, Runner
from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.files import load_json, write_whole
from rankwise.launch.mpi import Mpi, result_of, stream_kernel
from rankwise.launch.process import Child
from rankwise.launch.under_way import require_seconds, under_way
from rankwise.machine.fft_rates import CountedA, FftRates, RankRates, RatePoint
from rankwise.machine.profile import Profile, open_profile
from rankwise.measure.samples import now
from rankwise.models.fft3d import Transform, shuffle_time
from rankwise.progress import Meter, tell
from rankwise.reading import DOES_NOT_FIT
from rankwise.workloads.base import Case, Pricer, Row, Span
from rankwise.workloads.fft3d import fft_grid
from rankwise.workloads.fft3d_case import CALIBRATED, METHODS, PHASES, TIMED, FftCase, Ingredients, exchanges_of, fitting_grids

DEFAULT_SIZES = (40, 80, 160, 288)
_TRIAD_BYTES = 64 << 20  # of each of three arrays: beyond any cache that a few ranks share
_LINE_BYTES = 64
_WORD_BYTES = 16
# Lengths whose A is counted: many short lines, as the transform's, and one long line, as the paper's.
_COUNTED = ((96, 2048), (320, 1024), (1 << 18, 1))
_COUNTED_CACHE_BYTES = 1 << 20  # the second level of a present core, and what the cache simulator is given
LAUNCHES = 3
MOST_LAUNCHES = 6  # with those that later questions add
_LATER_S = 60.0  # a machine that others use differs from minute to minute, which launches one after the other do not see
SECONDS = 0.5  # a launch, planning apart
_TERMS = (*PHASES, "imbalance")
_MOST_KEPT = 40  # samples of a launch
_PRIOR = 4  # launches that the spread of all lengths counts for in that of one
_BETWEEN_MINUTES = 0.1  # standard deviation in logs that is expected between minutes, and the minutes that it counts for
_PRIOR_MINUTES = 2
_LEAST_WIDTH = 0.03  # what transforms of one launch repeat to
_MOST_TIMED = 5  # candidates for one question, those whose exchanges take least


@dataclass(frozen=True)
class Launch:
    """What one launch gave: of each shortened transform each phase and the imbalance, in seconds."""

    created: str
    library: str
    times_s: Mapping[str, Sequence[float]]
    disturbed: bool = False  # other programs had the processors meanwhile

    @property
    def totals_s(self) -> Floats:
        return np.asarray(np.sum([self.times_s[name] for name in _TERMS], axis=0), dtype=np.float64)

    @property
    def median_s(self) -> float:
        return float(np.median(self.totals_s))


class Lengths:
    """The kept launches of a machine, by what was timed."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.launches: dict[str, list[Launch]] = {}
        if path is None or not path.is_file():
            return
        try:
            record = load_json(path.read_bytes())
            self.launches = {key: [Launch(**launch) for launch in of_key] for key, of_key in record["lengths"].items()}
            # What cannot be added up was not written by us.
            for launch in (one for of_key in self.launches.values() for one in of_key):
                if launch.totals_s.ndim != 1 or not (np.isfinite(launch.median_s) and launch.median_s > 0):
                    raise ValueError("no time")
                if datetime.fromisoformat(launch.created).tzinfo is None:
                    raise ValueError("a time without its zone")
        except (OSError, *DOES_NOT_FIT) as error:
            tell(f"note: {path} is not what was saved there ({error}): timed again")
            self.launches = {}

    def add(self, key: str, launch: Launch) -> None:
        self.launches.setdefault(key, []).append(launch)
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = {key: [vars(launch) for launch in of_key] for key, of_key in self.launches.items()}
        write_whole(self._path, json.dumps({"schema": 1, "lengths": kept}) + "\n")

    def is_due(self, key: str, at: datetime) -> bool:
        """Tell whether one launch more would say what the machine differs by between minutes: few are kept, none is recent."""
        of_key = self.launches.get(key, ())
        ages_s = [(at - datetime.fromisoformat(launch.created)).total_seconds() for launch in of_key]
        return 0 < len(of_key) < MOST_LAUNCHES and min(ages_s) > _LATER_S

    def further(self, key: str) -> float | None:
        """Return how far from the mean of a length's launches a further one lies, in logs, with 95 %; None: nothing is known.

        Launches that followed each other differ by where memory lies, launches of other minutes by what else the machine does.
        Few launches say little of their own spread, and not all lengths scatter alike: what those of all lengths do on average
        counts as so many launches more (Smyth, Stat. Appl. Genet. Mol. Biol. 3(1), 2004). What minutes differ by is expected
        until it is known.
        """
        logs = {name: _by_minutes(of_key) for name, of_key in self.launches.items()}
        squares = {name: sum(float(np.sum((turn - turn.mean()) ** 2)) for turn in turns) for name, turns in logs.items()}
        freedom = {name: sum(len(turn) - 1 for turn in turns) for name, turns in logs.items()}
        prior = min(_PRIOR, sum(freedom.values()) - freedom[key])
        if prior + freedom[key] == 0:
            return None
        mean = sum(squares.values()) / sum(freedom.values())
        within = (prior * mean + squares[key]) / (prior + freedom[key])
        # All lengths share their minutes, so that many of them know no more of these than one.
        means = [np.array([turn.mean() for turn in turns]) for turns in logs.values() if len(turns) > 1]
        known = max((len(of_key) - 1 for of_key in means), default=0)
        seen = sum(float(np.var(of_key, ddof=1)) for of_key in means) / max(1, len(means))
        between = (_PRIOR_MINUTES * _BETWEEN_MINUTES**2 + known * seen) / (_PRIOR_MINUTES + known)
        turns = len(logs[key])
        of_mean = sum(1 / len(turn) for turn in logs[key]) / turns**2
        return math.sqrt(
            t_quantile(0.975, prior + freedom[key]) ** 2 * within * (1 + of_mean)
            + t_quantile(0.975, _PRIOR + _PRIOR_MINUTES + known) ** 2 * between * (1 + 1 / turns)
        )

    def ingredients(self, key: str) -> Ingredients:
        """Return the terms of a transform and the interval of a further launch's."""
        launches = self.launches[key]
        middle = math.exp(float(np.mean([turn.mean() for turn in _by_minutes(launches)])))
        parts = {name: float(np.mean([np.median(launch.times_s[name]) for launch in launches])) for name in _TERMS}
        scale = middle / sum(parts.values())
        rng = np.random.default_rng(0)
        within = np.concatenate([
            np.log(np.median(rng.choice(launch.totals_s, (500, len(launch.totals_s))), axis=1) / middle) for launch in launches
        ])  # fmt: skip
        low, high = np.quantile(within, (0.025, 0.975))
        further = self.further(key) or math.log(1.3)
        width = math.log1p(_LEAST_WIDTH)
        span = Span(middle, middle * math.exp(min(low, -further, -width)), middle * math.exp(max(high, further, width)))
        return Ingredients(
            {name: scale * time_s for name, time_s in parts.items()}, span, launches[0].library, len(launches),
            any(launch.disturbed for launch in launches),
        )  # fmt: skip


def _by_minutes(launches: Sequence[Launch]) -> list[Floats]:
    """Return the logs of the launches' medians, those together that followed each other."""
    turns: list[list[float]] = []
    before = datetime.min.replace(tzinfo=UTC)
    for launch in sorted(launches, key=lambda one: one.created):
        at = datetime.fromisoformat(launch.created)
        if not turns or (at - before).total_seconds() > _LATER_S:
            turns.append([])
        turns[-1].append(math.log(launch.median_s))
        before = at
    return [np.array(turn) for turn in turns]


@cache
def this_machine() -> Here:
    return Here()


def is_of_here(profile: Profile) -> bool:
    """Tell whether a profile is of this kind of machine: what is timed here then holds for it."""
    topology = this_machine().topology
    machine = profile.machine
    return machine.get("cpu_model") == topology.cpu_model and machine.get("cores") == topology.core_count


def timed(profile: Profile, cases: Sequence[Case], placement: Placement, pricer: Pricer) -> list[Case]:
    """Return cases with what they are made of, timed now where it was not before.

    Of cases that leave their grid open, and of candidates for one question, those few are timed whose exchanges take least by
    the judge; others take the local work of the nearest grid that was. A profile of another machine gets none:
    its cases are answered by its rates. Raises RankwiseError and its kinds.
    """
    # Of several candidates those that pay between nodes only are none on one, nor by rates, which are not theirs.
    paying = [case for case in cases if isinstance(case, FftCase) and case.needs_nodes]
    if 0 < len(paying) < len(cases):
        is_here = is_of_here(profile)
        cases = [
            case for case in cases if case not in paying or (case.reading == TIMED and is_here and _spans(case, placement))
        ]
    asked = [case for case in cases if isinstance(case, FftCase) and case.reading == TIMED]
    if not asked:
        return list(cases)
    if not is_of_here(profile):
        return [
            replace(case, reading=CALIBRATED) if isinstance(case, FftCase) and case.reading == TIMED else case for case in cases
        ]
    folder = knowledge_folder()
    lengths = Lengths(None if folder is None else folder / "lengths.json")
    wanted: dict[str, tuple[FftCase, int, bool]] = {}
    for case in _chosen(asked, placement, pricer):
        key, ranks, alone = _what(case, placement)
        wanted[key] = (case, ranks, alone)
    due = [key for _ in range(LAUNCHES) for key in wanted if key not in lengths.launches]
    due += [key for key in wanted if lengths.is_due(key, datetime.now(UTC))]
    if due:
        with under_way("timing transforms", len(due), "what was timed so far is kept") as progress:
            for key in due:
                lengths.add(key, _launch(*wanted[key]))
                progress.advance()
    return [_with(case, lengths, placement) if isinstance(case, FftCase) and case.reading == TIMED else case for case in cases]


def _spans(case: FftCase, placement: Placement) -> bool:
    """Tell whether a case's ranks fill several nodes, of several ranks each where its exchanges know nodes."""
    each = placement.of(case).most_on_a_node
    return each < case.ranks and (case.method != "node-aware" or (each > 1 and case.ranks % each == 0))


def _chosen(cases: Sequence[FftCase], placement: Placement, pricer: Pricer) -> Iterator[FftCase]:
    questions: dict[Any, list[FftCase]] = {}
    for case in cases:
        grids = fitting_grids(case.n, case.real, case.ranks) if case.open_grid else [case.grid]
        for grid in grids:
            one = replace(case, grid=grid, batch=1, packed=1, in_flight=1)  # local work is timed field by field
            of_question = questions.setdefault((case.question, case.keys_of_local), [])
            if one not in of_question:
                of_question.append(one)
    for of_question in questions.values():
        on_node = placement.of(of_question[0]).most_on_a_node
        if len(of_question) > _MOST_TIMED:
            of_question.sort(key=lambda one: exchanges_of(one, pricer, on_node).time_s)
        yield from of_question[:_MOST_TIMED]


def _what(case: FftCase, placement: Placement) -> tuple[str, int, bool]:
    """Return the key of what is to be timed, on how many ranks, and whether these exchange nothing.

    On one node all of it is timed; of several nodes the local work of a full one.
    """
    placed = placement.of(case)
    on_node = placed.most_on_a_node
    alone = on_node < case.ranks or on_node > len(this_machine().cpus)
    ranks = min(on_node, len(this_machine().cpus))
    key = {
        "n": list(case.n), "grid": list(case.grid), "real": case.real, "precision": case.precision, "order": case.order,
        "direction": case.direction, "chunks": 1 if alone else case.chunks, "library": case.library, "planning": case.planning,
        "ranks": ranks,
        "method": None if alone else case.method, "mpi": None if alone else this_machine().mpi.kernels_path.name,
    }  # fmt: skip
    return json.dumps(key, sort_keys=True), ranks, alone


def _launch(case: FftCase, ranks: int, alone: bool) -> Launch:
    here = this_machine()
    arguments = case.arguments([()], (0,) * ranks, simulated=False)
    arguments[arguments.index("--chunks") + 1] = "1"
    if alone:
        arguments[arguments.index("--method") + 1] = "alltoall"
    kernel = ["fft3d-stages", *arguments] if alone else ["fft3d", *arguments, "--turns", "1"]
    start = here.start(replace(case, grid=(ranks, 1)))
    effort = ["--budget-s", str(SECONDS), "--most", "200", *wisdom_arguments(case.precision)]
    record = result_of(list(here.stream(start, [*kernel, *effort])))
    kept, disturbed = case.undisturbed(record)
    of_terms = {**{name: kept["shortened"][0][f"{name}_s"] for name in PHASES}, "imbalance": kept["imbalance_s"]}
    times_s = {name: [float(time_s) for time_s in times[:_MOST_KEPT]] for name, times in of_terms.items()}
    return Launch(now(), str(record["library"]), times_s, disturbed is not None)


def _with(case: FftCase, lengths: Lengths, placement: Placement) -> FftCase:
    """Return a case with its ingredients, or of each grid that it leaves open."""
    grids = fitting_grids(case.n, case.real, case.ranks) if case.open_grid else [case.grid]
    found = {}
    for grid in grids:
        key, _, alone = _what(replace(case, grid=grid), placement)
        if key in lengths.launches:
            found[grid] = replace(lengths.ingredients(key), alone=alone, on_node=placement.of(case).most_on_a_node)
    if not found:  # of a candidate: the grid that was timed and is nearest
        near = sorted(fitting_grids(case.n, case.real, case.ranks), key=lambda other: abs(math.log(other[0] / case.grid[0])))
        for grid, method in itertools.product(near, METHODS):
            key, _, _ = _what(replace(case, grid=grid, method=method), placement)
            if key in lengths.launches:
                on_node = placement.of(case).most_on_a_node
                found[case.grid] = replace(lengths.ingredients(key), alone=True, of_grid=grid, on_node=on_node)
                break
    return replace(case, ingredients=found)


@dataclass(frozen=True)
class FftPlan:
    """What is calibrated: cubes of ``sizes`` points an axis, on each of ``ranks``."""

    sizes: Sequence[int]
    ranks: Sequence[int]
    seconds_per_case: float
    library: str = "auto"


def measure_fft3d(profile_path: Path, plan: FftPlan) -> FftRates:
    """Calibrate and put the rates into a profile, next to those of other rank counts; return them.

    Raw samples are appended to machine.fft3d.samples.jsonl for machine.json. Raises RankwiseError and its kinds.
    """
    require_seconds(plan.seconds_per_case)
    if len(set(plan.sizes)) < 2:
        raise InputError("--n needs at least two sizes: rates between them are what predictions use")
    profile = open_profile(profile_path)
    here = Here()
    samples = profile_path.with_name(profile_path.stem + ".fft3d.samples.jsonl")
    steps = len(plan.ranks) * len(set(plan.sizes)) + len(_COUNTED)
    with under_way("calibrating", steps, f"the samples so far are in {samples}; the profile is as it was") as progress:
        measured, library = _rates(here, plan, samples, progress)
        counted = tuple(_count_all(here.mpi, plan.library, progress))
    if not counted:
        tell("note: A was not counted: install valgrind (Debian: apt-get install valgrind) for the literal reading of Eq. 2")
    kept = profile.fft3d if profile.fft3d is not None and profile.fft3d.library == library else None
    others = () if kept is None else tuple(r for r in kept.rates if r.ranks not in plan.ranks)
    rates = FftRates(
        library,
        tuple(sorted((*others, *measured), key=lambda r: r.ranks)),
        counted or (() if kept is None else kept.counted),
        now(),
    )
    replace(profile, fft3d=rates).save(profile_path)
    return rates


def _rates(here: Here, plan: FftPlan, samples: Path, progress: Meter) -> tuple[list[RankRates], str]:
    runner = Runner(here, samples, plan.seconds_per_case, progress)
    sizes = [(n, n, n) for n in sorted(set(plan.sizes))]
    found: list[RankRates] = []
    library = ""
    for ranks in plan.ranks:
        cases = [FftCase(n, fft_grid(n, False, ranks), library=plan.library) for n in sizes]
        triad = _triad(here.mpi, here.cpus, ranks)
        points = []
        for case, row in zip(cases, runner.rows(cases), strict=True):
            if not row.verified:
                checks = row.figures["checks"]
                raise RankwiseError(f"a transform of {case.n[0]}^3 points on {ranks} ranks gave wrong values: {checks}")
            library = row.figures["library"]
            points.append(_point(case, row))
        found.append(RankRates(ranks, ranks > len(here.cpus), triad / ranks, tuple(points)))
    return found, library


def _point(case: FftCase, row: Row) -> RatePoint:
    phases = {name: span.time_s for name, span in row.parts.items()}
    transform = Transform(n=case.n[0], exchanges=len(case.exchanges))
    moved = len(case.exchanges) * case.bytes_per_rank
    return RatePoint(
        n=case.n[0],
        bytes_per_rank=case.bytes_per_rank,
        flop_per_s=case.flops_per_rank / phases["compute"],
        # Eq. 8 at 1 byte/s is the number of bytes.
        shuffle_bytes_per_s=shuffle_time(transform, case.ranks, 1.0) / phases["shuffle"] if moved else None,
        exchange_bytes_per_s=moved / phases["exchange"] if moved else None,
    )


def _triad(mpi: Mpi, cpus: Sequence[int], ranks: int) -> float:
    """Return the bandwidth of all ranks together: the median of some repetitions."""
    arguments = ["triad", "--bytes", str(_TRIAD_BYTES), "--budget-s", "0.5"]
    if ranks <= len(cpus):
        arguments += ["--cpus", ",".join(map(str, cpus[:ranks]))]
    doing = f"measuring the memory with {ranks} ranks"
    records = list(stream_kernel(mpi, arguments, ranks, ranks > len(cpus), doing))
    return float(np.median(result_of(records)["bytes_per_s"]))


def _count_all(mpi: Mpi, library: str, progress: Meter) -> Iterator[CountedA]:
    """Count the cache misses of local FFTs in valgrind's cache simulator; nothing where it is not installed."""
    valgrind = shutil.which("valgrind")
    for n, lines in _COUNTED if valgrind else ():
        try:
            counted = count_a(valgrind or "", mpi.kernels_path, n, lines, library)
        except UnusableEnvironmentError as error:
            tell(f"note: {error}")
            return
        progress.advance()
        yield counted


def count_a(valgrind: str, kernels: Path, n: int, lines: int, library: str = "auto") -> CountedA:
    """Return A of a local FFT: the loads that miss a cache, by cachegrind, of three executions less those of one.

    Planning, start and end fall out of the difference. Raises UnusableEnvironmentError when the simulator fails.
    """
    misses = [_misses(valgrind, kernels, n, lines, executions, library) for executions in (1, 3)]
    words = (misses[1] - misses[0]) / 2 * _LINE_BYTES / _WORD_BYTES
    cache_words = _COUNTED_CACHE_BYTES / _WORD_BYTES
    exponent = max(np.log(n) / np.log(cache_words), 1.0)
    return CountedA(
        n, lines, _COUNTED_CACHE_BYTES, max(words, 1.0) / (n * lines * float(exponent)), "valgrind cachegrind, loads"
    )


def _misses(valgrind: str, kernels: Path, n: int, lines: int, executions: int, library: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "cachegrind.out"
        command = [
            valgrind, "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={output}",
            "--D1=32768,8,64", "--I1=32768,8,64", f"--LL={_COUNTED_CACHE_BYTES},16,64",
            str(kernels), "local-fft", "--n", str(n), "--lines", str(lines),
            "--executions", str(executions), "--library", library,
        ]  # fmt: skip
        with Child(command) as child:
            try:
                for _ in child.lines(300.0):
                    pass
            except TimeoutError:
                raise UnusableEnvironmentError("valgrind said nothing for 300 s: A was not counted") from None
            if child.wait() != 0 or not output.is_file():
                raise UnusableEnvironmentError(
                    f"valgrind did not run the kernels ({child.complaint()[-200:]}): A was not counted"
                )
        return _loads_missed(output.read_text())


def _loads_missed(text: str) -> int:
    """Return the last-level read misses of a cachegrind file: DLmr of its summary."""
    events = re.search(r"^events: (.*)$", text, re.MULTILINE)
    summary = re.search(r"^summary: (.*)$", text, re.MULTILINE)
    if events is None or summary is None:
        raise UnusableEnvironmentError("cachegrind's output has no summary: A was not counted")
    counts = dict(zip(events[1].split(), summary[1].replace(",", "").split(), strict=False))
    return int(counts["DLmr"])
