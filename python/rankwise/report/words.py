"""Figures written with their intervals; and the badges of a page: on the machine, and on the quality of its measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rankwise.machine.link import Point
from rankwise.machine.profile import OTHER_NODE, Profile
from rankwise.machine.trust import Trust
from rankwise.records import Interval
from rankwise.report.document import Badge, Figure, Kind
from rankwise.units import format_bandwidth, format_span, format_time
from rankwise.workloads.base import Row
from rankwise.workloads.comparison import Comparison, Validation

QUALITY: dict[str, Kind] = {"good": "good", "limited": "warn", "poor": "bad", "unknown": "unknown"}


def with_interval(value: float, interval: Interval | None, write: Callable[[float], str]) -> str:
    """Write a figure and its 95 % interval: ``2.31 us (2.28 to 2.35)``; without an interval, the figure alone."""
    if interval is None:
        return write(value)
    texts = [write(value), *map(write, interval)]
    if len({text.partition(" ")[2] for text in texts}) == 1:
        texts[1:] = [text.partition(" ")[0] for text in texts[1:]]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def figure_with_unit(name: str, value: float, interval: Interval | None, write: Callable[[float], str], note: str,
                     unknown: str = "– spread unknown") -> Figure:  # fmt: skip
    """Return one of a page's first figures; ``unknown`` stands in the place of an interval that is not known."""
    number, _, unit = write(value).partition(" ")
    if interval is None:
        return Figure(name, number, unit, unknown, None, note)
    low, high = map(write, interval)
    if low.partition(" ")[2] == high.partition(" ")[2]:
        low = low.partition(" ")[0]
    return Figure(name, number, unit, f"{low} to {high}", (interval[0] / value - 1, interval[1] / value - 1), note)


def point_time(point: Point) -> str:
    """Write the time of a measured size with its interval."""
    return with_interval(point.time_s, point.interval_s, format_time)


def point_bandwidth(point: Point) -> str:
    """Write size / time of a measured size above 0 with its interval."""
    interval = None
    if point.interval_s is not None:
        low_s, high_s = point.interval_s
        interval = point.size_bytes / high_s, point.size_bytes / low_s if low_s > 0 else float("inf")
    return with_interval(
        point.size_bytes / point.time_s,
        interval,
        lambda value: format_bandwidth(value) if value != float("inf") else "no upper end",
    )


def timing(row: Row) -> str:
    """Write a time with its interval."""
    return with_interval(row.time_s, row.interval_s, format_time)


def nodes_in_words(nodes: Sequence[int]) -> str:
    """Write node sizes: ``50 nodes of 48 ranks``, or the smallest and the largest where they differ."""
    size = format_span(nodes)
    return f"{len(nodes)} node{'s' * (len(nodes) > 1)} of {size} rank{'s' * (size != '1')}"


def headline(validation: Validation) -> Comparison:
    """Return the comparison that stands for all: the fastest with k = 2, or with the smallest k where none has 2."""
    cutoffs = {row.exchange.cutoff for row in validation.comparisons}
    cutoff = 2 if 2 in cutoffs else min(cutoffs)
    at_cutoff = (row for row in validation.comparisons if row.exchange.cutoff == cutoff)
    return min(at_cutoff, key=lambda row: row.measured.time_s)


def quality_badge(trust: Trust | None, validation: Validation | None = None) -> Badge:
    """Return the badge of the measurement's quality: the gravest reason and its fix, or how large the measurement was."""
    if trust is None:
        return Badge("unknown", "Bytes only", "no profile was given: seconds are not predicted")
    kind, name = QUALITY[trust.level], f"Quality: {trust.level}"
    grave = [reason for reason in trust.reasons if reason.severity > 0]
    if grave and trust.level != "good":
        return Badge(kind, name, f"{grave[0].words}. Fix: {grave[0].cure}" if grave[0].cure else grave[0].words)
    off = "" if validation is None else f", predictions off by {100 * validation.summary.mape:.1f} % on average"
    return Badge(kind, name, trust.words + off)


def machine_badge(profile: Profile) -> Badge:
    """Return the badge of the machine: what was noticed about it, or that nothing was."""
    if profile.warnings:
        more = f", and {len(profile.warnings) - 1} more below" if len(profile.warnings) > 1 else ""
        return Badge("warn", "Machine: with warnings", f"{profile.warnings[0]}{more}")
    if profile.trust.is_poor:
        return Badge("unknown", "Machine: no verdict", "the measurement was too disturbed")
    told = "no faults seen; nodes were not compared" if OTHER_NODE in profile.links else "no faults seen on this node"
    return Badge("good", "Machine: sound", told)


def is_poor(profile: Profile | None, validation: Validation | None) -> str | None:
    """Say why the measurement is too poor for an answer; None where it is not."""
    if validation is not None and (wrong := sum(row.measured.verified is False for row in validation.comparisons)):
        return f"{wrong} of {len(validation.comparisons)} exchanges delivered wrong bytes"
    if validation is not None and any(row.measured.oversubscribed for row in validation.comparisons):
        return "more ranks ran than there are cores, so ranks waited for a core"
    if profile is not None and profile.trust.is_poor:
        grave = [reason for reason in profile.trust.reasons if reason.severity > 0]
        return grave[0].words if grave else "the machine was disturbed"
    return None
