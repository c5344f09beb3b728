"""The alarm: is this session slower than what is usual on this machine? A pure function of the history; and when a figure
changed its level for good: change points of a series, and what else changed on the machine then.

A prediction interval for one more session from at least ten earlier ones, at one per cent for all figures together, and a
second session that confirms. Before twenty there is one figure, the mean of all figures' logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.arrays import Floats
from rankwise.distributions import t_quantile
from rankwise.health.record import Session, Verdict
from rankwise.records import Record, computed, key, record, told

COMPOSITE = "all figures"
THRESHOLD = 5.8  # at most 1 % false ones in series of 20 to 100 sessions whose neighbours correlate by 0.3
LEAST = 5  # sessions on either side
_TRIMMED = 0.9  # of the differences, the smallest: what a few steps and spikes leave alone
_MEAN_TRIMMED = 0.6574  # of the absolute values of normal noise of deviation 1
_LEAST_SIGMA = 0.002  # of logarithms: rounding is no scatter
_PLACED_WITHIN = 2  # sessions


@dataclass(frozen=True)
class Rules:
    """What the alarm goes by; shares are relative (0.2: 20 %)."""

    tolerance: float = 0.2  # a slow-down that must be seen; a quarter of it is the least that is told
    level: float = 0.01  # of false alarms, for all figures together
    least: int = 10  # sessions before anything is judged
    least_single: int = 20  # sessions before each figure is judged by itself
    most: int = 40  # sessions that tell what is usual
    apart_s: float = 1800.0  # between a session and the one that confirms it
    least_scatter: float = 0.01  # between sessions, however alike they were


@record
class Row(Record):
    """One figure of the session against the baseline: logarithms, their difference, and the limit it is held to.

    ``half_width`` is that of the difference's 95 % interval; infinite where too few sessions are known.
    """

    figure: str = key("key of the figure")
    value: float = key(
        "the figure in SI units; null of the composite, which has none", kind="float | None", get=lambda of: of.unit(of.value)
    )
    usual: float = key("what is usual", kind="float | None", get=lambda of: of.unit(of.usual))
    difference: float = key("the figure divided by what is usual", name="ratio", write=math.exp)
    ratio_lo = computed("", "float | None", lambda of: of.end(-of.half_width))
    ratio_hi = computed("", "float | None", lambda of: of.end(of.half_width))
    limit: float = key(
        "ratio from which on it is an alarm; null: none is known", name="limit_ratio", kind="float | None",
        write=lambda limit: math.exp(limit) if math.isfinite(limit) and limit < 700 else None,
    )  # fmt: skip
    half_width: float
    over: bool = key("whether the figure is beyond its limit", default=False)
    confirmed: bool = key("whether the figure was beyond it in a second session, too", default=False)

    def unit(self, log: float) -> float | None:
        """Return a figure in its unit; None of the composite, which has none."""
        return None if self.figure == COMPOSITE else math.exp(log)

    def end(self, further: float) -> float | None:
        """Return an end of the ratio's interval; None where that is not known."""
        return math.exp(self.difference + further) if math.isfinite(self.half_width) else None


@record
class Judgement(Record):
    """The verdict, why in words, how many sessions it rests on, and each figure."""

    verdict: Verdict = key("what was found, in a word")
    reason: str = key("why, in words")
    sessions: int = key("number of sessions that it rests on")
    rows: tuple[Row, ...] = key("by figure", default=(), name="figures", after="could_see")

    @property
    def over(self) -> tuple[str, ...]:
        return tuple(row.figure for row in self.rows if row.over)

    @property
    @told("the slow-down that would have been seen; null: none", kind="float | None", after="sessions",
          write=lambda ratio: ratio if ratio < 1e6 else None)  # fmt: skip
    def could_see(self) -> float:
        """The least slow-down that would have been seen in every figure, as a share."""
        return math.expm1(min(max((row.limit for row in self.rows), default=math.inf), 700.0))


