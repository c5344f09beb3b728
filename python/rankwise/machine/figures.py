"""One latency and one bandwidth a link, by which it is known on screens, in pages and in JSON alike."""

from __future__ import annotations

from collections.abc import Mapping

from rankwise.machine.link import Point
from rankwise.machine.profile import Link
from rankwise.records import Interval, Record, computed, key, record


@record
class LinkFigures(Record):
    """The latency of a link: one way of its smallest message (0 B where measured), s; its bandwidth: size / time of its largest
    message, bytes/s. Intervals are 95 %, None where the spread is unknown."""

    latency_s: float = key("one way of its smallest message")
    latency_ci_s: Interval | None
    latency_lo_s = computed("", "float | None", lambda of: of.latency_ci_s and of.latency_ci_s[0])
    latency_hi_s = computed("", "float | None", lambda of: of.latency_ci_s and of.latency_ci_s[1])
    latency_bytes: int
    bandwidth_bytes_per_s: float = key("size by time of the largest message")
    bandwidth_ci_bytes_per_s: Interval | None
    bandwidth_lo_bytes_per_s = computed(
        "", "float | None", lambda of: of.bandwidth_ci_bytes_per_s and of.bandwidth_ci_bytes_per_s[0]
    )
    bandwidth_hi_bytes_per_s = computed(
        "", "float | None", lambda of: of.bandwidth_ci_bytes_per_s and of.bandwidth_ci_bytes_per_s[1]
    )
    bandwidth_bytes: int = key("size of that message", name="bandwidth_of_bytes")
    samples: int

    @staticmethod
    def of(link: Link) -> LinkFigures:
        first, last = link.send.table[0], link.send.table[-1]
        return LinkFigures(
            first.time_s, first.interval_s, first.size_bytes,
            last.size_bytes / last.time_s, _rate_interval(last), last.size_bytes, link.send.samples,
        )  # fmt: skip

    @property
    def balanced_bytes(self) -> float:
        """The size from which on a message's bytes take longer than its start: latency times bandwidth."""
        return self.latency_s * self.bandwidth_bytes_per_s


def figures_of(links: Mapping[str, Link]) -> dict[str, LinkFigures]:
    """Return the figures of each link class."""
    return {name: LinkFigures.of(link) for name, link in links.items()}


def _rate_interval(point: Point) -> Interval | None:
    if point.interval_s is None or not point.interval_s[0] > 0:
        return None
    low_s, high_s = point.interval_s
    return point.size_bytes / high_s, point.size_bytes / low_s
