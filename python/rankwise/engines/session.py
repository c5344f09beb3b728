"""Asking an engine for cases of any workload: predictions from a profile, simulations, real runs, and some side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rankwise import _core
from rankwise.engines.placement import Placement, Seats, profile_placement
from rankwise.engines.platform import System, make_system
from rankwise.engines.predict import finished, predict_rows
from rankwise.engines.run import Here, Runner
from rankwise.engines.simulate import Simulator, require_simulable
from rankwise.errors import InputError, RankwiseError
from rankwise.files import require_folder
from rankwise.launch.smpi import find_simgrid
from rankwise.launch.under_way import require_seconds, under_way
from rankwise.machine.profile import Profile, open_profile
from rankwise.observe.timeline import Timeline
from rankwise.workloads.base import Case, Row
from rankwise.workloads.comparison import Comparison, Validation

ENGINES = ("model", "simgrid", "run")  # in the order of belief: the last at hand is what the others are held against

_TRACED_S = 0.02  # of repetitions that are traced: a few hundred calls of each rank


def run_rows(cases: Sequence[Case], here: Here, samples: Path, seconds: float) -> list[Row]:
    """Run all cases on this machine, or each rank on its host, one rank a core. Raises RankwiseError and its kinds."""
    require_seconds(seconds)
    here.mpi.require_match()
    with under_way("running", len(cases), f"the samples so far are in {samples}") as progress:
        return finished(Runner(here, samples, seconds, progress).rows(cases))


def simulate_rows(
    system: System,
    cases: Sequence[Case],
    topology: str,
    nodes: int | None,
    placement: Placement,
    folder: Path,
    jobs: int | None = None,
) -> list[Row]:
    """Simulate all cases on one platform. Raises RankwiseError and its kinds."""
    placements = list({id(placed): placed for case in cases for placed in [placement.of(case)]}.values())
    for placed in placements:
        system.require_links(placed)
    platform = system.platform(placements, topology, nodes)
    with _simulator(folder, max(case.ranks for case in cases), len(cases), jobs) as simulator:
        return finished(simulator.rows(cases, platform, placement, system.profile))


def trace_simulation(system: System, row: Row, topology: str, nodes: int | None, placement: Placement) -> Timeline:
    """Simulate a row's case once more and return the time line of its repetition. Raises RankwiseError and its kinds."""
    platform = system.platform([placement.of(row.case)], topology, nodes)
    with tempfile.TemporaryDirectory(prefix="rankwise-") as folder, _simulator(Path(folder), row.case.ranks, 1, 1) as simulator:
        return simulator.timeline(row, platform, placement)


def trace_run(row: Row, here: Here) -> Timeline:
    """Run a row's case once more with the tracer in its ranks, and return the time line
    of a repetition. Raises RankwiseError and its kinds."""
    from rankwise.engines.timelines import traced
    from rankwise.observe.parts import merged
    from rankwise.observe.start import tracing

    case = row.case
    with tempfile.TemporaryDirectory(prefix=".rankwise-", dir=Path.cwd()) as folder:
        with tracing(Path(folder)):
            Runner(here, Path(folder) / "samples.jsonl", _TRACED_S).rows([case])
        record = merged(Path(folder), {"command": [case.kernel], "created": ""})
    if record is None:
        raise RankwiseError("the ranks left no record: their MPI drops LD_PRELOAD, or is linked statically")
    nodes = here.node_of_rank(case.ranks)
    return traced(record, Seats().on_nodes(nodes) if max(nodes) > 0 else here.locations(case.ranks), row)


@contextmanager
def _simulator(folder: Path, ranks: int, runs: int, jobs: int | None) -> Iterator[Simulator]:
    # What cannot be done is refused before anything is built for it.
    require_simulable(ranks)
    require_folder(folder)
    simgrid = find_simgrid()
    with under_way("simulating", runs, f"the runs so far are in {folder}; the same command goes on where it was") as progress:
        yield Simulator(simgrid, folder, progress, jobs)


def require_engines(engines: Sequence[str]) -> None:
    """Raise InputError unless two or three engines are named, each once."""
    for name in engines:
        if name not in ENGINES:
            raise InputError(f"--engines: '{name}' is unknown: choose one of {', '.join(ENGINES)}")
    if len(engines) < 2 or len(set(engines)) < len(engines):
        raise InputError(f"--engines {','.join(engines)} does not name two or three of {', '.join(ENGINES)}: each once")


