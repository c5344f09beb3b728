"""Werner et al. 2023: Tables 1 to 6 redone, the published prediction tested, and a model of ours beside it.

The paper predicts its 1-D Shift on 64 nodes by Eq. 1, doubled since a synchronous send cannot overlap both directions:
4 k T(m), with T(m) from the ping-pong of Table 1. Here the same walk over the schedule that ``predict exchange`` makes gives
these times. All errors are predicted / measured - 1; ``mape`` is their mean absolute value in percent.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.blocks import Column, Picture, Table
from rankwise.engines.session import predict_rows
from rankwise.machine.link import LinkModel, Segment
from rankwise.machine.profile import Link, Profile
from rankwise.measure.imports import import_profile
from rankwise.models.curve import curve_from_table
from rankwise.models.max_rate import with_contention
from rankwise.papers import werner2023_raw as raw
from rankwise.papers import werner2023_tradeoff as tradeoff
from rankwise.records import Interval
from rankwise.report.chart import Chart
from rankwise.report.reproduction import Reproduction, Section
from rankwise.statistics import interval_95
from rankwise.units import format_percent, format_size
from rankwise.workloads.exchange import Asked, make_cases

Array = NDArray[np.float64]

DATA = Path(__file__).with_name("data")
LINK = "other-node"
_RANKS = 64  # section 4.2
_TITLE = "Werner et al. 2023: the Shift, predicted and measured"


@dataclass(frozen=True)
class Published:
    """One row of Tables 2 to 6, as printed."""

    table: int
    message_bytes: int
    cutoff: int
    measured_s: float
    sigma_s: float
    predicted_s: float


@dataclass(frozen=True)
class PingPong:
    """One row of Table 1, as printed; an empty message has no beta."""

    message_bytes: int
    latency_s: float
    sigma_s: float
    beta_s_per_byte: float | None


@dataclass(frozen=True)
class Judged:
    """A model against the 50 measured times: what it is, its parameters, predictions, errors in percent.

    ``by_size`` and ``mape_unseen`` are of predictions that knew nothing of the exchanges of the size that they predict.
    """

    name: str
    what: str
    parameters: Mapping[str, float]
    predicted_s: Array
    mape: float
    mape_unseen: float
    by_size: Mapping[int, float]
    intervals: Mapping[str, Interval] = dataclasses.field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.name,
            "what": self.what,
            "parameters": dict(self.parameters),
            "parameters_ci": {name: list(pair) for name, pair in self.intervals.items()},
            "mape": self.mape,
            "mape_leave_one_size_out": self.mape_unseen,
            "mape_by_size": {str(size): error for size, error in self.by_size.items()},
        }


def published_rows() -> list[Published]:
    """Return Tables 2 to 6 in the order of message size and cutoff."""
    with (DATA / "werner2023_shift_1d.csv").open(encoding="utf-8", newline="") as stream:
        rows = [
            Published(
                int(row["table"]),
                int(row["message_bytes"]),
                int(row["k"]),
                *(int(row[column]) / 1e9 for column in ("measured_ns", "measured_sigma_ns", "predicted_ns")),
            )
            for row in csv.DictReader(stream)
        ]
    return sorted(rows, key=lambda row: (row.message_bytes, row.cutoff))


def published_ping_pong() -> list[PingPong]:
    """Return Table 1."""
    with (DATA / "werner2023_pingpong.csv").open(encoding="utf-8", newline="") as stream:
        return [
            PingPong(
                int(row["message_bytes"]),
                int(row["latency_ns"]) / 1e9,
                int(row["sigma_ns"]) / 1e9,
                float(row["beta_ns_per_byte"]) / 1e9 if row["beta_ns_per_byte"] else None,
            )
            for row in csv.DictReader(stream)
        ]


def ping_pong_profile() -> Profile:
    """Return Table 1 as a profile of links between nodes."""
    return import_profile([DATA / "werner2023_pingpong.csv"], LINK, "JURECA")


def reproduce() -> Reproduction:
    """Compute everything from the paper's tables alone."""
    rows = published_rows()
    study = Study(rows, ping_pong_profile())
    return _reproduction(study)


