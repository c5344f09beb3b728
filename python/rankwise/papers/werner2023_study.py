"""Werner et al. 2023: what is printed, and each model's predictions of it.

The paper predicts its 1-D Shift on 64 nodes by Eq. 1, doubled since a synchronous send cannot overlap both directions:
4 k T(m), with T(m) from the ping-pong of Table 1. Here the same walk over the schedule that ``predict exchange`` makes gives
these times. All errors are predicted / measured - 1; ``mape`` is their mean absolute value in percent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.engines.predict import predict_rows
from rankwise.machine.link import LinkModel, Segment
from rankwise.machine.profile import Link, Profile
from rankwise.measure.imports import import_profile
from rankwise.models.curve import curve_from_table
from rankwise.models.max_rate import with_contention
from rankwise.papers import DATA, printed
from rankwise.papers import werner2023_tradeoff as tradeoff
from rankwise.records import Interval, Record, key, record
from rankwise.statistics import interval_95
from rankwise.workloads.exchange import Asked, make_cases

LINK = "other-node"
RANKS = 64  # section 4.2


@record
class Published(Record):
    """One row of Tables 2 to 6, as printed."""

    table: int = key("number of the paper's table")
    message_bytes: int = key("size of a rank's block")
    cutoff: int = key("layers of neighbours, k")
    measured_s: float = key("mean of the measured times")
    sigma_s: float = key("standard deviation of the measured times", name="measured_sigma_s")
    predicted_s: float = key("time that the paper predicts", name="published_prediction_s")


@record
class PingPong(Record):
    """One row of Table 1, as printed."""

    message_bytes: int = key("size of a message")
    latency_s: float = key("mean time of a message, one way")
    sigma_s: float = key("standard deviation of latency_s")
    beta_s_per_byte: float | None = key("printed time of a byte; null: of an empty message none is printed")


@record
class Judged(Record):
    """A model against the 50 measured times; errors in percent. Errors by size and with a size left out are of predictions
    that knew nothing of the exchanges of the size that they predict."""

    name: str = key("name of the model", name="model")
    what: str = key("what the model is")
    parameters: Mapping[str, float] = key("its parameters by name")
    predicted_s: Floats
    mape: float = key("mean absolute error over all rows")
    mape_unseen: float = key("mean absolute error on sizes that it was not fitted to", name="mape_leave_one_size_out")
    by_size: Mapping[int, float] = key(
        "mean absolute error by size, which it was not fitted to", name="mape_by_size", shape=Mapping[str, float]
    )
    intervals: Mapping[str, Interval] = key(
        "95 % intervals of parameters, where known", factory=dict, name="parameters_ci", after="parameters"
    )


def ns(time_s: float) -> str:
    """Write a time in ns, as the paper does."""
    return f"{1e9 * time_s:,.0f}"


def published_rows() -> list[Published]:
    """Return Tables 2 to 6 in the order of message size and cutoff."""
    rows = [Published(*row.values()) for row in printed("werner2023_shift_1d")]
    return sorted(rows, key=lambda row: (row.message_bytes, row.cutoff))


def published_ping_pong() -> list[PingPong]:
    """Return Table 1."""
    return [PingPong(*row.values()) for row in printed("werner2023_pingpong")]


def ping_pong_profile() -> Profile:
    """Return Table 1 as a profile of links between nodes."""
    return import_profile([DATA / "werner2023_pingpong.csv"], LINK, "JURECA")


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
        by_fit, ends = self.curve.models["hockney"], Segment(0, None, self.curve.alpha_s, self.betas[self.sizes[-1]])
        by_ends = LinkModel("two-point", (ends,), "T(0), and the beta of the largest size")
        # The fit that 'rankwise fit' makes of Table 1: least squares of the logarithms.
        self.hockney = self._line(by_fit, f"one alpha and one beta by least squares over Table 1, {by_fit.method}")
        self.two_point = self._line(by_ends, "one alpha and one beta: the empty message and the largest one of Table 1")
        self.duels = tradeoff.duels(profile, self.sizes)
        self.max_rate = self._max_rate()
        self.floor_by_size = {size: self._line_error(self.size_of == size) for size in self.sizes}
        self.floor = float(np.mean(list(self.floor_by_size.values())))
        self.models = (self.lookup, self.hockney, self.two_point, self.max_rate)
        self.bias = float(np.mean(self.errors(self.published)))
        self.difference_ns = 1e9 * float(np.max(np.abs(self.ours - self.published)))
        self.inside_sigma = float(np.mean(np.abs(self.published - self.measured) <= self.sigma))
        self.median_sigma = float(np.median(self.sigma / self.measured))

    def walk(self, model: LinkModel) -> Floats:
        """Walk the Shift's schedule with a link model; one time for each row of the paper."""
        curve = dataclasses.replace(self.curve, model=model.name, models={**self.curve.models, model.name: model})
        with_model = dataclasses.replace(self.profile, links={LINK: Link(curve)})
        cutoffs = sorted({row.cutoff for row in self.rows})
        cases = make_cases(Asked(["shift"], ["ssend"], cutoffs, self.sizes), [RANKS], [True])
        rows = predict_rows(with_model, cases)
        found = {(case.message_bytes, case.cutoff): row.time_s for case, row in zip(cases, rows, strict=True)}
        return np.array([found[row.message_bytes, row.cutoff] for row in self.rows])

    def errors(self, predicted: Floats) -> Floats:
        """Return the errors in percent."""
        return np.asarray(100 * (predicted / self.measured - 1))

    def mape(self, predicted: Floats) -> float:
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
        predicted: Floats,
        unseen: Floats | None = None,
        intervals: Mapping[str, Interval] | None = None,
    ) -> Judged:
        unseen = predicted if unseen is None else unseen
        errors = np.abs(self.errors(unseen))
        by_size = {size: float(np.mean(errors[self.size_of == size])) for size in self.sizes}
        return Judged(name, what, parameters, predicted, self.mape(predicted), float(np.mean(errors)), by_size, intervals or {})

    def _line(self, model: LinkModel, what: str) -> Judged:
        (line,) = model.segments
        parameters = {"alpha_s": line.latency_s, "beta_s_per_byte": line.beta_s_per_byte}
        return self._judged(model.name, what, parameters, self.walk(model))

    def _max_rate(self) -> Judged:
        # The smallest size of Table 1 whose bytes take longer than an empty message: no exchange is needed.
        from_bytes = next(p.size_bytes for p in self.curve.table if p.time_s - self.curve.alpha_s > self.curve.alpha_s)
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

    def _factor(self, rows: Array) -> float:
        """Return what the look-up must be multiplied by, by relative least squares over some rows."""
        ratio = self.ours[rows] / self.measured[rows]
        return float(np.sum(ratio) / np.sum(ratio**2))

    def _line_error(self, rows: Array) -> float:
        """Return the error in percent of a line in k, each k predicted from the others: the noise."""
        cutoff, measured = self.cutoff_of[rows], self.measured[rows]
        errors = []
        for i in range(cutoff.size):
            others = np.arange(cutoff.size) != i
            design = np.column_stack([np.ones(cutoff.size), cutoff]) / measured[:, None]
            line, *_ = np.linalg.lstsq(design[others], np.ones(cutoff.size - 1), rcond=None)
            errors.append(abs(float(design[i] @ line) - 1))
        return 100 * float(np.mean(errors))
