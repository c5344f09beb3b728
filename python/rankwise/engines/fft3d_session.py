"""Asking an engine for 3-D FFTs on this machine: predictions, real runs, and both side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from rankwise.engines.fft3d import PHASES, FftCase, FftRow, fft_case_keys
from rankwise.engines.fft3d_predict import CALIBRATED, FftModel
from rankwise.engines.fft3d_run import FftRunner
from rankwise.engines.under_way import require_seconds, under_way
from rankwise.errors import InputError
from rankwise.launch import find_mpi
from rankwise.machine.profile import Profile
from rankwise.machine.topology import Topology

# A phase below this share of the transform is not judged by its relative error: it is next to nothing on both sides.
_LEAST_SHARE = 0.02


def predict_ffts(
    profile_path: Path, cases: Sequence[FftCase], chooses: bool, reading: str = CALIBRATED, network: str | None = None
) -> list[FftRow]:
    """Ask the model for all cases, each on the grid that it finds best where it ``chooses``."""
    model = FftModel(Profile.load(profile_path), reading, network)
    return list(model.rows([replace(case, grid=model.best_grid(case)) for case in cases] if chooses else cases))


def run_ffts(
    cases: Sequence[FftCase], topology: Topology, samples: Path, seconds: float, library: str = "auto", planning: str = "measure"
) -> list[FftRow]:
    """Run all cases on this machine, one rank a core. Raises RankwiseError and its kinds."""
    require_seconds(seconds)
    mpi = find_mpi()
    with under_way("running", len(cases), f"the samples so far are in {samples}") as progress:
        runner = FftRunner(mpi, topology.pus_one_per_core(), samples, seconds, library, planning, progress)
        return list(runner.rows(cases))


@dataclass(frozen=True)
class FftComparison:
    """One case, predicted and measured."""

    predicted: FftRow
    measured: FftRow

    @property
    def error(self) -> float:
        """Predicted / measured - 1, of the whole transform."""
        return self.predicted.total.time_s / self.measured.total.time_s - 1.0

    def phase_errors(self) -> dict[str, float | None]:
        """Return the same of each phase; None where the phase is less than 2 % of the transform."""
        least_s = _LEAST_SHARE * self.measured.total.time_s
        return {
            phase: None
            if (measured := self.measured.phases[phase].time_s) < least_s
            else self.predicted.phases[phase].time_s / measured - 1.0
            for phase in PHASES
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            **fft_case_keys(self.measured.case),
            "predicted": self.predicted.to_dict(),
            "measured": self.measured.to_dict(),
            "error": self.error,
            "phase_errors": self.phase_errors(),
        }


@dataclass(frozen=True)
class FftValidation:
    """All comparisons of one session, against one profile."""

    profile: str
    reading: str
    comparisons: Sequence[FftComparison]

    def summary(self) -> dict[str, Any]:
        """Return the mean absolute error of the whole and of each phase (None where none was large enough to judge)."""
        of_phase = {phase: [e for c in self.comparisons if (e := c.phase_errors()[phase]) is not None] for phase in PHASES}
        errors = [comparison.error for comparison in self.comparisons]
        return {
            "mape": fmean(map(abs, errors)),
            "bias": fmean(errors),
            "phases": {phase: fmean(map(abs, values)) if values else None for phase, values in of_phase.items()},
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "workload": "fft3d",
            "profile": self.profile,
            "reading": self.reading,
            "rows": [comparison.to_dict() for comparison in self.comparisons],
            "summary": self.summary(),
        }


def validate_ffts(
    profile_path: Path,
    cases: Sequence[FftCase],
    topology: Topology,
    samples: Path,
    seconds: float,
    reading: str = CALIBRATED,
    network: str | None = None,
) -> FftValidation:
    """Predict and run all cases. Raises InputError for a size that the calibration has seen."""
    profile = Profile.load(profile_path)
    model = FftModel(profile, reading, network)
    assert profile.fft3d is not None
    seen = {point.n for rates in profile.fft3d.rates for point in rates.points}
    known = sorted({case.n[0] for case in cases if len(set(case.n)) == 1 and case.n[0] in seen})
    if known:
        raise InputError(
            f"the calibration was made at n = {', '.join(map(str, known))}, too: judge it at other sizes, "
            "or calibrate at others with 'rankwise measure fft3d --n'"
        )
    predicted = list(model.rows(cases))
    measured = run_ffts(cases, topology, samples, seconds)
    return FftValidation(
        str(profile_path), reading, [FftComparison(p, m) for p, m in zip(predicted, measured, strict=True)]
    )
