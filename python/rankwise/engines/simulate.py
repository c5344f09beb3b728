"""The simulating engine: our own kernels under SimGrid on a described machine; a measurement of runs on all cores, resumed.

What one run gives is certain, so a run that stands in the samples file is not done again: the key under which it stands
is made of the platform, the placement, the kernel with its arguments and SimGrid's version.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.engines.placement import Placement, nodes_of
from rankwise.engines.platform import Platform
from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.files import write_whole
from rankwise.launch.process import Child
from rankwise.launch.smpi import SimGrid, Simulation, read_trace, run_simulation
from rankwise.machine.profile import Profile
from rankwise.measure.samples import SCHEMA, SamplesFile
from rankwise.observe.timeline import Timeline
from rankwise.progress import SILENT, Meter
from rankwise.workloads.base import Case, Row, Span

_MOST_RANKS = 20_000


@dataclass(frozen=True)
class Simulator:
    """Runs measurements under SimGrid. ``folder`` keeps samples, platform files and the logs of runs that failed.

    ``jobs`` runs go on at once (None: one a core).
    """

    simgrid: SimGrid
    folder: Path
    meter: Meter = SILENT
    jobs: int | None = None
    name = "simgrid"

    def rows(
        self, cases: Sequence[Case], platform: Platform, placement: Placement, profile: Profile | None = None
    ) -> list[Row]:
        """Return one row a case. Cases that give the same messages on the same places are simulated once.

        What a simulation leaves out is told by the rates of ``profile`` where it has them.
        """
        # What a launch holds: for each of its items the cases that are alike.
        launches: dict[object, dict[object, list[int]]] = {}
        stand_ins = [case.as_simulated() for case in cases]
        for place, case in enumerate(stand_ins):
            launches.setdefault((case.together, case.folds_memory), {}).setdefault(case.item, []).append(place)
        groups = [
            list(alike.items())[first : first + most]
            for alike in launches.values()
            for most in [stand_ins[next(iter(alike.values()))[0]].most_a_simulation]
            for first in range(0, len(alike), most)
        ]
        runs = [
            (simulation_of(stand_ins[group[0][1][0]], [item for item, _ in group], platform, placement),
             sum(len(alike) for _, alike in group))
            for group in groups
        ]  # fmt: skip
        rows: dict[int, Row] = {}
        for group, records in zip(groups, self.records(runs), strict=True):
            start = _only(records, "start")
            for (_, alike), record in zip(group, [r for r in records if r["record"] == "samples"], strict=True):
                for place in alike:
                    rows[place] = self._row(cases[place], platform, start, record, profile)
        return [rows[place] for place in range(len(cases))]

    def timeline(self, row: Row, platform: Platform, placement: Placement) -> Timeline:
        """Simulate a row's case once more, and return the time line of the repetition. Raises InputError."""
        from rankwise.engines.timelines import require_few, simulated

        stand_in = row.case.as_simulated()
        places = placement.of(stand_in)
        require_few(places.ranks)
        run = simulation_of(stand_in, [stand_in.item], platform, placement)
        with tempfile.TemporaryDirectory(prefix="rankwise-") as scratch:
            path = Path(scratch) / "trace"
            run_simulation(self.simgrid, run, self.folder / "trace.log", trace=path)
            with path.open(encoding="utf-8", errors="replace") as stream:
                return simulated(read_trace(stream), places, platform.machine, row)

    def records(self, asked: Sequence[tuple[Simulation, int]]) -> list[list[dict[str, Any]]]:
        """Return the kernel's records of each run of so many cases, those that are known already from the samples file.

        Raises RankwiseError when a run fails; all that were done by then are in the file.
        """
        for run, _ in asked:
            require_simulable(len(run.hosts))
        runs = {self._key(run): (run, cases) for run, cases in asked}
        path = self.folder / "simulations.jsonl"
        found = _known(path)
        self.meter.advance(sum(cases for key, (_, cases) in runs.items() if key in found))
        wanted = {key: run for key, (run, _) in runs.items() if key not in found}
        if wanted:
            for text in {run.platform for run in wanted.values()}:
                write_whole(self.folder / f"{_digest(text)[:8]}.platform", text)
            with SamplesFile(path) as samples:
                for key, record in self._carry_out(wanted):
                    samples.append(record)
                    found[key] = record["records"]
                    self.meter.advance(runs[key][1])
        return [found[self._key(run)] for run, _ in asked]

    def _carry_out(self, runs: Mapping[str, Simulation]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield what each run gives as they end. Leaving early ends those that are under way."""
        children: list[Child] = []
        waiting = iter(runs.items())
        jobs = self.jobs or len(os.sched_getaffinity(0))
        with ThreadPoolExecutor(jobs) as pool:
            under_way: dict[Future[dict[str, Any]], str] = {}
            try:
                while True:
                    while len(under_way) < jobs and (following := next(waiting, None)) is not None:
                        key, run = following
                        under_way[pool.submit(self._carry_out_one, key, run, children.append)] = key
                    if not under_way:
                        return
                    done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield under_way.pop(future), future.result()
            finally:
                if under_way:
                    for child in children:
                        child.kill()

    def _carry_out_one(self, key: str, run: Simulation, started: Any) -> dict[str, Any]:
        begun_s = time.monotonic()
        records = run_simulation(self.simgrid, run, self.folder / f"{key[:8]}.log", started)
        return {
            "record": "simulation",
            "schema": SCHEMA,
            "key": key,
            "simgrid": self.simgrid.version,
            "platform": f"{_digest(run.platform)[:8]}.platform",
            "ranks": len(run.hosts),
            "arguments": list(run.arguments),
            "seconds": round(time.monotonic() - begun_s, 3),
            "records": records,
        }

    def _key(self, run: Simulation) -> str:
        return _digest(
            json.dumps(
                [
                    self.simgrid.version, self.simgrid.kernels.parent.name, self.simgrid.platforms.parent.name,
                    run.platform, list(run.hosts), list(run.arguments), run.folds_memory, run.eager_bytes,
                ]
            )
        )  # fmt: skip

    def _row(
        self, case: Case, platform: Platform, start: Mapping[str, Any], record: Mapping[str, Any], profile: Profile | None
    ) -> Row:
        times_s = np.asarray(record["time_s"], dtype=np.float64)
        span = Span(float(np.median(times_s)), float(times_s.min()), float(times_s.max()))
        fields = {"messages_per_rank": record.get("messages_per_rank"), "bytes_per_rank": None} | case.read(record, times_s)
        row = Row.of(
            self.name, case, span, fields.pop("messages_per_rank"), fields.pop("bytes_per_rank"), record["verified"],
            [*platform.notes, *case.simulation_notes(start, record)],
            repetitions=times_s.size,
            **fields,
        )  # fmt: skip
        return case.simulated(row, profile)


def simulation_of(case: Case, items: Sequence[Any], platform: Platform, placement: Placement) -> Simulation:
    """Return a run of some items of a case's kernel, its ranks where they are placed on a platform."""
    places = placement.of(case)
    words = case.arguments(items, nodes_of(places), simulated=True)
    arguments = (case.kernel, *words, *case.effort(None, False))
    return platform.simulation(places, arguments, case.folds_memory, case.buffers_sends)


def require_simulable(ranks: int) -> None:
    """Raise InputError for more ranks than can be simulated."""
    if ranks > _MOST_RANKS:
        raise InputError(f"{ranks} ranks are more than can be simulated here: give at most {_MOST_RANKS}")


def _known(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records of all runs in a samples file; a line that was cut off is as if it were not there."""
    found: dict[str, list[dict[str, Any]]] = {}
    if not path.is_file():
        return found
    with path.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                record = json.loads(line)
                found[str(record["key"])] = list(record["records"])
            except (ValueError, TypeError, KeyError):
                continue
    return found


def _only(records: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    for record in records:
        if record["record"] == "unavailable":
            raise UnusableEnvironmentError(str(record["what"]))
    for record in records:
        if record["record"] == kind:
            return record
    raise RankwiseError(f"a simulation has no '{kind}' record: delete its samples file and simulate again")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