class Study:
    """All predictions of the 50 rows and what they come to."""

    def __init__(self, rows: Sequence[Published], profile: Profile) -> None:
        self.rows = rows
        self.profile = profile
        self.curve = profile.links[LINK].send
        self.ping_pong = published_ping_pong()
        self.betas = {row.message_bytes: row.beta_s_per_byte for row in self.ping_pong if row.beta_s_per_byte is not None}
        self.sizes = sorted({row.message_bytes for row in rows})
        self.size_of = np.array([row.message_bytes for row in rows])
        self.cutoff_of = np.array([row.cutoff for row in rows], dtype=np.float64)
        self.measured = np.array([row.measured_s for row in rows])
        self.sigma = np.array([row.sigma_s for row in rows])
        self.published = np.array([row.predicted_s for row in rows])
        self.ours = self.walk(self.curve.chosen())
        self.lookup = self._judged(
            "published",
            "a look-up in Table 1: alpha and five betas, one for each size",
            {"alpha_s": self.curve.alpha_s, **{f"beta_{s}_s_per_byte": self.betas[s] for s in self.sizes}},
            self.published,
        )
        self.hockney = self._hockney()
        self.two_point = self._two_point()
        self.duels = tradeoff.duels(profile, self.sizes)
        self.max_rate = self._max_rate()
        self.floor_by_size = {size: self._line_error(self.size_of == size) for size in self.sizes}

    def walk(self, model: LinkModel, profile: Profile | None = None) -> Array:
        """Walk the Shift's schedule with a link model; one time for each row of the paper."""
        curve = dataclasses.replace(self.curve, model=model.name, models={**self.curve.models, model.name: model})
        with_model = dataclasses.replace(profile or self.profile, links={LINK: Link(curve)})
        cutoffs = sorted({row.cutoff for row in self.rows})
        cases = make_cases(Asked(["shift"], ["ssend"], cutoffs, self.sizes), [_RANKS], [True])
        rows = predict_rows(with_model, cases)
        found = {(case.message_bytes, case.cutoff): row.time_s for case, row in zip(cases, rows, strict=True)}
        return np.array([found[row.message_bytes, row.cutoff] for row in self.rows])

    def errors(self, predicted: Array) -> Array:
        """Return the errors in percent."""
        return np.asarray(100 * (predicted / self.measured - 1))

    def mape(self, predicted: Array) -> float:
        return float(np.mean(np.abs(self.errors(predicted))))

    def without_its_ping_pong(self) -> float:
        """Return the error of the look-up when Table 1 lacks the size that is predicted, so that it is interpolated."""
        predicted = np.empty_like(self.ours)
        for size in self.sizes:
            known = [point for point in self.curve.table if point.size_bytes != size]
            here = self.size_of == size
            predicted[here] = self.walk(curve_from_table(known, "as published").chosen())[here]
        return self.mape(predicted)

    def table_of(self, size: int) -> int:
        """Return the number of the table that holds a size."""
        return next(row.table for row in self.rows if row.message_bytes == size)

    def _judged(
        self,
        name: str,
        what: str,
        parameters: Mapping[str, float],
        predicted: Array,
        unseen: Array | None = None,
        intervals: Mapping[str, Interval] | None = None,
    ) -> Judged:
        unseen = predicted if unseen is None else unseen
        errors = np.abs(self.errors(unseen))
        by_size = {size: float(np.mean(errors[self.size_of == size])) for size in self.sizes}
        return Judged(name, what, parameters, predicted, self.mape(predicted), float(np.mean(errors)), by_size, intervals or {})

    def _hockney(self) -> Judged:
        """The fit that 'rankwise fit' makes of Table 1: least squares of the logarithms."""
        model = self.curve.models["hockney"]
        (line,) = model.segments
        return self._judged(
            "hockney",
            "one alpha and one beta by least squares over Table 1, " + model.method,
            {"alpha_s": line.latency_s, "beta_s_per_byte": line.beta_s_per_byte},
            self.walk(model),
        )

    def _two_point(self) -> Judged:
        alpha, beta = self.curve.alpha_s, self.betas[self.sizes[-1]]
        model = LinkModel("two-point", (Segment(0, None, alpha, beta),), "T(0), and the beta of the largest size")
        return self._judged(
            "two-point",
            "one alpha and one beta: the empty message and the largest one of Table 1",
            {"alpha_s": alpha, "beta_s_per_byte": beta},
            self.walk(model),
        )

    def _max_rate(self) -> Judged:
        from_bytes = self._bytes_outweigh_latency()
        busy = self.size_of >= from_bytes
        unseen = np.empty_like(self.ours)
        for size in self.sizes:
            factor = self._factor(busy & (self.size_of != size))
            here = self.size_of == size
            unseen[here] = self.walk(with_contention(self.curve.chosen(), factor, from_bytes))[here]
        factor = self._factor(busy)
        rng = np.random.default_rng(2023)
        drawn = [self._factor(rng.choice(np.flatnonzero(busy), size=int(busy.sum()))) for _ in range(1000)]
        return self._judged(
            "max-rate",
            "Table 1, and above the size whose bytes take longer than its latency one factor for a network that all "
            "64 nodes use at once",
            {"contention_factor": factor, "contention_from_bytes": from_bytes},
            self.walk(with_contention(self.curve.chosen(), factor, from_bytes)),
            unseen,
            {"contention_factor": interval_95(np.array(drawn))},
        )

    def _bytes_outweigh_latency(self) -> int:
        """Return the smallest size of Table 1 whose bytes take longer than an empty message: no exchange is needed."""
        return next(p.size_bytes for p in self.curve.table if p.time_s - self.curve.alpha_s > self.curve.alpha_s)

    def _factor(self, rows: NDArray[Any]) -> float:
        """Return what the look-up must be multiplied by, by relative least squares over some rows."""
        ratio = self.ours[rows] / self.measured[rows]
        return float(np.sum(ratio) / np.sum(ratio**2))

    def _line_error(self, rows: NDArray[Any]) -> float:
        """Return the error in percent of a line in k, each k predicted from the others: the noise."""
        cutoff, measured = self.cutoff_of[rows], self.measured[rows]
        errors = []
        for i in range(cutoff.size):
            others = np.arange(cutoff.size) != i
            design = np.column_stack([np.ones(cutoff.size), cutoff]) / measured[:, None]
            line, *_ = np.linalg.lstsq(design[others], np.ones(cutoff.size - 1), rcond=None)
            errors.append(abs(float(design[i] @ line) - 1))
        return 100 * float(np.mean(errors))


