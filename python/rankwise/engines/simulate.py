"""The simulating engine: our own kernels under SimGrid on a described machine; a campaign of runs on all cores, resumed.

What one run gives is certain, so a run that stands in the samples file is not done again: the key under which it stands
is made of the platform, the placement, the kernel with its arguments and SimGrid's version.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from rankwise.engines.exchange import ExchangeCase, Row
from rankwise.engines.placement import Location
from rankwise.engines.platform import Platform
from rankwise.engines.run import case_argument
from rankwise.engines.stencil import StencilCase, StencilRow
from rankwise.errors import InputError, RankwiseError
from rankwise.files import write_whole
from rankwise.launch.process import Child
from rankwise.launch.smpi import SimGrid, Simulation, run_simulation
from rankwise.measure.samples import SCHEMA, SamplesFile
from rankwise.progress import SILENT, Meter
from rankwise.units import format_size

_MOST_RANKS = 20_000
# One repetition, and nothing to warm up, where every one takes the same time. The window costs no time here.
_REPETITIONS = ("--least", "1", "--most", "1", "--warm-up", "0", "--window-s", "0.01")
# SMPI 3.32 keeps a list of what was ever sent and searches it for every message: many short runs take less than one long one.
_SIZES_A_RUN = 4
_FOLD_ABOVE_BYTES = 1 << 30  # of all ranks' messages
# SMPI 3.32 does not keep the order of persistent messages of different sizes, as team-shift sends them with teams that differ.
_NOT_PERSISTENT = "SMPI mixes up persistent messages of different sizes: the same messages went by MPI_Isend and MPI_Irecv"
_FALLBACK = "SMPI has no neighbourhood collectives: the same messages went by MPI_Isend and MPI_Irecv"


@dataclass(frozen=True)
class Run:
    """One run of a campaign: a platform, where each rank sits on it, the kernel's arguments, and how many cases that is."""

    platform: Platform
    locations: Sequence[Location]
    arguments: Sequence[str]
    folds_memory: bool = False
    cases: int = 1

    def simulation(self) -> Simulation:
        return Simulation(
            self.platform.text(),
            [self.platform.host(location) for location in self.locations],
            self.arguments,
            self.folds_memory,
        )


