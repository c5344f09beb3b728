"""Werner et al. 2023 on this machine: the Shift of Tables 2 to 6, its ping-pong free and beside traffic, means and smallest 20
%.

What sections 6.2.2 and 6.2.3 leave to future work: alpha and beta measured while others keep the link busy, and both model and
measurement taken from the smallest fifth of the samples, alike and for all sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rankwise.blocks import Column, Table
from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.records import Record, computed, key, record
from rankwise.report.reproduction import Reproduction, Section
from rankwise.units import format_size
from rankwise.workloads.base import Row
from rankwise.workloads.exchange import Asked, ExchangeCase, make_cases

SIZES = (10, 100, 1000, 10_000, 100_000)
CUTOFFS = tuple(range(1, 11))
_PING_PONG_S, _CASE_S = 20.0, 0.2
STATISTICS = ("mean", "smallest-20")

Times = Mapping[tuple[int, int], float]


@record
class Timed(Record):
    """A row of Tables 2 to 6 on this machine, by statistic: mean, and the smallest 20 % (smallest-20)."""

    message_bytes: int = key("size of a rank's block")
    cutoff: int = key("cutoff of the Shift")
    measured_s: Mapping[str, float] = key("time measured, by statistic")
    predicted_s: Mapping[str, float] = key("time predicted from the ping-pong of the same statistic, by statistic")


@record
class Figures(Record):
    """The Shift of Tables 2 to 6 on this machine, predicted and measured."""

    paper = computed("the paper's id", str, lambda _: "werner2023")
    engine = computed("what made the figures: run", str, lambda _: "run")
    ranks: int = key("ranks of the Shift")
    error: Mapping[str, float] = key("mean error of the prediction as a share, by statistic")
    deviation: Mapping[str, float] = key("median over rows of standard deviation by mean, by statistic")
    error_beside_traffic: float | None = key("error of means predicted beside traffic; null: too few cores to measure that")
    rows: Sequence[Timed] = key("the Shift by size and cutoff")


def reproduce(folder: Path) -> Reproduction:
    """Measure the ping-pong and the Shift on this machine (about a minute), and set one against the other.

    ``folder`` keeps profile and samples. Raises RankwiseError and its kinds.
    """
    from rankwise.engines.run import Here
    from rankwise.engines.session import run_rows
    from rankwise.measure.campaign import Plan
    from rankwise.measure.profiles import measure_machine, profile_of_samples
    from rankwise.measure.samples import samples_path_of

    here = Here()
    ranks = len(here.cpus) // 2 * 2  # even, as in the paper
    if ranks < 2:
        raise InputError("this machine has one core: the Shift needs two ranks")
    folder.mkdir(parents=True, exist_ok=True)
    profile_path = folder / "werner2023-here.json"
    plan = Plan({}, (0, *SIZES), background=1 if ranks >= 4 else 0, seconds=_PING_PONG_S, statistic="mean")
    measure_machine(profile_path, False, plan)
    profiles = {name: profile_of_samples(samples_path_of(profile_path), name) for name in STATISTICS}
    cases = make_cases(Asked(["shift"], ["ssend"], CUTOFFS, SIZES), [ranks], [True])
    rows = run_rows(cases, here, folder / "werner2023-shift.samples.jsonl", _CASE_S)
    return reproduction(rows, profiles, ranks)


def reproduction(rows: list[Row], profiles: Mapping[str, Profile], ranks: int) -> Reproduction:
    """Set measured rows (with their samples) against what profiles of the same statistic predict."""
    measured = {name: _measured(rows, name) for name in STATISTICS}
    predicted = {name: _predicted(profile, rows) for name, profile in profiles.items()}
    with_traffic = all(link.loaded is not None for link in profiles["mean"].links.values())
    beside = _predicted(profiles["mean"], rows, loaded=True) if with_traffic else None
    loaded = None if beside is None else _error(beside, measured["mean"])
    errors = {name: _error(predicted[name], measured[name]) for name in STATISTICS}
    spreads = {name: _noise(rows, name) for name in STATISTICS}
    better = "closer than" if errors["smallest-20"] < errors["mean"] else "no closer than"
    answer = [
        f"On this machine, {ranks} ranks, the Shift is predicted to {errors['mean']:.1%} from mean to mean, and to "
        f"{errors['smallest-20']:.1%} from the smallest 20 % to the smallest 20 %: {better} by means.",
        f"The samples deviate by {spreads['mean']:.0%} of their mean (median of {len(rows)} rows), the smallest 20 % by "
        f"{spreads['smallest-20']:.1%} of theirs.",
    ]
    if loaded is not None:
        verb = "helps" if loaded < errors["mean"] else "does not help"
        answer.append(f"A ping-pong beside traffic {verb}: predicted from it the error is {loaded:.1%}.")
    else:
        answer.append("Beside traffic no ping-pong was measured: that takes four cores, this machine lends fewer.")
    timed = [
        Timed(*at, *({name: times[at] for name, times in of.items()} for of in (measured, predicted)))
        for at in measured["mean"]
    ]
    return Reproduction(
        paper="werner2023",
        title="Werner et al. 2023: the Shift on this machine",
        answer=answer,
        sections=(Section.of("here", "Means, and the smallest 20 %", _table(measured, predicted)),),
        figures=Figures(ranks, errors, spreads, loaded, timed),
        sources=("Measured on this machine; the experiment is that of sections 4.2 to 4.4, 6.2.2 and 6.2.3 of werner2023.",),
        next_command="rankwise measure -o machine.json",
    )


def _key(row: Row) -> tuple[int, int]:
    assert isinstance(row.case, ExchangeCase)
    return row.case.message_bytes, row.case.cutoff


def _measured(rows: list[Row], statistic: str) -> Times:
    from rankwise.statistics import location

    return {_key(row): location(np.asarray(row.samples_s), statistic) for row in rows}


def _predicted(profile: Profile, rows: list[Row], loaded: bool = False) -> Times:
    from rankwise.engines.predict import predict_rows

    return {_key(row): row.time_s for row in predict_rows(profile, [row.case for row in rows], loaded=loaded)}


def _error(predicted: Times, measured: Times) -> float:
    return float(np.mean([abs(predicted[key] / measured[key] - 1) for key in measured]))


def _noise(rows: list[Row], statistic: str) -> float:
    """The median over rows of sigma over mean, of all samples or of the smallest fifth."""
    shares = []
    for row in rows:
        samples = np.sort(np.asarray(row.samples_s))
        kept = samples[: max(1, samples.size // 5)] if statistic == "smallest-20" else samples
        shares.append(float(np.std(kept) / np.mean(kept)))
    return float(np.median(shares))


def _table(measured: Mapping[str, Times], predicted: Mapping[str, Times]) -> Table[tuple[int, int]]:
    def of(name: str, what: str, times: Times) -> Column[tuple[int, int]]:
        return Column(f"{what}, {name}", lambda key: times[key], lambda s: f"{1e6 * s:.2f} us", f"{what}_{name}_s")

    def error(name: str) -> Column[tuple[int, int]]:
        return Column(f"error, {name}", lambda key: predicted[name][key] / measured[name][key] - 1, "{:+.0%}".format)

    columns: list[Column[tuple[int, int]]] = [
        Column("block", lambda key: key[0], format_size, "message_bytes"), Column("k", lambda key: key[1], key="k"),
    ]  # fmt: skip
    for name in STATISTICS:
        columns += [of(name, "measured", measured[name]), of(name, "predicted", predicted[name]), error(name)]
    caption = "The Shift with synchronous sends here: measured, and predicted from the ping-pong."
    return Table(columns, list(measured["mean"]), name="here", caption=caption)
