"""The real engine for the workload "stencil": the throughput experiment of Hunold et al. (2020), section VI-D.

The launcher places the ranks; their hosts say which nodes there are. Each mapping gives the ranks of a node its cells, and
one MPI_Neighbor_alltoall over the ranks in the order of their cells is timed: a barrier before each, the time of a
repetition that of the rank that took longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.engines.stencil import StencilCase, StencilRow
from rankwise.engines.under_way import require_room
from rankwise.launch import Mpi, stream_kernel
from rankwise.measure.samples import SamplesFile
from rankwise.progress import SILENT, Meter
from rankwise.statistics import interval_95, median_interval_95

Times = NDArray[np.float64]
BASELINE = "blocked"
_RESAMPLES = 2000


@dataclass(frozen=True)
class Summary:
    """Mean and median of repetitions, each with a 95 % interval (Student's; by order statistics)."""

    mean_s: float
    mean_ci_s: tuple[float, float]
    median_s: float
    median_ci_s: tuple[float, float]
    repetitions: int

    @classmethod
    def of(cls, times_s: Times) -> Summary:
        from scipy.special import stdtrit

        n = times_s.size
        mean = float(times_s.mean())
        half = float(stdtrit(n - 1, 0.975) * times_s.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
        return cls(mean, (mean - half, mean + half), float(np.median(times_s)), median_interval_95(times_s), n)

    def to_dict(self) -> dict[str, Any]:
        return {
            "mean_s": self.mean_s,
            "mean_ci_s": list(self.mean_ci_s),
            "median_s": self.median_s,
            "median_ci_s": list(self.median_ci_s),
            "repetitions": self.repetitions,
        }


def is_outlier(times_s: Times) -> NDArray[np.bool_]:
    """Mark what lies more than 1.5 inter-quartile ranges below the first or above the third quartile."""
    first, third = np.quantile(times_s, [0.25, 0.75])
    fence = 1.5 * (third - first)
    return np.asarray((times_s < first - fence) | (times_s > third + fence))


def ratio_interval(base_s: Times, times_s: Times) -> tuple[float, float, float]:
    """Return the ratio of two medians and its bootstrapped 95 % interval."""
    rng = np.random.default_rng(2020)
    medians = [np.median(rng.choice(t, (_RESAMPLES, t.size)), axis=1) for t in (base_s, times_s)]
    low, high = interval_95(np.asarray(medians[0] / medians[1], dtype=np.float64))
    return float(np.median(base_s) / np.median(times_s)), low, high


@dataclass(frozen=True)
class MeasuredStencilRow(StencilRow):
    """A row with what the paper reports: with and without outliers, and the speed-up over blocked with its interval.

    ``time_s`` is the median of all repetitions.
    """

    every: Summary | None = None
    kept: Summary | None = None  # without outliers
    speedup: tuple[float, float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        assert self.every is not None and self.kept is not None
        return {
            **super().to_dict(),
            "all": self.every.to_dict(),
            "without_outliers": self.kept.to_dict(),
            "outliers": self.every.repetitions - self.kept.repetitions,
            "speedup_over_blocked": None if self.speedup is None else self.speedup[0],
            "speedup_ci": None if self.speedup is None else list(self.speedup[1:]),
        }


@dataclass(frozen=True)
class StencilRunner:
    """Runs halo exchanges under the launcher; every byte is checked, every sample kept."""

    mpi: Mpi
    cpus: int  # of this host, for ranks to have one each
    samples_path: Path
    repetitions: int = 200
    meter: Meter = SILENT

    def nodes(self, ranks: int) -> list[int]:
        """Start the ranks and return the node of each, nodes numbered by their lowest rank."""
        require_room(ranks, self.cpus, "make the grid smaller")
        records = list(stream_kernel(self.mpi, ["hello"], ranks, ranks > self.cpus, f"starting {ranks} ranks"))
        hosts = [str(place["host"]) for place in records[0]["placements"]]
        number = {host: i for i, host in enumerate(dict.fromkeys(hosts))}
        return [number[host] for host in hosts]

    def rows(self, cases: Sequence[StencilCase], node_of_rank: Sequence[int]) -> list[MeasuredStencilRow]:
        """Return one row a case. Cases of one grid, periods and stencil; sizes of a mapping run in one launch."""
        together: dict[str, list[StencilCase]] = {}
        for case in cases:
            together.setdefault(case.mapping, []).append(case)
        times: dict[tuple[str, int], Times] = {}
        rows: dict[int, MeasuredStencilRow] = {}
        head = {"workload": "stencil", "node_of_rank": list(node_of_rank)}
        with SamplesFile(self.samples_path) as samples, samples.campaign(**head) as identity:
            for mapping, group in together.items():
                for case, record in zip(group, self._launch(group, node_of_rank), strict=True):
                    samples.append({**record, "campaign": identity, "mapping": mapping})
                    times[mapping, case.message_bytes] = np.asarray(record["time_s"], dtype=np.float64)
                    rows[id(case)] = self._row(case, record, times[mapping, case.message_bytes], node_of_rank)
                    self.meter.advance()
        found = []
        for case in cases:
            base = times.get((BASELINE, case.message_bytes))
            ratio = None if base is None else ratio_interval(base, times[case.mapping, case.message_bytes])
            found.append(replace(rows[id(case)], speedup=ratio))
        return found

    def _launch(self, group: Sequence[StencilCase], node_of_rank: Sequence[int]) -> list[dict[str, Any]]:
        case = group[0]
        arguments = [
            "stencil", "--grid", _joined(case.grid), "--periodic", _joined(map(int, case.periodic)),
            "--stencil", case.stencil.replace(" ", ""), "--bytes", _joined(c.message_bytes for c in group),
            "--cells", _joined(cells_of_ranks(case.node_of_cell, node_of_rank)), "--start", "barrier",
            "--least", str(self.repetitions), "--most", str(self.repetitions),
        ]  # fmt: skip
        doing = f"running {case.mapping} on {case.ranks} ranks"
        records = stream_kernel(self.mpi, arguments, case.ranks, self._crowded(node_of_rank), doing)
        return [record for record in records if record["record"] == "samples"]

    def _crowded(self, node_of_rank: Sequence[int]) -> bool:
        return max(map(list(node_of_rank).count, set(node_of_rank))) > self.cpus

    def _row(
        self, case: StencilCase, record: dict[str, Any], times_s: Times, node_of_rank: Sequence[int]
    ) -> MeasuredStencilRow:
        every = Summary.of(times_s)
        notes = []
        if self._crowded(node_of_rank):
            notes.append(f"oversubscribed: more ranks a host than its {self.cpus} CPUs, the time is not the machine's")
        if max(node_of_rank) == 0:
            notes.append("all ranks are on one node: no mapping can spare it messages; start them on several")
        return MeasuredStencilRow(
            engine="real",
            case=case,
            time_s=every.median_s,
            time_lo_s=every.median_ci_s[0],
            time_hi_s=every.median_ci_s[1],
            messages_per_rank=int(record["messages_per_rank"]),
            messages=int(record["messages"]),
            verified=bool(record["verified"]),
            notes=tuple(notes),
            repetitions=every.repetitions,
            every=every,
            kept=Summary.of(times_s[~is_outlier(times_s)]),
        )


def cells_of_ranks(node_of_cell: Sequence[int], node_of_rank: Sequence[int]) -> list[int]:
    """Return the cell of each rank: the ranks of a node take its cells in row-major order."""
    cells: dict[int, list[int]] = {}
    for cell, node in enumerate(node_of_cell):
        cells.setdefault(node, []).append(cell)
    waiting = {node: iter(own) for node, own in cells.items()}
    return [next(waiting[node]) for node in node_of_rank]


@dataclass(frozen=True)
class Instantiation:
    """How long a rank takes to compute its new cell: processor time of the slowest rank, and of the median one."""

    algorithm: str
    slowest_s: float
    median_s: float
    ranks: int  # how many of them were timed

    def to_dict(self) -> dict[str, Any]:
        return {"algorithm": self.algorithm, "slowest_s": self.slowest_s, "median_s": self.median_s, "ranks": self.ranks}


def instantiate(
    grid: Sequence[int], node_sizes: Sequence[int], stencil: str, algorithms: Sequence[str], repetitions: int = 5
) -> list[Instantiation]:
    """Time each algorithm as section VI-E of the paper does: each rank by itself, the slowest rank counts.

    Of several repetitions each rank's quickest is taken, and processor time instead of the clock's, so that what else
    the machine does is left out. Algorithms that search, of which one rank does the work for all, are timed once.
    """
    from rankwise import _core

    offsets, _ = _core.parse_stencil(stencil, len(grid))
    found = []
    for entry in _core.mapping_algorithms():
        wanted = entry.name in algorithms or ("all" in algorithms and entry.in_all)
        if not wanted or (entry.equal_nodes and len(set(node_sizes)) > 1):
            continue
        ranks = list(range(sum(node_sizes))) if entry.local else [0]
        rounds = [
            _core.instantiation_s(entry.name, list(grid), list(node_sizes), offsets, ranks)
            for _ in range(repetitions if entry.local else 1)
        ]
        times_s = np.min(np.asarray(rounds, dtype=np.float64), axis=0)
        found.append(Instantiation(entry.name, float(times_s.max()), float(np.median(times_s)), len(ranks)))
    return found


def _joined(values: Any) -> str:
    return ",".join(map(str, values))
