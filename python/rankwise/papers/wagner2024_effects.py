"""Wagner 2024: what tables of latency and bandwidth show.

Table 1 and Figures 3 to 5 are a run of two ranks on a node as Slurm placed them. Why the curves bend follows from Table 3 and
the caches of Figure 5 (lstopo). What the author says of them is in wagner2024_claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankwise.arrays import Floats
from rankwise.blocks import Column, Table
from rankwise.papers import printed
from rankwise.records import Record, key, record
from rankwise.units import format_bandwidth, format_size

_FLAT = 1.1  # latencies within 10 % of the smallest message's are constant
_DROP = 0.9  # a bandwidth below 90 % of a smaller size's, beyond three standard deviations, is a drop
_SATURATED = 0.9  # of the largest sizes' bandwidth
L3_BYTES = 12 * 2**20  # Figure 5 (lstopo)
_BUFFERS = 4  # of a ping-pong: each rank sends from one and receives into another
WORDS = {
    "same-core": "hardware threads of a core", "shared-cache": "cores that share a cache", "same-socket": "cores of a socket",
    "other-socket": "sockets of a node", "other-node": "nodes",
}  # fmt: skip
# The paper's placements are our link classes.
LINKS = {"different_cores": "same-socket", "different_sockets": "other-socket", "different_nodes": "other-node"}
RESOLUTION_S = 0.01e-6  # latencies are printed so
_OVERLAPS = 1.5  # bandwidth over size / latency, from which on messages in flight overlap


@dataclass(frozen=True)
class Series:
    """One placement: mean and standard deviation over runs at each size. Bandwidths are not a number where there are none."""

    name: str
    runs: int
    sizes: NDArray[np.int64]
    latency_s: Floats
    latency_sigma_s: Floats
    bandwidth: Floats  # bytes/s
    bandwidth_sigma: Floats
    resolution_s: float = 0.0  # to which latencies are known
    hosts: Sequence[str] = field(default=())

    @property
    def has_bandwidth(self) -> NDArray[np.bool_]:
        return np.isfinite(self.bandwidth)

    def rows(self) -> list[Measured]:
        """Return its figures size by size."""
        columns = (self.sizes, self.latency_s, self.latency_sigma_s, self.bandwidth, self.bandwidth_sigma)
        return [
            Measured(size, *times, *(None if np.isnan(rate) else rate for rate in rates))
            for size, *times_and_rates in zip(*(column.tolist() for column in columns), strict=True)
            for times, rates in ((times_and_rates[:2], times_and_rates[2:]),)
        ]


@record
class Measured(Record):
    """A placement's figures at a size."""

    message_bytes: int = key("size of a message")
    latency_s: float = key("mean latency over runs")
    latency_sigma_s: float = key("standard deviation of latency_s over runs")
    bandwidth_bytes_per_s: float | None = key("mean bandwidth over runs; null: none was measured")
    bandwidth_sigma_bytes_per_s: float | None = key("standard deviation of bandwidth_bytes_per_s; null: none was measured")


def _us(time_s: float) -> str:
    return f"{1e6 * time_s:.2f}"


def _megabytes(rate: float) -> str:
    return f"{rate / 1e6:.2f}"


SIZE: Column[Measured] = Column("size", "message_bytes", format_size)
LATENCY: Column[Measured] = Column("latency, us", "latency_s", _us)
BANDWIDTH: Column[Measured] = Column("bandwidth, MB/s", "bandwidth_bytes_per_s", _megabytes)
TEN_RUNS: Sequence[Column[Measured]] = (
    SIZE,
    LATENCY,
    Column("σ", "latency_sigma_s", _us),
    BANDWIDTH,
    Column("σ", "bandwidth_sigma_bytes_per_s", _megabytes),
)


@record
class Drop(Record):
    """A bandwidth that falls as messages grow, from a peak to a bottom."""

    peak_bytes: int = key("size from which on it falls")
    peak: float = key("bandwidth at peak_bytes", name="peak_bytes_per_s")
    bottom_bytes: int = key("size at which it is lowest after the fall")
    bottom: float = key("bandwidth at bottom_bytes", name="bottom_bytes_per_s")
    recovered_bytes: int | None = key("least size at which it is as high again; null: at none")


