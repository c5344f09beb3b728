"""The report's answer in words, and figures written with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from rankwise.machine.link import Interval, Point
from rankwise.machine.profile import LINK_CLASSES, Profile
from rankwise.report.inputs import MappingInstance
from rankwise.units import format_bandwidth, format_size, format_time
from rankwise.workloads.base import Row
from rankwise.workloads.comparison import Comparison, Validation

_BETWEEN = {
    "same-core": "Between hardware threads of one core",
    "shared-cache": "Between cores that share a cache",
    "same-socket": "Between cores of one socket",
    "other-socket": "Between sockets of one node",
    "other-node": "Between nodes",
}


def with_interval(value: float, interval: Interval | None, write: Callable[[float], str]) -> str:
    """Write a figure and its 95 % interval: ``2.31 us (2.28 to 2.35)``; without an interval, the figure alone."""
    if interval is None:
        return write(value)
    texts = [write(value), *map(write, interval)]
    if len({text.partition(" ")[2] for text in texts}) == 1:
        texts[1:] = [text.partition(" ")[0] for text in texts[1:]]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


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


def answer(profile: Profile | None, validation: Validation | None, mappings: Sequence[MappingInstance] | None) -> list[str]:
    """Say in a few sentences how fast messages are, what an exchange costs, and what a mapping saves."""
    sentences = []
    if profile is not None:
        sentences.append(f"{profile.trust.line().capitalize()}.")
        sentences += [_link_sentence(profile, name) for name in LINK_CLASSES if name in profile.links]
    if validation is not None:
        sentences += [_exchange_sentence(validation), _trust_sentence(validation)]
    for (grid, nodes), group in groupby(mappings or [], key=lambda item: (item.grid, item.nodes)):
        sentences.append(_mapping_sentence(grid, nodes, list(group)))
    return sentences


def nodes_in_words(nodes: Sequence[int]) -> str:
    """Write node sizes: ``50 nodes of 48 ranks``, or the smallest and the largest where they differ."""
    size = span(nodes)
    return f"{len(nodes)} node{'s' * (len(nodes) > 1)} of {size} rank{'s' * (size != '1')}"


def span(values: Sequence[int]) -> str:
    """Write the range of some whole numbers: ``48``, or ``40 to 48``."""
    return str(values[0]) if min(values) == max(values) else f"{min(values)} to {max(values)}"


def headline(validation: Validation) -> Comparison:
    """Return the comparison that stands for all: the fastest with k = 2, or with the smallest k where none has 2."""
    cutoffs = {row.exchange.cutoff for row in validation.comparisons}
    cutoff = 2 if 2 in cutoffs else min(cutoffs)
    at_cutoff = (row for row in validation.comparisons if row.exchange.cutoff == cutoff)
    return min(at_cutoff, key=lambda row: row.measured.time_s)


def _link_sentence(profile: Profile, name: str) -> str:
    table = profile.links[name].send.table
    return (
        f"{_BETWEEN[name]}, a message of {format_size(table[0].size_bytes)} takes {point_time(table[0])}, and one of "
        f"{format_size(table[-1].size_bytes)} moves at {point_bandwidth(table[-1])}."
    )


def _exchange_sentence(validation: Validation) -> str:
    row = headline(validation)
    case = row.exchange
    return (
        f"The {len(case.grid)}-D {case.algorithm} exchange with {case.cutoff} layer{'s' * (case.cutoff > 1)} of neighbours "
        f"(k = {case.cutoff}) and {format_size(case.message_bytes)} per rank takes {timing(row.measured)} "
        f"with {case.mode} on {case.ranks} rank{'s' * (case.ranks > 1)}; the prediction was "
        f"{format_time(row.predicted.time_s)}."
    )


def _trust_sentence(validation: Validation) -> str:
    count = len(validation.comparisons)
    worst = max(abs(row.error) for row in validation.comparisons)
    inside = sum(row.inside_interval for row in validation.comparisons)
    return (
        f"Over {count} comparison{'s' * (count > 1)} the predictions were off by {100 * validation.summary()['mape']:.1f} % "
        f"on average and {100 * worst:.0f} % at most; {inside} of {count} measured times lie inside the predicted "
        f"95 % interval.{_drift_sentence(validation)}"
    )


def _drift_sentence(validation: Validation) -> str:
    drift, left = validation.drift, validation.summary()["mape_at_present_speed"]
    if drift is None or left is None:
        return ""
    return (
        f" A ping-pong beside the exchanges took {drift:.2f} times what the profile says; with that change of the "
        f"machine taken out, they were off by {100 * left:.1f} % on average."
    )


def _mapping_sentence(grid: Sequence[int], nodes: Sequence[int], instances: Sequence[MappingInstance]) -> str:
    where = f"a {'x'.join(map(str, grid))} grid over {nodes_in_words(nodes)}"
    saved = [(item, item.blocked) for item in instances if item.blocked and item.best.j_sum < item.blocked.j_sum]
    if not saved:
        return f"On {where}, no mapping sends fewer messages between nodes than one node after another."
    shares = (
        f"by {100 * (1 - item.best.j_sum / blocked.j_sum):.0f} % for the {item.stencil} stencil "
        f"({item.best.algorithm}, {item.best.j_sum} instead of {blocked.j_sum})"
        for item, blocked in saved
    )
    return f"On {where}, the best mapping cuts the messages between nodes {', '.join(shares)}."