def _reproduction(study: Study) -> Reproduction:
    bias = float(np.mean(study.errors(study.published)))
    inside = float(np.mean(np.abs(study.published - study.measured) <= study.sigma))
    median_sigma = float(np.median(study.sigma / study.measured))
    difference_ns = 1e9 * float(np.max(np.abs(study.ours - study.published)))
    floor = float(np.mean(list(study.floor_by_size.values())))
    strict = study.without_its_ping_pong()
    factor = study.max_rate.parameters["contention_factor"]
    low, high = study.max_rate.intervals["contention_factor"]
    threshold = format_size(int(study.max_rate.parameters["contention_from_bytes"]))
    count = len(study.rows)
    two_misses = study.two_point.mape > study.hockney.mape
    answer = (
        f"Walking the Shift's schedule with the ping-pong of Table 1 gives the published prediction of all {count} rows "
        f"to within {difference_ns:.0f} ns.",
        f"It is off by {study.lookup.mape:.2f} % on average and too {'low' if bias < 0 else 'high'} by {abs(bias):.1f} %, but "
        f"it is a look-up: it uses {len(study.sizes)} betas, one for each size. With one alpha and one beta by least squares "
        "over Table 1 the error is "
        f"{study.hockney.mape:.1f} %; taken from its first and last row alone, {study.two_point.mape:.1f} %.",
        f"One factor of {factor:.2f} for messages of {threshold} or more brings it to {study.max_rate.mape_unseen:.2f} % on "
        f"sizes whose exchanges it has not seen; noise alone leaves {floor:.1f} %.",
        f"Team Shift against the Shift, both taking turns as the paper's ssend does: "
        f"{tradeoff.sentence(study.duels, 'in turns')}",
    )
    record = {
        "paper": "werner2023",
        "published_prediction_max_abs_diff_ns": difference_ns,
        "rows_count": count,
        "mape_published": study.lookup.mape,
        "mape_unit": "percent",
        "bias_published": bias,
        "share_inside_sigma_published": inside,
        "median_sigma_of_mean": median_sigma,
        "mape_published_without_its_ping_pong": strict,
        "models": [judged.to_dict() for judged in (study.lookup, study.hockney, study.two_point, study.max_rate)],
        "best_model": study.max_rate.name,
        "mape_noise_floor": floor,
        "mape_noise_floor_by_size": {str(size): error for size, error in study.floor_by_size.items()},
        "tradeoff": tradeoff.record(study.duels),
        "ping_pong": [dataclasses.asdict(row) for row in study.ping_pong],
        "rows": [
            {
                "table": row.table,
                "message_bytes": row.message_bytes,
                "cutoff": row.cutoff,
                "measured_s": row.measured_s,
                "measured_sigma_s": row.sigma_s,
                "published_prediction_s": row.predicted_s,
                "our_prediction_s": ours,
                "hockney_prediction_s": hockney,
                "max_rate_prediction_s": max_rate,
            }
            for row, ours, hockney, max_rate in zip(
                study.rows,
                study.ours.tolist(),
                study.hockney.predicted_s.tolist(),
                study.max_rate.predicted_s.tolist(),
                strict=True,
            )
        ],
    }
    return Reproduction(
        paper="werner2023",
        title=_TITLE,
        answer=answer,
        sections=(
            Section(
                "models",
                "How good the predictions are",
                (
                    f"Errors are predicted over measured, minus one. The published prediction is "
                    f"{'below' if bias < 0 else 'above'} the measurement by {abs(bias):.1f} % on average. The paper notes that "
                    f"every prediction lies within one standard deviation: {100 * inside:.0f} % do, where the median deviation "
                    f"is {100 * median_sigma:.0f} % of the mean and the published prediction off by {study.lookup.mape:.0f} %.",
                    "A look-up cannot answer for a size that was not in the ping-pong: interpolated from the other sizes "
                    f"of Table 1, it is off by {strict:.0f} %. Hockney's model proper has two parameters: fitted to all of "
                    f"Table 1 it is off by {study.hockney.mape:.1f} %, set by the empty and the largest message by "
                    f"{study.two_point.mape:.1f} %"
                    + (": a line through two points misses the sizes in between." if two_misses else "."),
                    f"Ours keeps Table 1 and adds one number, {factor:.3f} (95 % interval {low:.3f} to {high:.3f}): what a "
                    f"message of {threshold} or more takes longer when all nodes send at once. The threshold is the first "
                    "size of Table 1 whose bytes take longer than an empty message; the factor for a size is fitted to the "
                    "exchanges of all other sizes.",
                    "The noise floor is the error of a straight line in k for each size, every k predicted from the "
                    "other nine: about what can be expected of any model.",
                ),
                (
                    _models_table(study, floor),
                    _picture("errors", study, "Error of each prediction, a panel for each size of a block; the "
                             "bar is one standard deviation of the measurement.", "errors_picture"),
                    _picture("by-size", study, "Mean absolute error by size, on exchanges that a model has not seen.",
                             "by_size_picture"),
                ),
            ),
            tradeoff.section(study.duels),
            raw.section(study),
            Section(
                "tables",
                "The tables, as published and ours",
                (
                    f"Ours is the walk over the schedule of 64 ranks with Table 1, as 'rankwise predict exchange' makes it; "
                    f"the difference to the published prediction is at most {difference_ns:.0f} ns.",
                ),
                (_table_1(study), *(_table(study, size) for size in sorted(study.sizes, key=study.table_of))),
            ),
        ),
        record=record,
        sources=(
            "T. Werner, C. Päßler, I. Kabadshow, M. Werner: Analytical Model of Communication Algorithm for Simulations "
            "with Range-Limited Interactions, 2023. Table 1 is the ping-pong between nodes of JURECA, Tables 2 to 6 the "
            "1-D Shift with synchronous sends on 64 nodes; all other figures on this page are computed from them.",
        ),
        next_command="rankwise measure -o machine.json   # the same for your machine",
    )  # fmt: skip