def compare_engines(
    profile_path: Path,
    cases: Sequence[Case],
    engines: Sequence[str],
    here: Here | None,
    samples: Path,
    seconds: float,
    folder: Path = Path("simulated"),
    launches: int | None = None,
) -> Validation:
    """Ask several engines (model, simgrid, run) for all cases with the same placement.

    The real run, or else the simulation, is what the others are held against. ``here`` is where it runs, and where the
    others then place their ranks; None without a real run, when they are placed as the profile's scheduler would.
    ``launches``: of exchanges that are run by turns with what they are made of (engines/paired.py), each rank on a core of its
    own; elsewhere, and with None, a second real run tells the noise of the first.
    """
    require_engines(engines)
    profile = open_profile(profile_path)
    for case in cases:
        case.require_fair(profile)
    real = here if "run" in engines else None
    placement = profile_placement(profile) if real is None else real.placement(profile)
    rows: dict[str, list[Row]] = {}
    by_turns = "model" in engines and all(case.by_turns for case in cases)
    if by_turns and real is None:
        raise InputError("the model needs real runs to be interleaved with, and there are none: use --reading calibrated")
    if "model" in engines:
        rows["model"] = [] if by_turns else predict_rows(profile, cases, placement)
    if "simgrid" in engines:
        rows["simgrid"] = simulate_rows(make_system(profile_path, None), cases, "crossbar", None, placement, folder)
    if real is not None and launches is not None and why_not_paired(cases, engines, real) is None:
        return _paired(profile_path, profile, cases, rows, real, samples, seconds, launches)
    if real is not None:
        rows["run"] = run_rows(cases, real, samples, seconds)
    if by_turns:
        rows["model"] = [case.modelled(row) for case, row in zip(cases, rows["run"], strict=True)]
    reference = list(rows)[-1]
    again: Sequence[Row | None] = [None] * len(cases)
    if real is not None:
        rows["run"] = [replace(row, notes=(*row.notes, *real.changes_since(profile))) for row in rows["run"]]
        again = run_rows(cases, real, samples, seconds)
    return Validation(
        str(profile_path),
        [
            Comparison(p, m, _drift(profile, placement.of(m.case), m), a)
            for engine in rows
            if engine != reference
            for p, m, a in zip(rows[engine], rows[reference], again, strict=True)
        ],
        trust=profile.trust,
    )


def why_not_paired(cases: Sequence[Case], engines: Sequence[str], here: Here) -> str | None:
    """Say why cases cannot be run by turns with what they are made of; None where they can."""
    if "model" not in engines:
        return "no model is asked"
    if any(case.kernel != "exchange" for case in cases):
        return "only exchanges are interleaved with their building blocks"
    if any(case.ranks < 2 for case in cases):
        return "one rank sends nothing"
    if any(here.start(case).crowded for case in {case.ranks: case for case in cases}.values()):
        return "ranks share processors"
    return None


def _paired(
    profile_path: Path, profile: Profile, cases: Sequence[Case], rows: dict[str, list[Row]], here: Here, samples: Path,
    seconds: float, launches: int,
) -> Validation:  # fmt: skip
    from rankwise.engines.paired import PairedRunner

    require_seconds(seconds)
    here.mpi.require_match()
    with under_way("interleaved runs", launches, f"the samples so far are in {samples}") as progress:
        session, paired, timed = PairedRunner(here, samples, seconds, launches, progress).rows(
            profile, cases, here.placement(profile)
        )
    known, changes = rows["model"], here.changes_since(profile)
    measured = finished([
        Row.of("real", case, span, model.messages_per_rank, model.bytes_per_rank, verified, changes, repetitions=count)
        for case, model, (span, verified, count) in zip(cases, known, timed, strict=True)
    ])  # fmt: skip
    return Validation(
        str(profile_path),
        [
            Comparison(p, m, session.drift, None, one if engine == "model" else None)
            for engine in rows
            for p, m, one in zip(rows[engine], measured, paired, strict=True)
        ],
        session,
    )


def _drift(profile: Profile, placement: _core.Placement, measured: Row) -> float | None:
    """Return how much longer a block takes between ranks 0 and 1 now than the profile says."""
    size = measured.case.block_bytes
    if measured.oversubscribed or placement.ranks < 2 or measured.pingpong_time_s is None or size is None:
        return None
    link = profile.links.get(placement.link_between(0, 1))
    return None if link is None else measured.pingpong_time_s / link.send.time_s(size)