def judge(session: Session, before: Sequence[Session], rules: Rules = Rules()) -> Judgement:
    """Judge a session by those before it (the oldest first; those of other machines are passed over)."""
    earlier = [s for s in before if s.identity == session.identity and s.verdict != "unusable"]
    figures = list(session.value)
    usual = [s for s in eligible(earlier) if session.value.keys() <= s.value.keys()][-rules.most :]
    if session.disturbed:
        return Judgement("unusable", session.disturbed, len(usual))
    if len(usual) < 2:
        return Judgement("unclear", _too_few(len(usual), rules), len(usual))
    bounds = _bounds(usual)
    references = {name: _reference(np.array([s.value[name] for s in usual]), bounds, rules) for name in figures}
    known = 1 + max(reference[2] for reference in references.values())
    if known < rules.least_single:
        mean = np.array([np.mean([s.value[name] for name in figures]) for s in usual])
        references = {COMPOSITE: _reference(mean, bounds, rules)}
    value = {COMPOSITE: float(np.mean([session.value[name] for name in figures])), **session.value}
    level = rules.level / (2 * len(references))
    rows = []
    for name, (level_s, scatter, df, count) in references.items():
        spread = scatter * math.sqrt(1 + 1 / count)
        limit, difference = t_quantile(1 - level, df) * spread, value[name] - level_s
        over = known >= rules.least and difference > limit and difference > math.log(1 + rules.tolerance / 4)
        half_width, confirmed = t_quantile(0.975, df) * spread, over and _confirms(session, name, earlier, rules.apart_s)
        rows.append(Row(name, value[name], level_s, difference, limit, half_width, over, confirmed))
    found = _verdict(tuple(rows), known, len(usual), rules)
    if found.verdict == "same" and (missing := usual[-1].value.keys() - session.value.keys()):
        reason = f"{', '.join(sorted(missing))} was not measured: give it more --seconds"
        return Judgement("unclear", reason, found.sessions, found.rows)
    return found


def eligible(sessions: Sequence[Session]) -> list[Session]:
    """Return the sessions, of one identity and usable, that tell what is usual: neither slower nor waiting for confirmation."""
    chosen = []
    for i, session in enumerate(sessions):
        following = sessions[i + 1] if i + 1 < len(sessions) else None
        # What was beyond the usual once, and not the next time, was chance: it belongs to the usual scatter.
        chance = following is not None and not set(session.over) & set(following.over)
        if session.accepted or (session.verdict != "slower" and (not session.over or chance)):
            chosen.append(session)
    return chosen


def _bounds(sessions: Sequence[Session]) -> list[int]:
    """Return where a level begins that was accepted."""
    return [i for i in range(1, len(sessions)) if sessions[i].accepted not in ("", sessions[i - 1].accepted)]


def _reference(values: Floats, accepted: Sequence[int], rules: Rules) -> tuple[float, float, int, int]:
    """Return the usual level, the scatter about the levels, its degrees of freedom, and how many sessions gave the level.

    A change that nobody accepted is no new usual, unless it is to the faster.
    """
    starts = sorted({0, *accepted, *change_points(values)})
    parts = [values[first:last] for first, last in zip(starts, [*starts[1:], values.size], strict=True)]
    reference = parts[0]
    for start, part in zip(starts[1:], parts[1:], strict=True):
        if start in accepted or part.mean() < reference.mean():
            reference = part
    df = values.size - len(parts)
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    scatter = max(math.sqrt(squares / df), rules.least_scatter) if df > 0 else math.inf
    return float(reference.mean()), scatter, max(df, 1), int(reference.size)


def _confirms(session: Session, figure: str, earlier: Sequence[Session], apart_s: float) -> bool:
    """Whether an unbroken run of sessions beyond the usual in a figure began long enough before this one."""
    for other in reversed(earlier):
        if figure not in other.over or other.accepted:
            return False
        if (session.began - other.began).total_seconds() >= apart_s:
            return True
    return False