def _picture(name: str, study: Study, caption: str, function: str) -> Picture:
    def draw() -> Chart:
        from rankwise.report import shift_errors

        picture: Callable[[Study], Chart] = getattr(shift_errors, function)
        return picture(study)

    return Picture(name, caption, draw)


def _models_table(study: Study, floor: float) -> Table[Any]:
    noise = SimpleNamespace(name="noise floor", parameters={}, mape=None, mape_unseen=floor, by_size=study.floor_by_size)

    def counted(judged: Any) -> int | None:
        own = len(judged.parameters) + (len(study.lookup.parameters) if judged is study.max_rate else 0)
        return None if judged is noise else own

    def of_size(size: int) -> Callable[[Any], float]:
        return lambda judged: float(judged.by_size[size])

    return Table(
        [
            Column("model", "name", key="model"),
            Column("parameters", counted),
            Column(None, lambda judged: "; ".join(f"{n}={v:.6g}" for n, v in judged.parameters.items()), key="parameters"),
            Column("error", "mape", "{:.2f} %".format, key="mape_percent"),
            Column("error, size not seen", "mape_unseen", "{:.2f} %".format, key="mape_leave_one_size_out_percent"),
            *(
                Column(format_size(size), of_size(size), "{:.1f} %".format, key=f"mape_{size}_bytes_percent")
                for size in study.sizes
            ),
        ],
        (study.lookup, study.hockney, study.two_point, study.max_rate, noise),
        name="models",
        caption="Mean absolute error over all 50 rows, on sizes that were not seen, and by size of a block. Parameters are "
        "counted with those of Table 1.",
    )  # fmt: skip


