"""Werner et al. 2023, simulated: the Shift on 64 ranks in every send mode beside the measured and the predicted times.

The simulator knows the ping-pong of Table 1 alone: 64 nodes on one switch, full speed in both directions. What its
synchronous Shift is off by is what the network of 64 busy nodes adds to a ping-pong of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rankwise.blocks import Column, Table
from rankwise.engines.platform import system_of_profile
from rankwise.engines.predict import predict_rows
from rankwise.engines.session import simulate_rows
from rankwise.papers import cited
from rankwise.papers.werner2023_study import RANKS, Published, ns, ping_pong_profile, published_rows
from rankwise.records import Record, computed, key, record
from rankwise.report.reproduction import Reproduction, Section
from rankwise.units import format_size
from rankwise.workloads.base import Row
from rankwise.workloads.exchange import Asked, ExchangeCase, make_cases, names

TOPOLOGY = "crossbar"
MODES = names().modes

Times = Mapping[tuple[str, int, int], float]  # of each mode, size and cutoff, in seconds


@record
class Timed(Record):
    """A row of Tables 2 to 6, simulated in each send mode."""

    row: Published = key(inline=True)
    simulated_s: Mapping[str, float] = key("time simulated, by send mode")
    our_prediction_s: Mapping[str, float] = key("time that our walk over the schedule predicts, by send mode")


@record
class Figures(Record):
    """The Shift of Tables 2 to 6, simulated."""

    paper = computed("the paper's id", str, lambda _: "werner2023")
    engine = computed("what made the figures: simgrid", str, lambda _: "simgrid")
    mape_simulated: float = key("mean absolute error of the simulated synchronous Shift against the measured times")
    mape_published: float = key("mean absolute error of the published prediction against them")
    mape_unit = computed("unit of both errors and of simulation_against_model", str, lambda _: "percent")
    simulation_against_model: Mapping[str, float] = key("mean absolute difference of simulation and our model, by send mode")
    rows: Sequence[Timed] = key("Tables 2 to 6 by row")


def reproduce(folder: Path) -> Reproduction:
    """Simulate all rows in every mode (a few minutes; what ``folder`` has is not done again)."""
    rows = published_rows()
    cutoffs, sizes = sorted({row.cutoff for row in rows}), sorted({row.message_bytes for row in rows})
    profile = ping_pong_profile()
    cases = make_cases(Asked(["shift"], None, cutoffs, sizes), [RANKS], [True])
    system = system_of_profile(profile, "JURECA, Table 1")
    simulated = simulate_rows(system, cases, TOPOLOGY, None, system.placement(), folder)
    return reproduction(rows, _times(simulated), _times(predict_rows(profile, cases)))


def _times(rows: Sequence[Row]) -> Times:
    return {
        (case.mode, case.message_bytes, case.cutoff): row.time_s for row in rows if isinstance(case := row.case, ExchangeCase)
    }


def reproduction(rows: Sequence[Published], simulated: Times, predicted: Times) -> Reproduction:
    """Put the simulation beside the paper and our prediction."""
    ssend = np.array([simulated["ssend", row.message_bytes, row.cutoff] for row in rows])
    measured, published = np.array([row.measured_s for row in rows]), np.array([row.predicted_s for row in rows])
    error = float(np.mean(np.abs(ssend / measured - 1)))
    published_error = float(np.mean(np.abs(published / measured - 1)))
    times = simulated, predicted
    apart = {mode: _apart(simulated, predicted, mode) for mode in MODES}
    answer = (
        f"Simulated, the synchronous Shift is off by {error:.2%} from the {len(rows)} measured times, the published prediction "
        f"by {published_error:.2%}; the two differ by at most {float(np.max(np.abs(ssend / published - 1))):.2%}.",
        "Simulation and our model differ by "
        + ", ".join(f"{value:.1%} ({mode})" for mode, value in apart.items())
        + " in the mean: neither knows anything but the ping-pong.",
    )
    return Reproduction(
        paper="werner2023",
        title="Werner et al. 2023: the Shift, simulated",
        answer=answer,
        sections=(
            Section.of(
                "simulated",
                "Simulated, measured, predicted",
                "64 ranks, one a node, on one switch, links as in Table 1. Only ssend was measured for the paper; the "
                "other modes stand beside our model's prediction.",
                _ssend_table(rows, simulated),
                _modes_table(rows, simulated, predicted),
            ),
        ),
        figures=Figures(
            100 * error,
            100 * published_error,
            {mode: 100 * value for mode, value in apart.items()},
            [Timed(row, *({mode: of[mode, row.message_bytes, row.cutoff] for mode in MODES} for of in times)) for row in rows],
        ),
        sources=(f"{cited('werner2023')}, Tables 1 to 6; simulated by SimGrid's SMPI.",),
        next_command="rankwise simulate exchange --profile machine.json --cutoff 1:4",
    )


def _apart(simulated: Times, predicted: Times, mode: str) -> float:
    return float(np.mean([abs(time_s / predicted[key] - 1) for key, time_s in simulated.items() if key[0] == mode]))


def _ssend_table(rows: Sequence[Published], simulated: Times) -> Table[Published]:
    def ours_s(row: Published) -> float:
        return simulated["ssend", row.message_bytes, row.cutoff]

    columns: Sequence[Column[Published]] = (
        Column("size", "message_bytes", format_size),
        Column("k", "cutoff", key="k"),
        Column("measured", "measured_s", ns),
        Column("predicted", "predicted_s", ns, "published_prediction_s"),
        Column("error", lambda row: row.predicted_s / row.measured_s - 1, "{:+.1%}".format),
        Column("simulated", ours_s, ns, "simulated_s"),
        Column("error", lambda row: ours_s(row) / row.measured_s - 1, "{:+.1%}".format),
    )
    caption = "Synchronous sends: measured, predicted as published, simulated; times in ns."
    return Table(columns, rows, name="ssend", caption=caption)


def _modes_table(rows: Sequence[Published], simulated: Times, predicted: Times) -> Table[Published]:
    def of(mode: str, times: Times, head: str, name: str) -> Column[Published]:
        return Column(head, lambda row: times[mode, row.message_bytes, row.cutoff], lambda s: f"{1e6 * s:.2f}", name)

    columns: list[Column[Published]] = [Column("size", "message_bytes", format_size), Column("k", "cutoff", key="k")]
    for mode in MODES:
        columns += [
            of(mode, simulated, mode, f"{mode}_simulated_s"), of(mode, predicted, f"{mode}, model", f"{mode}_model_s")
        ]  # fmt: skip
    readers = Table(columns, [row for row in rows if row.cutoff in (1, 2, 4, 10)])
    caption = "Every mode, simulated and by our model, in us; all k in the CSV."
    return Table(columns, rows, name="modes", caption=caption, readers=readers)