def _verdict(rows: tuple[Row, ...], known: int, sessions: int, rules: Rules) -> Judgement:
    if any(row.confirmed for row in rows):
        return Judgement("slower", "two sessions agree", sessions, rows)
    if known < rules.least:
        return Judgement("unclear", _too_few(known, rules), sessions, rows)
    if any(row.over for row in rows):
        once = f"above the baseline once: a second session, {rules.apart_s / 60:g} minutes later, decides"
        return Judgement("unclear", once, sessions, rows)
    judgement = Judgement("same", "", sessions, rows)
    if judgement.could_see > rules.tolerance:
        blind = f"sessions differ so much that a slow-down below {100 * judgement.could_see:.0f} % could not have been seen"
        return Judgement("unclear", blind, sessions, rows)
    return judgement


def _too_few(known: int, rules: Rules) -> str:
    return f"{known} earlier session{'s' * (known != 1)} of this machine tell what is usual, {rules.least} are needed"


@record
class Change(Record):
    """A figure's level before and from a session on; ``causes`` are what else changed then, in words."""

    figure: str = key("key of the figure")
    at: str = key("when, UTC")
    ratio: float = key("how many times as long")
    causes: tuple[str, ...] = key("what of the key changed then, in words")


def change_points(values: Floats) -> list[int]:
    """Return where a new level begins in a series (1-D, logarithms), by the greatest standardised difference of means.

    Its scatter is that of neighbours' differences, the largest tenth left out. Split there, both sides are looked at again.
    """
    if values.size < 2 * LEAST:
        return []
    differences = np.sort(np.abs(np.diff(values)))
    mean = float(differences[: max(1, int(_TRIMMED * differences.size))].mean())
    sigma = max(mean / (_MEAN_TRIMMED * math.sqrt(2)), _LEAST_SIGMA)

    def within(first: int, last: int) -> list[int]:
        count = last - first
        if count < 2 * LEAST:
            return []
        k = np.arange(LEAST, count - LEAST + 1)
        sums = np.cumsum(values[first:last])
        before, after = sums[k - 1] / k, (sums[-1] - sums[k - 1]) / (count - k)
        z = np.abs(after - before) / (sigma * np.sqrt(1 / k + 1 / (count - k)))
        at = int(np.argmax(z))
        if z[at] <= THRESHOLD:
            return []
        split = first + int(k[at])
        return [*within(first, split), split, *within(split, last)]

    return within(0, values.size)


def changes(sessions: Sequence[Session]) -> list[Change]:
    """Return the changes of all figures over the sessions of one machine that can be used, the oldest first."""
    found = []
    for figure in dict.fromkeys(name for session in sessions for name in session.value):
        of_figure = [session for session in sessions if figure in session.value and session.verdict != "unusable"]
        values = np.array([session.value[figure] for session in of_figure])
        points = change_points(values)
        for i, point in enumerate(points):
            before = values[points[i - 1] if i else 0 : point]
            after = values[point : points[i + 1] if i + 1 < len(points) else values.size]
            ratio = math.exp(float(after.mean() - before.mean()))
            found.append(Change(figure, of_figure[point].at, ratio, _causes(of_figure, point)))
    return sorted(found, key=lambda change: change.at)


def _causes(sessions: Sequence[Session], point: int) -> tuple[str, ...]:
    """Say what of the key's record differs between neighbours about a change, which is placed within two sessions."""
    near = range(max(1, point - _PLACED_WITHIN), min(len(sessions), point + _PLACED_WITHIN + 1))
    causes = []
    for i in near:
        old, new = ({**session.key, "kernels": session.digest} for session in (sessions[i - 1], sessions[i]))
        causes += [
            f"{name} {old.get(name)} → {new.get(name)}"
            for name in dict.fromkeys([*old, *new])
            if old.get(name) != new.get(name)
        ]
    return tuple(causes)
