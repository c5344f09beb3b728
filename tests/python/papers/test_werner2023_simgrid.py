"""werner2023 under SimGrid: the simulated synchronous Shift is what the published prediction says."""

from __future__ import annotations

from pathlib import Path

import pytest

import schemas
from rankwise.api.reporting import Reproduced
from rankwise.engines.platform import system_of_profile
from rankwise.engines.predict import predict_rows
from rankwise.engines.session import simulate_rows
from rankwise.papers.werner2023_simgrid import MODES, RANKS, TOPOLOGY, reproduction
from rankwise.papers.werner2023_study import ping_pong_profile, published_rows
from rankwise.report.reproduction import render
from rankwise.workloads.exchange import Asked, make_cases


@pytest.mark.simgrid
def test_simulated_rows_agree_with_the_published_prediction(tmp_path: Path) -> None:
    profile = ping_pong_profile()
    system = system_of_profile(profile, "JURECA")
    sizes = sorted({row.message_bytes for row in published_rows()})
    cases = make_cases(Asked(["shift"], ["ssend"], [1, 10], sizes), [RANKS], [True])
    rows = simulate_rows(system, cases, TOPOLOGY, None, system.placement(), tmp_path)
    printed = {(row.message_bytes, row.cutoff): row.predicted_s for row in published_rows()}
    for row in rows:
        assert row.verified
        assert row.time_s == pytest.approx(printed[row.case.message_bytes, row.case.cutoff], rel=0.005)


def test_the_page_says_how_far_simulation_is_from_measurement() -> None:
    # The model's own times in the place of simulated ones: the page must then say what the published model's says.
    rows = published_rows()
    cases = make_cases(
        Asked(["shift"], list(MODES), sorted({r.cutoff for r in rows}), sorted({r.message_bytes for r in rows})),
        [RANKS],
        [True],
    )
    times = {
        (row.case.mode, row.case.message_bytes, row.case.cutoff): row.time_s for row in predict_rows(ping_pong_profile(), cases)
    }
    page = reproduction(rows, times, times)
    assert page.figures.mape_simulated == pytest.approx(7.05, abs=0.01)
    assert set(page.figures.simulation_against_model.values()) == {0.0}
    assert "Synchronous sends" in render(page)
    schemas.check("reproduce-werner2023-simgrid", Reproduced(page, []).to_dict())
