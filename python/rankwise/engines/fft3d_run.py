"""The real engine of the 3-D FFT: runs it under this machine's launcher, checks every result, keeps every sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.engines.fft3d import PHASES, FftCase, FftRow, Span
from rankwise.engines.under_way import require_room
from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch import Mpi, stream_kernel
from rankwise.measure.samples import SamplesFile
from rankwise.progress import SILENT, Meter
from rankwise.statistics import median_interval_95


@dataclass(frozen=True)
class FftRunner:
    """Runs 3-D FFTs on this node, one rank a CPU of ``cpus`` while there are enough; beyond that they share."""

    mpi: Mpi
    cpus: Sequence[int]
    samples_path: Path
    seconds_per_case: float = 0.5
    library: str = "auto"
    planning: str = "measure"
    meter: Meter = SILENT
    name = "real"

    def rows(self, cases: Sequence[FftCase]) -> Iterator[FftRow]:
        """Yield one row a case, in order. Raises RankwiseError and its kinds; the samples so far are in the file."""
        with SamplesFile(self.samples_path) as samples, samples.campaign(workload="fft3d") as identity:
            for case in cases:
                yield self._launch(case, samples, identity)
                self.meter.advance()

    def _launch(self, case: FftCase, samples: SamplesFile, identity: str) -> FftRow:
        oversubscribed = case.ranks > len(self.cpus)
        require_room(case.ranks, len(self.cpus), "ask the model ('rankwise predict fft3d')")
        arguments = [
            "fft3d",
            "--n", ",".join(map(str, case.n)),
            "--grid", ",".join(map(str, case.grid)),
            "--real", str(int(case.real)),
            "--precision", case.precision,
            "--order", case.order,
            "--method", case.method,
            "--direction", case.direction,
            "--library", self.library,
            "--planning", self.planning,
            "--budget-s", f"{self.seconds_per_case:.6f}",
        ]  # fmt: skip
        if not oversubscribed:
            arguments += ["--cpus", ",".join(map(str, self.cpus[: case.ranks]))]
        row = None
        try:
            doing = f"transforming on {case.ranks} ranks"
            for record in stream_kernel(self.mpi, arguments, case.ranks, oversubscribed, doing):
                samples.append({**record, "campaign": identity})
                if record["record"] == "unavailable":
                    raise UnusableEnvironmentError(str(record["what"]))
                if record["record"] == "samples":
                    row = _row(case, record, oversubscribed, len(self.cpus))
        except (InputError, UnusableEnvironmentError):
            raise
        except RankwiseError as error:
            raise type(error)(f"{error}; samples so far are in {self.samples_path}") from None
        if row is None:
            raise RankwiseError(f"the kernel ended without a result; what it said is in {self.samples_path}")
        return row


def _row(case: FftCase, record: dict[str, Any], oversubscribed: bool, cpus: int) -> FftRow:
    # ranks x repetitions of each phase
    of_ranks = {phase: np.asarray([rank[f"{phase}_s"] for rank in record["phases"]], dtype=np.float64) for phase in PHASES}
    notes = [f"oversubscribed: {case.ranks} ranks on {cpus} CPUs, the time is not the machine's"] if oversubscribed else []
    return FftRow(
        engine="real",
        case=case,
        total=span_of(np.asarray(record["time_s"], dtype=np.float64)),
        phases={phase: span_of(times.mean(axis=0)) for phase, times in of_ranks.items()},
        verified=bool(record["verified"]),
        notes=tuple(notes),
        repetitions=len(record["time_s"]),
        oversubscribed=oversubscribed,
        library=str(record["library"]),
        array_bytes=int(record["array_bytes"]),
        memory_bytes=int(record["memory_bytes"]),
        per_rank=tuple({phase: span_of(of_ranks[phase][rank]) for phase in PHASES} for rank in range(case.ranks)),
        isolated={
            phase: span_of(np.asarray(record[name], dtype=np.float64))
            for phase, name in (("compute", "fft_s"), ("exchange", "alltoall_s"))
            if phase == "compute" or case.exchanges
        },
        checks={name: float(record[name]) for name in ("spectrum_error", "parseval_error", "round_trip_error", "error_bound")},
    )


def span_of(times_s: NDArray[np.float64]) -> Span:
    """Return the median of samples with its 95 % interval."""
    low, high = median_interval_95(times_s)
    return Span(float(np.median(times_s)), low, high)