@record
class Effects(Record):
    """What the figures of one placement show."""

    constant_latency_up_to_bytes: int = key("largest size up to which latency is that of the smallest messages")
    constant_latency_s: float = key("mean latency up to constant_latency_up_to_bytes")
    bandwidth_drop: Drop | None = key("where bandwidth falls as messages grow; null: nowhere")
    saturated_from_bytes: int | None = key("size from which on bandwidth grows no more; null: too few bandwidths")
    saturated_bytes_per_s: float | None = key("bandwidth from saturated_from_bytes on; null: too few bandwidths")
    growth_exponent: float | None = key("p where latency grows as size to the power p from 64 KiB on; null: too few sizes")
    largest_sigma_share: float = key("largest standard deviation of a latency by its mean")
    largest_sigma_share_bytes: int = key("size of the message with largest_sigma_share")

    @staticmethod
    def of(series: Series) -> Effects:
        constant = constant_up_to(series)
        constant_s = float(np.mean(series.latency_s[series.sizes <= constant]))
        from_bytes, rate = saturation_of(series) or (None, None)
        growth = growth_exponent(series, 65536)
        return Effects(constant, constant_s, drop_of(series), from_bytes, rate, growth, *largest_spread(series))


def constant_up_to(series: Series) -> int:
    """Return the largest size up to which every latency is that of the smallest messages, to 10 % or what is resolved."""
    first = float(series.latency_s[0])
    allowed = max(first * _FLAT, first + 2 * series.resolution_s)
    rises = np.flatnonzero(series.latency_s > allowed)
    return int(series.sizes[-1] if rises.size == 0 else series.sizes[rises[0] - 1])


def drop_of(series: Series) -> Drop | None:
    """Return the first drop of the bandwidth over sizes, or None."""
    here = np.flatnonzero(series.has_bandwidth)
    values, sigmas, sizes = series.bandwidth[here], series.bandwidth_sigma[here], series.sizes[here]
    for i in range(1, values.size):
        noise = 3 * float(np.hypot(sigmas[i - 1], sigmas[i]))
        if values[i] >= _DROP * values[i - 1] or values[i - 1] - values[i] <= noise:
            continue
        peak = i - 1
        after = np.flatnonzero(values[i:] >= values[peak])
        end = i + int(after[0]) if after.size else values.size
        bottom = i + int(np.argmin(values[i:end]))
        return Drop(
            int(sizes[peak]), float(values[peak]), int(sizes[bottom]), float(values[bottom]),
            int(sizes[end]) if after.size else None,
        )  # fmt: skip
    return None


def saturation_of(series: Series) -> tuple[int, float] | None:
    """Return the size from which on all bandwidths are 90 % of that of the
    largest sizes (median of the last four), and this."""
    here = np.flatnonzero(series.has_bandwidth)
    if here.size < 4:
        return None
    values, sizes = series.bandwidth[here], series.sizes[here]
    plateau = float(np.median(values[-4:]))
    below = np.flatnonzero(values < _SATURATED * plateau)
    start = 0 if below.size == 0 else int(below[-1]) + 1
    return (int(sizes[start]), plateau) if start < sizes.size else None


def growth_exponent(series: Series, from_bytes: int) -> float | None:
    """Return p where latency grows like size ** p over the sizes from ``from_bytes`` on (1: in proportion).

    None with fewer than two such sizes.
    """
    here = series.sizes >= max(1, from_bytes)
    if np.count_nonzero(here) < 2:
        return None
    return float(np.polyfit(np.log(series.sizes[here].astype(np.float64)), np.log(series.latency_s[here]), 1)[0])


def crossings(near: Series, far: Series) -> list[int]:
    """Return the sizes at which the farther placement is the faster one by more than three standard deviations."""
    return [
        int(size)
        for size, a, b, noise in zip(
            near.sizes, near.latency_s, far.latency_s, 3 * np.hypot(near.latency_sigma_s, far.latency_sigma_s), strict=True
        )
        if b < a - noise
    ]