def _ns(time_s: float) -> str:
    return f"{1e9 * time_s:,.0f}"


_TABLE_1: Sequence[Column[PingPong]] = (
    Column("load", "message_bytes", format_size),
    Column("latency, ns", "latency_s", _ns),
    Column("sigma, ns", "sigma_s", _ns),
    Column("beta, ns/B", "beta_s_per_byte", lambda beta: f"{1e9 * beta:.3f}"),
)


def _table_1(study: Study) -> Table[PingPong]:
    return Table(_TABLE_1, study.ping_pong, name="table-1", caption="Table 1: the ping-pong, and beta derived from it")


@dataclass(frozen=True)
class _Timed:
    """A row of Tables 2 to 6 with what is predicted of it."""

    row: Published
    ours_s: float
    hockney_s: float
    max_rate_s: float

    def error(self, predicted_s: float) -> float:
        return predicted_s / self.row.measured_s - 1


_TIMED: Sequence[Column[_Timed]] = (
    Column("k", "row.cutoff", key="k"),
    Column("measured", "row.measured_s", _ns, "measured_s"),
    Column("sigma", "row.sigma_s", _ns, "measured_sigma_s"),
    Column("published", "row.predicted_s", _ns, "published_prediction_s"),
    Column("error", lambda timed: timed.error(timed.row.predicted_s), format_percent),
    Column("ours", "ours_s", _ns, "our_prediction_s"),
    Column(
        "− published", lambda timed: timed.ours_s - timed.row.predicted_s, lambda time_s: f"{1e9 * time_s:+.0f}",
        "ours_minus_published_s",
    ),
    Column("hockney", "hockney_s", _ns, "hockney_prediction_s"),
    Column("error", lambda timed: timed.error(timed.hockney_s), format_percent),
    Column("max-rate", "max_rate_s", _ns, "max_rate_prediction_s"),
    Column("error", lambda timed: timed.error(timed.max_rate_s), format_percent),
)  # fmt: skip


def _table(study: Study, size: int) -> Table[_Timed]:
    predictions = (study.ours, study.hockney.predicted_s, study.max_rate.predicted_s)
    timed = [
        _Timed(row, *(float(times[i]) for times in predictions))
        for i, row in enumerate(study.rows) if row.message_bytes == size
    ]  # fmt: skip
    number = study.table_of(size)
    caption = f"Table {number}: Shift (1-D) on {_RANKS} nodes, blocks of {format_size(size)}; times in ns"
    return Table(_TIMED, timed, name=f"table-{number}", caption=caption)
