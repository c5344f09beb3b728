"""Rows of the model: what a prediction needs, and nothing of what runs or simulates."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.engines.model import Model
from rankwise.engines.placement import Placement, profile_placement
from rankwise.machine.profile import Profile
from rankwise.workloads import workloads
from rankwise.workloads.base import Case, Row


def predict_rows(
    profile: Profile,
    cases: Sequence[Case],
    placement: Placement | None = None,
    link_model: str | None = None,
    loaded: bool = False,
) -> list[Row]:
    """Ask the model for all cases, ranks placed as the profile's scheduler would unless a placement says otherwise.

    What a case says is to be timed for it is timed first, where it was not before.
    """
    model, placed = Model(profile, link_model, loaded), placement or profile_placement(profile)
    if any(case.workload == "fft3d" for case in cases):
        from rankwise.engines.fft_lengths import timed

        cases = timed(profile, cases, placed, model.pricer(placed))
    return finished(model.rows(cases, placed))


def finished(rows: Sequence[Row]) -> list[Row]:
    """Return rows of one workload with what it adds to them."""
    return workloads()[rows[0].case.workload].finish(rows) if rows else []