def largest_spread(series: Series) -> tuple[float, int]:
    """Return the largest standard deviation of a latency as a share of its mean, and its size."""
    share = series.latency_sigma_s / series.latency_s
    return float(np.max(share)), int(series.sizes[int(np.argmax(share))])


def tabled(table: str, placement: str | None = None, runs: int = 1) -> Series:
    """Return what a table of ``data`` prints of a placement, or all of it; a single run has no deviations."""
    rows = [row for row in printed(table) if row.get("placement") == placement]

    def figures(name: str) -> tuple[Floats, Floats]:
        mean, sigma = (f"{name}_mean", f"{name}_sigma") if runs > 1 else (name, "")
        return np.array([row[mean] for row in rows], np.float64), np.array([row.get(sigma, 0) for row in rows], np.float64)

    link = "same-socket" if placement is None else LINKS[placement]
    sizes = np.array([row["message_bytes"] for row in rows])
    return Series(link, runs, sizes, *figures("latency_us"), *figures("bandwidth_MBps"), RESOLUTION_S)


def why(ten: Sequence[Series]) -> list[str]:
    """Say why the curves bend, from Table 3 and the caches of Figure 5; every figure is taken from them."""
    return [sentence for series in ten for sentence in (_in_flight(series),) if sentence] + [_cache(ten)]


def _in_flight(series: Series) -> str:
    """Whether messages in flight overlap, by size: bandwidth against what one message after the other would carry."""
    here = series.has_bandwidth & (series.sizes >= 1024) & (series.sizes <= 2**17)
    gain = series.bandwidth[here] * series.latency_s[here] / series.sizes[here]
    sizes = series.sizes[here]
    ends = np.flatnonzero((gain[:-1] >= _OVERLAPS) & (gain[1:] < gain[:-1] / _OVERLAPS))
    if ends.size == 0:
        return ""
    i = int(ends[0])
    return (
        f"Between {WORDS[series.name]} 64 messages in flight carry {gain[i]:.1f} times what single ones do at "
        f"{format_size(int(sizes[i]))}, {gain[i + 1]:.1f} times at {format_size(int(sizes[i + 1]))}: up to the first, the "
        "eager limit of the shared memory, the sender copies in while the receiver copies out; beyond it each message waits "
        "for its receiver and is copied alone."
    )


def _cache(ten: Sequence[Series]) -> str:
    near, far = ten[0], ten[1]
    steps = {series.name: float(series.latency_s[-1] / series.latency_s[-2]) for series in (near, far)}
    largest, before = int(near.sizes[-1]), int(near.sizes[-2])
    leaves_near = _BUFFERS * before <= L3_BYTES < _BUFFERS * largest
    leaves_far = L3_BYTES < _BUFFERS // 2 * largest
    jumps = [name for name, step in steps.items() if step > 2.5]
    expected = [name for name, leaves in ((near.name, leaves_near), (far.name, leaves_far)) if leaves]
    return (
        f"From {format_size(before)} to {format_size(largest)} latency grows {steps[near.name]:.1f} times between "
        f"{WORDS[near.name]}, {steps[far.name]:.1f} times between {WORDS[far.name]}. Four buffers of a ping-pong are "
        f"{format_size(_BUFFERS * largest)} in the one cache of {format_size(L3_BYTES)} that cores share, two are "
        f"{format_size(_BUFFERS // 2 * largest)} in each socket's: by that "
        + (f"{' and '.join(WORDS[name] for name in expected)} alone leave the cache" if expected else "nobody leaves the cache")
        + (", which is what is seen." if jumps == expected else ", which is not what is seen.")
    )


def table_1(one: Series) -> Table[Measured]:
    """Return Table 1."""
    peak = format_bandwidth(float(np.nanmax(one.bandwidth)))
    caption = f"Table 1: one run on one node; at most {peak}"
    return Table((SIZE, LATENCY, BANDWIDTH), one.rows(), name="table-1", caption=caption)
