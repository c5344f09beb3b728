"""One latency and one bandwidth a link, by which it is known on screens, in pages and in JSON alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankwise.machine.link import Point
from rankwise.machine.profile import Link
from rankwise.records import Interval


@dataclass(frozen=True)
class LinkFigures:
    """The latency of a link: one way of its smallest message (0 B where measured), s; its bandwidth: size / time of its largest
    message, bytes/s. Intervals are 95 %, None where the spread is unknown."""

    latency_s: float
    latency_ci_s: Interval | None
    latency_bytes: int
    bandwidth_bytes_per_s: float
    bandwidth_ci_bytes_per_s: Interval | None
    bandwidth_bytes: int
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

    def to_dict(self) -> dict[str, Any]:
        low, high = self.latency_ci_s or (None, None)
        least, most = self.bandwidth_ci_bytes_per_s or (None, None)
        return {
            "latency_s": self.latency_s, "latency_lo_s": low, "latency_hi_s": high,
            "bandwidth_bytes_per_s": self.bandwidth_bytes_per_s, "bandwidth_lo_bytes_per_s": least,
            "bandwidth_hi_bytes_per_s": most, "bandwidth_of_bytes": self.bandwidth_bytes,
        }  # fmt: skip


def figures_of(links: Mapping[str, Link]) -> dict[str, LinkFigures]:
    """Return the figures of each link class."""
    return {name: LinkFigures.of(link) for name, link in links.items()}


def _rate_interval(point: Point) -> Interval | None:
    if point.interval_s is None or not point.interval_s[0] > 0:
        return None
    low_s, high_s = point.interval_s
    return point.size_bytes / high_s, point.size_bytes / low_s
