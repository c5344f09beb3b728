"""The real engine: runs exchanges under the launcher of this machine, checks every byte, keeps every sample."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwise.engines.exchange import ExchangeCase, Row
from rankwise.engines.under_way import require_room
from rankwise.errors import InputError, RankwiseError
from rankwise.launch import Mpi, stream_kernel
from rankwise.launch.placement import require_placement
from rankwise.measure.cells import SMALLEST_TIME_S
from rankwise.measure.samples import SamplesFile
from rankwise.progress import SILENT, Meter
from rankwise.statistics import median_interval_95

_MOST_CASES_A_LAUNCH = 1000  # they travel as one argument of a command


@dataclass(frozen=True)
class Runner:
    """Runs exchanges. ``cpus`` are the CPUs of a node that ranks are bound to, one each while there are enough.

    ``hosts`` holds the host of each rank (none: all on this node), which is verified from inside the ranks. With more ranks
    than CPUs nothing is bound, and rows say that they were oversubscribed: their times are not the machine's, only the check
    of the bytes counts.
    """

    mpi: Mpi
    cpus: Sequence[int]
    samples_path: Path
    seconds_per_case: float = 0.3
    meter: Meter = SILENT
    hosts: Sequence[str] = ()
    name = "real"

    def rows(self, cases: Sequence[ExchangeCase]) -> Iterator[Row]:
        """Yield one row a case, in order. Raises RankwiseError when a rank dies or wrong bytes arrive.

        Whatever happens, the samples so far are in the samples file.
        """
        with SamplesFile(self.samples_path) as samples, samples.campaign(workload="exchange") as identity:
            for _, group in itertools.groupby(cases, key=lambda case: (case.ranks, case.grid, case.periodic)):
                while together := list(itertools.islice(group, _MOST_CASES_A_LAUNCH)):
                    yield from self._launch(together, samples, identity)

    def _launch(
        self, cases: list[ExchangeCase], samples: SamplesFile, identity: str
    ) -> Iterator[Row]:
        ranks, grid, periodic = cases[0].ranks, cases[0].grid, cases[0].periodic
        if self.hosts and len(self.hosts) != ranks:
            raise InputError(f"{len(self.hosts)} ranks are placed on hosts and {ranks} are to run: place them all")
        on_node = max(Counter(self.hosts).values(), default=ranks)
        oversubscribed = on_node > len(self.cpus)
        require_room(on_node, len(self.cpus), "ask the model ('rankwise predict exchange')")
        arguments = [
            "exchange",
            "--grid", ",".join(map(str, grid)),
            "--periodic", ",".join("1" if flag else "0" for flag in periodic),
            "--cases", ",".join(map(case_argument, cases)),
            "--budget-s", f"{self.seconds_per_case:.6f}",
            # Where only the check counts, a few repetitions are enough.
            *(("--least", "3", "--most", "10", "--warm-up", "1") if oversubscribed else ("--least", "30")),
        ]  # fmt: skip
        cpus = [] if oversubscribed else self._cpus_of_ranks(ranks)
        if cpus:
            arguments += ["--cpus", ",".join(map(str, cpus))]
        waiting = iter(cases)
        timer_cost_s = 0.0
        try:
            doing = f"running on {ranks} ranks"
            for record in stream_kernel(self.mpi, arguments, ranks, oversubscribed, doing, self.hosts):
                if record["record"] in ("start", "end"):
                    require_placement(record["placements"], "of this placement", cpus, self.hosts)
                samples.append({**record, "campaign": identity})
                if record["record"] == "start":
                    timer_cost_s = float(record["timer_cost_s"])
                if record["record"] != "samples":
                    continue
                case = next(waiting)
                self.meter.advance()
                times = np.maximum(np.asarray(record["time_s"], dtype=np.float64) - timer_cost_s, SMALLEST_TIME_S)
                low, high = median_interval_95(times)
                yield Row(
                    engine=self.name,
                    case=case,
                    time_s=float(np.median(times)),
                    time_lo_s=low,
                    time_hi_s=high,
                    messages_per_rank=int(record["messages_per_rank"]),
                    bytes_per_rank=int(record["bytes_per_rank"]),
                    verified=bool(record["verified"]),
                    notes=self._notes(record["late"], times.size, on_node, oversubscribed),
                    repetitions=int(times.size),
                    oversubscribed=oversubscribed,
                    pingpong_time_s=_one_way_s(record["pingpong_time_s"], timer_cost_s),
                )
        except InputError:
            raise
        except RankwiseError as error:
            raise type(error)(f"{error}; samples so far are in {self.samples_path}") from None

    def _cpus_of_ranks(self, ranks: int) -> list[int]:
        """Return the CPU of each rank: on every host the first rank has the first CPU, and so on."""
        if not self.hosts:
            return list(self.cpus[:ranks])
        seen: Counter[str] = Counter()
        cpus = []
        for host in self.hosts:
            cpus.append(self.cpus[seen[host]])
            seen[host] += 1
        return cpus

    def _notes(self, late: int, repetitions: int, ranks: int, oversubscribed: bool) -> tuple[str, ...]:
        notes = []
        if oversubscribed:
            notes.append(f"oversubscribed: {ranks} ranks on {len(self.cpus)} CPUs, the time is not the machine's")
        elif late > repetitions / 4:
            notes.append(f"{late} of {repetitions} repetitions began late on some rank: the machine was busy")
        return tuple(notes)


def _one_way_s(round_trips_s: Sequence[float], timer_cost_s: float) -> float | None:
    return (float(np.median(round_trips_s)) - timer_cost_s) / 2 if round_trips_s else None


def case_argument(case: ExchangeCase) -> str:
    """Return a case as the kernels read it."""
    nodes = f":nodes={'/'.join(map(str, case.node_of_rank))}" if case.node_of_rank else ""
    return (
        f"{case.algorithm}:{case.mode}:{case.cutoff}:{case.message_bytes}:{case.shell}:{case.replication}:"
        f"{case.team_boxes}{nodes}"
    )
