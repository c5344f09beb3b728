"""Two profiles side by side: how many times as long B takes as A, with intervals, and what that means in words.

Each figure's ratio is tested against the tolerance, by a t statistic of its logarithm, at 5 % for all figures together
(Holm 1979): of some hundred figures none is called slower by chance alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rankwise.distributions import t_quantile, t_tail
from rankwise.errors import InputError
from rankwise.machine.link import Curve
from rankwise.machine.profile import Profile
from rankwise.machine.shared import Resource
from rankwise.records import Interval, Record, computed, key, record
from rankwise.units import format_size

Verdict = Literal["slower", "faster", "same", "unclear"]
Outcome = Literal["slower", "faster", "same", "unclear", "unusable"]
Quantity = Literal["alpha", "beta", "both-ways", "message", "time"]
SHARED = "shared"  # what stands for the way of sending where a resource is compared

_NO_UPPER_END = 1e12
_LEVEL = 0.05
_ASSUMED = 0.08  # half the 95 % interval where nothing is known of a figure's spread: that of a single run of a benchmark
_LAUNCHES = 10  # that an interval rests on: at most (neighbours are alike), and where a profile does not say


@record
class Comparison(Record):
    """One figure in both profiles: alpha, beta, or the time at a size; of a shared resource (``link`` names it) the seconds a
    byte, one way and both, and a message. ``ratio_ci`` is None where one has no interval; ``p`` is the probability that chance
    alone puts a ratio within the tolerance so far beyond it.
    """

    link: str = key("link class, or shared")
    sending: str = key("mode, or the shared resource")
    quantity: Quantity = key("alpha, beta or time; of a shared resource beta, both-ways or message")
    size_bytes: int | None = key("size of the message; null: of all sizes")
    a: float = key("the figure of profile A, s, s/byte or bytes/s")
    b: float = key("the figure of profile B, s, s/byte or bytes/s")
    ratio: float = key("time by B against time by A; above 1: B is slower")
    ratio_ci: Interval | None
    ratio_lo = computed("", "float | None", lambda of: of.ratio_ci and of.ratio_ci[0])
    ratio_hi = computed("", "float | None", lambda of: of.ratio_ci and of.ratio_ci[1])
    verdict: Verdict = key("slower, faster, same or unclear", after="p")
    p: float = key("probability that chance alone puts this figure so far beyond the tolerance", default=1.0)

    @property
    def where(self) -> str:
        """The link class, or what ranks share, as readers call it."""
        return "NIC" if self.link == "card" else self.link


@dataclass(frozen=True)
class Compared:
    """What two profiles' comparison found: each figure, what it comes to, what
    makes them hard to compare, and which are poor."""

    comparisons: list[Comparison]
    outcome: Outcome
    notes: list[str]
    poor: list[str]

    def of(self, verdict: Verdict) -> list[Comparison]:
        return [c for c in self.comparisons if c.verdict == verdict]


@dataclass(frozen=True)
class _Test:
    """How ratios are judged: the tolerance, and how many launches the intervals of either profile rest on."""

    tolerance: float
    launches: tuple[int, int]

    def row(
        self, name: tuple[str, str, Quantity, int | None], x: float, x_ci: Interval | None, y: float, y_ci: Interval | None
    ) -> Comparison:
        """Compare one figure; whether it is slower or faster is told when all are known."""
        reach = math.log(1 + self.tolerance)
        widths = [_half_width(*figure) for figure in ((x, x_ci), (y, y_ci))]
        dfs = [max(1, count - 1) for count in self.launches]
        # Welch's degrees of freedom, of each profile's own standard error.
        squares = [(width / t_quantile(0.975, df)) ** 2 for width, df in zip(widths, dfs, strict=True)]
        df = sum(squares) ** 2 / sum(square**2 / of for square, of in zip(squares, dfs, strict=True))
        t = (abs(math.log(y / x)) - reach) / math.sqrt(sum(squares))
        p = t_tail(t, df) if t > 0 else 1.0
        within = abs(math.log(y / x)) + math.hypot(*widths) <= reach
        return Comparison(*name, x, y, y / x, ratio_interval(x, x_ci, y, y_ci), "same" if within else "unclear", p)


def _half_width(value: float, ci: Interval | None) -> float:
    """Return half a 95 % interval in logarithms, its wider side."""
    if ci is None or not ci[0] < ci[1]:
        return _ASSUMED
    return min(max(_log(value, ci[0]), _log(ci[1], value)), 700.0)


def compare(a: Profile, b: Profile, tolerance: float) -> Compared:
    """Compare all that both profiles know.

    A figure is slower (faster) when it is so beyond the tolerance for certain, all figures together considered, the same when
    its interval lies within, and unclear otherwise. Where a profile's figures are poor, what differs is unclear; two that
    hold the same figures are the same. Raises InputError when the profiles have no link class in common.
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
    test = _Test(tolerance, (_launches(a), _launches(b)))
    comparisons: list[Comparison] = []
    for link in common:
        curves_a, curves_b = a.links[link].curves, b.links[link].curves
        for sending in (name for name in curves_a if name in curves_b):
            one_curve, other_curve = curves_a[sending], curves_b[sending]
            comparisons += _compare_curves(link, sending, one_curve, other_curve, test)
            if one_curve.statistic != other_curve.statistic:
                notes.append(
                    f"{link} {sending}: the first profile gives the {one_curve.statistic}, the second the "
                    f"{other_curve.statistic}: fit both with one --statistic"
                )
            if one_curve.alpha_method != other_curve.alpha_method:
                notes.append(
                    f"{link} {sending}: alpha of the first profile is the {one_curve.alpha_method}; of the second: the "
                    f"{other_curve.alpha_method}"
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
            comparisons += _compare_resources(kind, resource, others[kind], test)
    for what in ("cpu_model", "mpi", "tcp"):
        if a.machine.get(what) and b.machine.get(what) and a.machine[what] != b.machine[what]:
            notes.append(f"the profiles differ in {what}: see 'rankwise profile show'")
    poor = [name for profile, name in ((a, "first"), (b, "second")) if profile.trust.is_poor]
    if (a.links, a.shared) == (b.links, b.shared):
        return Compared([replace(comparison, verdict="same") for comparison in comparisons], "same", notes, poor)
    if poor:
        return Compared(comparisons, "unusable" if len(poor) == 2 else "unclear", notes, poor)
    comparisons = _told_apart(comparisons)
    return Compared(comparisons, _outcome([c.verdict for c in comparisons]), notes, poor)


def _outcome(verdicts: list[Verdict]) -> Outcome:
    """Return what the figures come to: slower goes before faster, and unclear is what most of them are."""
    if "slower" in verdicts:
        return "slower"
    if "faster" in verdicts:
        return "faster"
    return "unclear" if 2 * verdicts.count("unclear") > len(verdicts) else "same"


def _launches(profile: Profile) -> int:
    count = profile.source.get("launches")
    return min(count, _LAUNCHES) if isinstance(count, int) and count > 0 else _LAUNCHES


def _told_apart(comparisons: list[Comparison]) -> list[Comparison]:
    """Call slower or faster what remains so when as many figures are tested as there are (Holm 1979)."""
    judged = list(comparisons)
    for rank, i in enumerate(sorted(range(len(judged)), key=lambda i: judged[i].p)):
        if judged[i].p * (len(judged) - rank) > _LEVEL:
            break
        judged[i] = replace(judged[i], verdict="slower" if judged[i].ratio > 1 else "faster")
    return judged


def _compare_resources(kind: str, a: Resource, b: Resource, test: _Test) -> Iterator[Comparison]:
    # An interval of rates, the wrong way round for times.
    times = [None if r.ci is None or r.ci[0] <= 0 else (1 / r.ci[1], 1 / r.ci[0]) for r in (a, b)]
    yield test.row((kind, SHARED, "beta", None), 1 / a.bytes_per_s, times[0], 1 / b.bytes_per_s, times[1])
    further: list[tuple[Quantity, float | None, float | None]] = [
        ("both-ways", a.both_ways_bytes_per_s, b.both_ways_bytes_per_s),
        ("message", a.messages_per_s, b.messages_per_s),
    ]
    for quantity, x, y in further:
        if x is not None and y is not None:
            yield test.row((kind, SHARED, quantity, None), 1 / x, None, 1 / y, None)


def _compare_curves(link: str, sending: str, a: Curve, b: Curve, test: _Test) -> Iterator[Comparison]:
    if a.alpha_s > 0 and b.alpha_s > 0:
        yield test.row((link, sending, "alpha", None), a.alpha_s, a.alpha_ci_s, b.alpha_s, b.alpha_ci_s)
    if a.beta_s_per_byte > 0 and b.beta_s_per_byte > 0:
        betas = a.beta_s_per_byte, a.beta_ci_s_per_byte, b.beta_s_per_byte, b.beta_ci_s_per_byte
        yield test.row((link, sending, "beta", None), *betas)
    others = {point.size_bytes: point for point in b.table}
    for one in a.table:
        if other := others.get(one.size_bytes):
            yield test.row((link, sending, "time", one.size_bytes), one.time_s, one.interval_s, other.time_s, other.interval_s)


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


def in_words(found: Compared, tolerance: float) -> str:
    """Return one sentence on what the comparison found."""
    percent = f"{100 * tolerance:g} %"
    comparisons, slower, faster, unclear = found.comparisons, found.of("slower"), found.of("faster"), found.of("unclear")
    match found.outcome:
        case "slower":
            worst = max(slower, key=lambda c: c.ratio)
            return (
                f"slower: {len(slower)} of {len(comparisons)} figures by more than {percent} for certain, most of all "
                f"{name_of(worst)}, {worst.ratio:.2f} times"
            )
        case "faster":
            best = min(faster, key=lambda c: c.ratio)
            return (
                f"nothing is slower by more than {percent}, and {len(faster)} of {len(comparisons)} figures are faster, most "
                f"of all {name_of(best)}, {best.ratio:.2f} times"
            )
        case "unusable":
            return "unusable: the figures of both profiles are poor: measure both again on a less busy machine"
        case "unclear" if found.poor:
            return f"unclear: the figures of the {found.poor[0]} profile are poor: measure it again on a less busy machine"
        case "unclear":
            return (
                f"unclear: the intervals of {len(unclear)} of {len(comparisons)} figures reach across {percent}: measure both "
                "for longer, or on a less busy machine"
            )
        case "same":
            wide = f", but for {len(unclear)} figures whose intervals are too wide" if unclear else ""
            return f"the same within {percent}{wide}"


def name_of(comparison: Comparison) -> str:
    """Return what a comparison is about: ``same-socket send alpha``, ``same-socket send at 8 B``."""
    at = comparison.quantity if comparison.size_bytes is None else f"at {format_size(comparison.size_bytes)}"
    return f"{comparison.where} {comparison.sending} {at}"
