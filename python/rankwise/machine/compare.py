"""Two profiles side by side: how many times as long B takes as A, with intervals, and what that means in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from rankwise.errors import InputError
from rankwise.machine.link import Curve, Interval
from rankwise.machine.profile import Profile
from rankwise.machine.shared import Resource

Verdict = Literal["slower", "faster", "same", "unclear"]
Quantity = Literal["alpha", "beta", "both-ways", "message", "time"]
SHARED = "shared"  # what stands for the way of sending where a resource is compared

_NO_UPPER_END = 1e12


@dataclass(frozen=True)
class Comparison:
    """One figure in both profiles: alpha, beta, or the time at a size; of a shared resource (``link`` names it) the seconds a
    byte, one way and both, and a message. ``ratio_ci`` is None where one has no interval.
    """

    link: str
    sending: str
    quantity: Quantity
    size_bytes: int | None
    a: float
    b: float
    ratio: float
    ratio_ci: Interval | None
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        low, high = self.ratio_ci or (None, None)
        return {
            "link": self.link,
            "sending": self.sending,
            "quantity": self.quantity,
            "size_bytes": self.size_bytes,
            "a": self.a,
            "b": self.b,
            "ratio": self.ratio,
            "ratio_lo": low,
            "ratio_hi": high,
            "verdict": self.verdict,
        }


def compare(a: Profile, b: Profile, tolerance: float) -> tuple[list[Comparison], list[str]]:
    """Compare all that both profiles know; return it with notes on what makes them hard to compare.

    A figure is slower (faster) when its whole interval lies beyond the tolerance, the same when it lies within, and
    unclear otherwise. Raises InputError when the profiles have no link class in common.
    """
    notes = []
    for one, other, name in ((a, b, "first"), (b, a, "second")):
        if missing := [link for link in one.links if link not in other.links]:
            notes.append(f"only the {name} profile has {', '.join(missing)}")
    common = [link for link in a.links if link in b.links]
    if not common:
        raise InputError(
            f"the profiles have no link class in common ({', '.join(a.links)} and {', '.join(b.links)}): compare profiles "
            "of the same kind of link"
        )
    comparisons: list[Comparison] = []
    for link in common:
        curves_a = {"send": a.links[link].send, **a.links[link].variants}
        curves_b = {"send": b.links[link].send, **b.links[link].variants}
        for sending in (name for name in curves_a if name in curves_b):
            one_curve, other_curve = curves_a[sending], curves_b[sending]
            comparisons += _compare_curves(link, sending, one_curve, other_curve, tolerance)
            if one_curve.statistic != other_curve.statistic:
                notes.append(
                    f"{link} {sending}: the first profile gives the {one_curve.statistic}, the second the "
                    f"{other_curve.statistic}: fit both with one --statistic"
                )
            if one_curve.alpha_method != other_curve.alpha_method:
                notes.append(
                    f"{link} {sending}: alpha is the {one_curve.alpha_method} in the first profile and the "
                    f"{other_curve.alpha_method} in the second"
                )
        loops = a.links[link].reference_loop_s, b.links[link].reference_loop_s
        if loops[0] is not None and loops[1] is not None and abs(math.log(loops[1] / loops[0])) > math.log(1.02):
            speed = loops[1] / loops[0]
            alpha = b.links[link].send.alpha_s / max(a.links[link].send.alpha_s, 1e-12) / speed
            notes.append(
                f"{link}: the processor itself took {speed:.2f} times as long for the reference loop; divided by that, "
                f"send alpha is {alpha:.2f} times"
            )
    others = dict(b.shared.resources())
    for kind, resource in a.shared.resources():
        if kind in others:
            comparisons += _compare_resources(kind, resource, others[kind], tolerance)
    for what in ("cpu_model", "mpi"):
        if a.machine.get(what) and b.machine.get(what) and a.machine[what] != b.machine[what]:
            notes.append(f"the profiles differ in {what}: see 'rankwise profile show'")
    return comparisons, notes


def _compare_resources(kind: str, a: Resource, b: Resource, tolerance: float) -> Iterator[Comparison]:
    ratio = a.bytes_per_s / b.bytes_per_s
    ratio_ci = None if a.ci is None or b.ci is None else ratio_interval(b.bytes_per_s, b.ci, a.bytes_per_s, a.ci)
    one_way = Comparison(kind, SHARED, "beta", None, 1 / a.bytes_per_s, 1 / b.bytes_per_s, ratio, ratio_ci, "same")
    yield replace(one_way, verdict=_verdict(ratio, ratio_ci, tolerance))
    further: list[tuple[Quantity, float | None, float | None]] = [
        ("both-ways", a.both_ways_bytes_per_s, b.both_ways_bytes_per_s),
        ("message", a.messages_per_s, b.messages_per_s),
    ]
    for quantity, x, y in further:
        if x is not None and y is not None:
            # These have no interval: a difference may be noise.
            same = _verdict(x / y, None, tolerance) == "same"
            yield Comparison(kind, SHARED, quantity, None, 1 / x, 1 / y, x / y, None, "same" if same else "unclear")


def _compare_curves(link: str, sending: str, a: Curve, b: Curve, tolerance: float) -> Iterator[Comparison]:
    def row(quantity: Quantity, size: int | None, x: float, x_ci: Interval | None, y: float, y_ci: Interval | None) -> Comparison:
        ratio, ratio_ci = y / x, ratio_interval(x, x_ci, y, y_ci)
        return Comparison(link, sending, quantity, size, x, y, ratio, ratio_ci, _verdict(ratio, ratio_ci, tolerance))

    if a.alpha_s > 0 and b.alpha_s > 0:
        yield row("alpha", None, a.alpha_s, a.alpha_ci_s, b.alpha_s, b.alpha_ci_s)
    if a.beta_s_per_byte > 0 and b.beta_s_per_byte > 0:
        yield row("beta", None, a.beta_s_per_byte, a.beta_ci_s_per_byte, b.beta_s_per_byte, b.beta_ci_s_per_byte)
    others = {point.size_bytes: point for point in b.table}
    for one in a.table:
        if other := others.get(one.size_bytes):
            yield row(
                "time",
                one.size_bytes,
                one.time_s,
                one.interval_s,
                other.time_s,
                other.interval_s,
            )


def ratio_interval(a: float, a_ci: Interval | None, b: float, b_ci: Interval | None) -> Interval | None:
    """Return the 95 % interval of b / a for independent, positive a and b: their relative half-widths add up squared.

    In logarithms, so that a wide interval does not reach below 0. None where a or b has no interval.
    """
    if a_ci is None or b_ci is None:
        return None
    down = math.hypot(_log(b, b_ci[0]), _log(a_ci[1], a))
    up = math.hypot(_log(b_ci[1], b), _log(a, a_ci[0]))
    # A low end of 0 leaves the ratio without an upper end that JSON could hold: so large it is taken to be.
    return b / a * math.exp(-down), b / a * min(math.exp(min(up, 700.0)), _NO_UPPER_END)


def _log(high: float, low: float) -> float:
    # An estimate may lie a little outside of its bootstrap interval: that end then adds nothing.
    return math.inf if low <= 0 else max(0.0, math.log(high / low))


def _verdict(ratio: float, interval: Interval | None, tolerance: float) -> Verdict:
    low, high = interval or (ratio, ratio)
    slower, faster = 1 + tolerance, 1 / (1 + tolerance)
    if low > slower:
        return "slower"
    if high < faster:
        return "faster"
    return "same" if faster <= low and high <= slower else "unclear"


def regressions(comparisons: list[Comparison]) -> list[Comparison]:
    """Return the figures that make B slower: alpha, beta, and sizes beside which another is slower too.

    Of some hundred intervals of 95 % a few miss by chance alone; a size alone among its neighbours is no finding, unless
    the table has too few sizes to have neighbours.
    """
    found = [c for c in comparisons if c.verdict == "slower" and c.quantity != "time"]
    curves: dict[tuple[str, str], list[Comparison]] = {}
    for c in comparisons:
        if c.quantity == "time":
            curves.setdefault((c.link, c.sending), []).append(c)
    for rows in curves.values():
        for i, row in enumerate(rows):
            beside = [rows[j] for j in (i - 1, i + 1) if 0 <= j < len(rows)]
            if row.verdict == "slower" and (len(rows) < 3 or any(b.verdict == "slower" for b in beside)):
                found.append(row)
    return found


def in_words(comparisons: list[Comparison], tolerance: float) -> str:
    """Return one sentence on what the comparison found."""
    percent = f"{100 * tolerance:g} %"
    slower = regressions(comparisons)
    faster = [c for c in comparisons if c.verdict == "faster"]
    unclear = [c for c in comparisons if c.verdict == "unclear"]
    if slower:
        worst = max(slower, key=lambda c: c.ratio)
        return (
            f"slower: {len(slower)} of {len(comparisons)} figures by more than {percent} beyond their interval, most of "
            f"all {name_of(worst)}, {worst.ratio:.2f} times"
        )
    if faster:
        best = min(faster, key=lambda c: c.ratio)
        return (
            f"nothing is slower by more than {percent}, and {len(faster)} of {len(comparisons)} figures are faster, most "
            f"of all {name_of(best)}, {best.ratio:.2f} times"
        )
    if len(unclear) > len(comparisons) / 2:
        return (
            f"unclear: the intervals of {len(unclear)} of {len(comparisons)} figures reach across {percent}: measure both "
            "for longer, or on a quieter machine"
        )
    return f"the same within {percent}" + (f", but for {len(unclear)} figures whose intervals are too wide" if unclear else "")


def name_of(comparison: Comparison) -> str:
    """Return what a comparison is about: ``same-socket send alpha``, ``same-socket send at 8 B``."""
    at = comparison.quantity if comparison.size_bytes is None else f"at {comparison.size_bytes} B"
    return f"{comparison.link} {comparison.sending} {at}"