@dataclass(frozen=True)
class Simulator:
    """Runs campaigns under SimGrid. ``folder`` keeps samples, platform files and the logs of runs that failed.

    ``jobs`` runs go on at once (None: one a core).
    """

    simgrid: SimGrid
    folder: Path
    meter: Meter = SILENT
    jobs: int | None = None
    name = "simgrid"

    def exchange_rows(
        self, cases: Sequence[ExchangeCase], platform: Platform, placement: Mapping[int, Sequence[Location]]
    ) -> list[Row]:
        """Return one row a case; ``placement`` gives the locations of all ranks for each number of ranks."""
        runs = [
            Run(
                platform,
                placement[case.ranks],
                (
                    "exchange", "--grid", _joined(case.grid), "--periodic", _joined(map(int, case.periodic)),
                    "--cases", case_argument(_as_simulated(case)), *_REPETITIONS,
                ),
            )
            for case in cases
        ]  # fmt: skip
        return [self._exchange_row(case, platform, records) for case, records in zip(cases, self.records(runs), strict=True)]

    def stencil_rows(self, cases: Sequence[StencilCase], platform: Platform, ranks_per_socket: int) -> list[StencilRow]:
        """Return one row a case, some sizes of one map in one run. Ranks of a node fill its sockets in order.

        Mappings that give the same map are simulated once.
        """
        of_map: dict[tuple[object, ...], dict[int, list[StencilCase]]] = {}
        for case in cases:
            key = (case.grid, case.periodic, case.stencil, case.node_of_cell, self._folds(case))
            of_map.setdefault(key, {}).setdefault(case.message_bytes, []).append(case)
        # A group is what one run answers: for each of its sizes the cases that are alike.
        groups = [
            list(alike.values())[first : first + _SIZES_A_RUN]
            for alike in of_map.values()
            for first in range(0, len(alike), _SIZES_A_RUN)
        ]
        runs = [self._stencil_run(group, platform, ranks_per_socket) for group in groups]
        rows = {
            id(case): self._stencil_row(case, platform, _only(records, "start"), sample)
            for group, records in zip(groups, self.records(runs), strict=True)
            for alike, sample in zip(group, [r for r in records if r["record"] == "samples"], strict=True)
            for case in alike
        }
        return [rows[id(case)] for case in cases]

    def _stencil_run(self, group: Sequence[Sequence[StencilCase]], platform: Platform, ranks_per_socket: int) -> Run:
        any_case = group[0][0]
        folds = self._folds(any_case)
        return Run(
            platform,
            _stencil_locations(any_case, platform.sockets, ranks_per_socket),
            (
                "stencil", "--grid", _joined(any_case.grid), "--periodic", _joined(map(int, any_case.periodic)),
                "--stencil", any_case.stencil.replace(" ", ""),
                "--bytes", _joined(alike[0].message_bytes for alike in group),
                "--verify", "0" if folds else "1", *_REPETITIONS,
            ),
            folds,
            sum(map(len, group)),
        )  # fmt: skip

    def records(self, runs: Sequence[Run]) -> list[list[dict[str, Any]]]:
        """Return the kernel's records of each run, those that are known already from the samples file.

        Raises RankwiseError when a run fails; all that were done by then are in the file.
        """
        for run in runs:
            require_simulable(len(run.locations))
        keys = [self._key(run) for run in runs]
        path = self.folder / "simulations.jsonl"
        found = _known(path)
        self.meter.advance(sum(run.cases for key, run in zip(keys, runs, strict=True) if key in found))
        wanted = {key: run for key, run in zip(keys, runs, strict=True) if key not in found}
        if wanted:
            for text in {run.platform.text() for run in wanted.values()}:
                write_whole(self.folder / f"{_digest(text)[:8]}.platform", text)
            with SamplesFile(path) as samples:
                for key, record in self._carry_out(wanted):
                    samples.append(record)
                    found[key] = record["records"]
                    self.meter.advance(wanted[key].cases)
        return [found[key] for key in keys]

    def _carry_out(self, runs: Mapping[str, Run]) -> Iterator[tuple[str, dict[str, Any]]]:
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

    def _carry_out_one(self, key: str, run: Run, started: Any) -> dict[str, Any]:
        begun_s = time.monotonic()
        simulation = run.simulation()
        records = run_simulation(self.simgrid, simulation, self.folder / f"{key[:8]}.log", started)
        return {
            "record": "simulation",
            "schema": SCHEMA,
            "key": key,
            "simgrid": self.simgrid.version,
            "platform": f"{_digest(simulation.platform)[:8]}.platform",
            "ranks": len(run.locations),
            "arguments": list(run.arguments),
            "seconds": round(time.monotonic() - begun_s, 3),
            "records": records,
        }

    def _key(self, run: Run) -> str:
        simulation = run.simulation()
        return _digest(
            json.dumps(
                [
                    self.simgrid.version, self.simgrid.kernels.parent.name, self.simgrid.platforms.parent.name,
                    simulation.platform, list(simulation.hosts), list(simulation.arguments), simulation.folds_memory,
                ]
            )
        )  # fmt: skip

    def _folds(self, case: StencilCase) -> bool:
        return 2 * case.ranks * case.most_neighbors * case.message_bytes > _FOLD_ABOVE_BYTES

    def _exchange_row(self, case: ExchangeCase, platform: Platform, records: Sequence[Mapping[str, Any]]) -> Row:
        start, record = _only(records, "start"), _only(records, "samples")
        time_s = median(record["time_s"])
        notes = list(platform.links.notes)
        if case.algorithm == "neighbor-alltoall" and not start["neighborhood_collectives"]:
            notes.append(_FALLBACK)
        if _as_simulated(case) != case:
            notes.append(_NOT_PERSISTENT)
        return Row(
            engine=self.name,
            case=case,
            time_s=time_s,
            time_lo_s=min(record["time_s"]),
            time_hi_s=max(record["time_s"]),
            messages_per_rank=int(record["messages_per_rank"]),
            bytes_per_rank=int(record["bytes_per_rank"]),
            verified=bool(record["verified"]),
            notes=tuple(notes),
            repetitions=len(record["time_s"]),
        )

    def _stencil_row(
        self, case: StencilCase, platform: Platform, start: Mapping[str, Any], record: Mapping[str, Any]
    ) -> StencilRow:
        notes = list(platform.links.notes)
        if not start["neighborhood_collectives"]:
            notes.append(_FALLBACK)
        if record["verified"] is None:
            notes.append(
                f"messages of {format_size(case.message_bytes)} share memory among the ranks: their bytes are not checked"
            )
        return StencilRow(
            engine=self.name,
            case=case,
            time_s=median(record["time_s"]),
            time_lo_s=min(record["time_s"]),
            time_hi_s=max(record["time_s"]),
            messages_per_rank=int(record["messages_per_rank"]),
            messages=int(record["messages"]),
            verified=record["verified"],
            notes=tuple(notes),
            repetitions=len(record["time_s"]),
        )


def _as_simulated(case: ExchangeCase) -> ExchangeCase:
    return replace(case, mode="isend") if (case.algorithm, case.mode) == ("team-shift", "persistent") else case


def require_simulable(ranks: int) -> None:
    """Raise InputError for more ranks than can be simulated."""
    if ranks > _MOST_RANKS:
        raise InputError(f"{ranks} ranks are more than can be simulated here: stay below {_MOST_RANKS}")


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
        if record["record"] == kind:
            return record
    raise RankwiseError(f"a simulation has no '{kind}' record: delete its samples file and simulate anew")


def _stencil_locations(case: StencilCase, sockets: int, ranks_per_socket: int) -> list[Location]:
    """Return where the rank of each cell sits: a node's ranks fill its sockets in the order of their cells."""
    used: dict[int, int] = {}
    locations = []
    for rank, node in enumerate(case.node_of_cell):
        place = used.get(node, 0)
        used[node] = place + 1
        locations.append((node, place // ranks_per_socket % sockets, rank))
    return locations


def _joined(values: Any) -> str:
    return ",".join(map(str, values))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
