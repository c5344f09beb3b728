"""Werner et al. 2023, sections 6.2.2 and 6.2.3: what the printed means and deviations say of traffic, and of the smallest 20 %.

The raw samples were not published. A mean and a deviation bound the mean of the smallest fifth from below, whatever the
distribution: it is at least mean - 2 sigma (mean - sigma sqrt((1 - p)/p) for the share p).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.blocks import Column, Table
from rankwise.papers.werner2023_study import Study
from rankwise.report.reproduction import Section
from rankwise.units import format_size

SHARE = 0.2
QUESTIONABLE = ((10_000, 2), (10_000, 9), (100_000, 6), (100_000, 8))  # section 6.2.3: size and k
_COMMAND = "rankwise reproduce werner2023 --engine run -o here"


def implied(study: Study) -> list[dict[str, Any]]:
    """For each size: T(m) of Table 1, and what a message takes in the Shift: a
    fourth of the slope of the measured times in k."""
    found = []
    for size in study.sizes:
        here = study.size_of == size
        slope_s, start_s = np.polyfit(study.cutoff_of[here], study.measured[here], 1, w=1 / study.measured[here])
        alone_s = study.curve.time_s(size)
        found.append(
            {"message_bytes": size, "ping_pong_s": alone_s, "in_shift_s": slope_s / 4, "ratio": slope_s / 4 / alone_s,
             "start_s": start_s}
        )  # fmt: skip
    return found


def noisiest(study: Study) -> list[tuple[int, int]]:
    """The size and k of as many rows as the paper calls questionable, those of the largest sigma over mean."""
    order = np.argsort(-study.sigma / study.measured)[: len(QUESTIONABLE)]
    return sorted((study.rows[i].message_bytes, study.rows[i].cutoff) for i in order)


def within_bound(study: Study) -> int:
    """In how many rows the published prediction lies where the mean of the smallest fifth must lie."""
    low = study.measured - study.sigma * ((1 - SHARE) / SHARE) ** 0.5
    return int(np.sum((study.published >= low) & (study.published <= study.measured)))


def section(study: Study) -> Section:
    """The part of the page."""
    sizes = implied(study)
    slower = [s for s in sizes if s["ratio"] > 1.05]
    loudest = noisiest(study)
    named = len(set(loudest) & set(QUESTIONABLE))
    share = study.sigma / study.measured
    inside, above = within_bound(study), int(np.sum(study.published > study.measured))
    each = ", ".join(f"{format_size(s['message_bytes'])} ({s['ratio']:.2f} times T(m))" for s in slower)
    ratios = [found["ratio"] for found in sizes]
    largest = min(ratios[-2:]) > max(ratios[:-2])
    traffic = (
        f"More than 5 % slower: {each or 'none'}. The two largest blocks are {'' if largest else 'not '}slowed most, "
        f"{'as traffic would do' if largest else 'which does not speak for traffic'}"
    )
    return Section(
        "raw",
        "Traffic, and the smallest 20 %: what can be said without the samples",
        (
            "Section 6.2.2 suspects that the Shift's own traffic slows large messages. The slope of the measured times in k "
            "tells what a message takes within the Shift, free of the start of a round: a fourth of it, beside the ping-pong "
            f"of two nodes. {traffic}; that it was traffic cannot be said, since no ping-pong beside traffic was "
            "published.",
            "Section 6.2.3 calls the means of "
            + _places(QUESTIONABLE)
            + f" questionable. Of the four rows of the largest deviation against the mean, {_places(loudest)}, {named} are "
            f"among them (over all rows {100 * share.min():.0f} to {100 * share.max():.0f} %).",
            "It reports that the smallest 20 % fit the model almost perfectly, and prints no figure of it. Whatever the "
            f"samples were, the mean of their smallest fifth lies between mean - 2 sigma and the mean: the published "
            f"prediction does in {inside} of {len(study.rows)} rows. In {above} it lies above the mean: there the smallest 20 "
            "% fit worse than the mean does unless alpha and beta are filtered, too. How well cannot be said.",
            f"The same experiment on this machine, with ping-pong free and beside traffic, mean and smallest 20 %: "
            f"'{_COMMAND}'.",
        ),
        (_table(study),),
    )  # fmt: skip


def _places(places: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{format_size(size)} at k = {k}" for size, k in places)


def _ns(time_s: float) -> str:
    return f"{1e9 * time_s:,.0f} ns"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _table(study: Study) -> Table[Any]:
    def share(found: Mapping[str, Any]) -> float:
        here = study.size_of == found["message_bytes"]
        return float(np.median(study.sigma[here] / study.measured[here]))

    columns: Sequence[Column[Mapping[str, Any]]] = (
        Column("block", "message_bytes", format_size),
        Column("T(m) of Table 1", "ping_pong_s", _ns),
        Column("a message in the Shift", "in_shift_s", _ns),
        Column("ratio", "ratio", "{:.2f}".format),
        Column("sigma / mean", share, _percent, "sigma_over_mean_median"),
        Column(
            "mean of the smallest 20 % / mean, at least", lambda found: max(0.0, 1 - 2 * share(found)), _percent,
            "smallest_fifth_over_mean_at_least",
        ),
    )  # fmt: skip
    caption = (
        "What a message takes in the Shift, beside the ping-pong; and what the deviation leaves open of the smallest 20 % "
        "(medians)."
    )
    return Table(columns, implied(study), name="raw", caption=caption)
