"""Calibrating the model of the 3-D FFT: memory bandwidth, the phases' rates by rank count, the constant A of Eq. 2."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rankwise.engines.run import Here, Runner
from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.mpi import Mpi, result_of, stream_kernel
from rankwise.launch.process import Child
from rankwise.launch.under_way import require_seconds, under_way
from rankwise.machine.fft_rates import CountedA, FftRates, RankRates, RatePoint
from rankwise.machine.profile import open_profile
from rankwise.measure.samples import now
from rankwise.models.fft3d import Transform, shuffle_time
from rankwise.progress import Meter, tell
from rankwise.workloads.base import Row
from rankwise.workloads.fft3d import fft_grid
from rankwise.workloads.fft3d_case import FftCase

DEFAULT_SIZES = (40, 80, 160, 288)
_TRIAD_BYTES = 64 << 20  # of each of three arrays: beyond any cache that a few ranks share
_LINE_BYTES = 64
_WORD_BYTES = 16
# Lengths whose A is counted: many short lines, as the transform's, and one long line, as the paper's.
_COUNTED = ((96, 2048), (320, 1024), (1 << 18, 1))
_COUNTED_CACHE_BYTES = 1 << 20  # the second level of a present core, and what the cache simulator is given


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
