"""Wagner 2024, Table 1 and Figures 3 to 5: one run on one node; what the author says of it held against the figures; and why.

Table 1 is a run of two ranks on a node as Slurm placed them. Each remark of the text is recomputed from the table that it is
made of. Why the curves bend follows from Table 3 and the caches of Figure 5 (lstopo).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankwise.blocks import Column, Table, yes_or_no
from rankwise.papers.osu_effects import (
    BANDWIDTH,
    LATENCY,
    SIZE,
    Array,
    Measured,
    Series,
    constant_up_to,
    drop_of,
    growth_exponent,
    largest_spread,
)
from rankwise.report.reproduction import Section
from rankwise.units import format_bandwidth, format_size, format_time

DATA = Path(__file__).with_name("data")
# Figure 5 (lstopo), as the text lists it.
MACHINES, PACKAGES, CORES_A_PACKAGE, THREADS_A_CORE = 8, 2, 6, 2
CLUSTER_CORES, MEMORY_GB, NUMA_GB = 96, 47, (23, 24)
L3_BYTES = 12 * 2**20
_BUFFERS = 4  # of a ping-pong: each rank sends from one and receives into another
_OVERLAPS = 1.5  # bandwidth over size / latency, from which on messages in flight overlap


@dataclass(frozen=True)
class Remark:
    """What the text says, what the figures say, and whether that is the same."""

    says: str
    figures: str
    holds: bool


def table_1() -> Series:
    """Return Table 1 as a series of one run."""
    with (DATA / "wagner2024_one_node.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    sizes = np.array([int(row["message_bytes"]) for row in rows])
    zeros = np.zeros(sizes.size)
    return Series(
        "same-socket", 1, sizes, np.array([float(row["latency_us"]) for row in rows]) * 1e-6, zeros,
        np.array([float(row["bandwidth_MBps"] or "nan") for row in rows]) * 1e6, zeros, 0.01e-6,
    )  # fmt: skip


def remarks(one: Series, ten: Sequence[Series]) -> list[Remark]:
    """Return the author's remarks on Tables 1 to 3, each with the figures that it is about."""
    last_s, large = float(one.latency_s[-1]), one.sizes >= 2**16
    power = growth_exponent(one, 65536) or 0.0
    of_power, of_exponential = _misfits(one.sizes[large], one.latency_s[large])
    constant = constant_up_to(one)
    rises = int(one.sizes[int(np.searchsorted(one.sizes, constant)) + 1])
    drop = drop_of(one)
    climbs = np.isfinite(one.bandwidth) & (one.sizes <= 8192)
    climb = float(np.polyfit(np.log(one.sizes[climbs]), np.log(one.bandwidth[climbs]), 1)[0])
    climb_power, climb_exponential = _misfits(one.sizes[climbs], one.bandwidth[climbs])
    peak = int(np.nanargmax(one.bandwidth))
    above = one.bandwidth[one.sizes > 131072]
    near, far = ten[0], ten[1]
    latency_slips = [int(s) for s, a, b in zip(near.sizes, near.latency_s, far.latency_s, strict=True) if b < a]
    bandwidth_slips = [int(s) for s, a, b in zip(near.sizes, near.bandwidth, far.bandwidth, strict=True) if b > a]
    spread, at = largest_spread(near)
    return [
        Remark(
            "latency is constant up to 16 bytes (Table 1)",
            f"constant up to {format_size(constant)}",
            constant == 16,
        ),
        Remark(
            "the increase becomes significant from around 128 bytes on",
            f"{format_time(float(one.latency_s[one.sizes == rises][0]))} at {format_size(rises)} is the first above the "
            f"constant {format_time(float(one.latency_s[0]))}",
            rises == 128,
        ),
        Remark(
            "around 759 us for the largest message",
            f"Table 1 has {1e6 * last_s:.2f} us",
            abs(759e-6 / last_s - 1) < 0.005,
        ),
        Remark(
            "latency grows exponentially",
            f"from 64 KiB on like size to the power {power:.2f}: a power law is off by {of_power:.0%}, an exponential by "
            f"{of_exponential:.0%} (root mean square of the logarithm)",
            of_exponential < of_power,
        ),
        Remark(
            "bandwidth grows exponentially for mid-sized messages",
            f"up to 8 KiB like size to the power {climb:.2f}: off by {climb_power:.0%}, an exponential by "
            f"{climb_exponential:.0%}",
            climb_exponential < climb_power,
        ),
        Remark(
            "bandwidth peaks at 12506.14 MB/s around 130 KB",
            f"{one.bandwidth[peak] / 1e6:.2f} MB/s at {format_size(int(one.sizes[peak]))}",
            bool(abs(one.bandwidth[peak] / 12506.14e6 - 1) < 1e-6 and one.sizes[peak] == 131072),
        ),
        Remark(
            "bandwidth drops between 8 KB and 65 KB",
            "no drop"
            if drop is None
            else f"it falls from {format_size(drop.peak_bytes)} to {format_size(drop.bottom_bytes)} and is back at "
            f"{format_size(drop.recovered_bytes or 0)}",
            drop is not None and (drop.peak_bytes, drop.recovered_bytes) == (8192, 65536),
        ),
        Remark(
            "above 130 KB it fluctuates around 11500 MB/s",
            f"{above.min() / 1e6:.0f} to {above.max() / 1e6:.0f} MB/s, mean {above.mean() / 1e6:.0f}",
            bool(abs(above.mean() / 11500e6 - 1) < 0.02),
        ),
        Remark(
            "latency rises and bandwidth falls with distance, most so for large messages (Table 2; checked on Table 3)",
            f"between sockets latency is lower at {_sizes(latency_slips)} and bandwidth higher at {_sizes(bandwidth_slips)} "
            "than between cores",
            not latency_slips and not bandwidth_slips,
        ),
        Remark(
            "some deviations are slightly higher as messages grow (Table 3)",
            f"between cores the largest is {spread:.1%} of the mean, at {format_size(at)}",
            at > 4096,
        ),
        Remark(
            "96 cores and 192 threads in 8 machines, 47 GB each (Figure 5)",
            f"{MACHINES} x {PACKAGES} x {CORES_A_PACKAGE} = {MACHINES * PACKAGES * CORES_A_PACKAGE} cores, x {THREADS_A_CORE} "
            f"= {MACHINES * PACKAGES * CORES_A_PACKAGE * THREADS_A_CORE} threads; {' + '.join(map(str, NUMA_GB))} = "
            f"{sum(NUMA_GB)} GB",
            (MACHINES * PACKAGES * CORES_A_PACKAGE, sum(NUMA_GB)) == (CLUSTER_CORES, MEMORY_GB),
        ),
    ]


def why(ten: Sequence[Series]) -> list[str]:
    """Say why the curves bend, from Table 3 and the caches of Figure 5; every figure is taken from them."""
    return [sentence for series in ten for sentence in (_in_flight(series),) if sentence] + [_cache(ten)]


def section(one: Series, ten: Sequence[Series]) -> Section:
    """The part of the page without its pictures."""
    told = remarks(one, ten)
    wrong = [remark for remark in told if not remark.holds]
    return Section(
        "single",
        "One run, its remarks, and why",
        (
            f"Of {len(told)} remarks of the text {len(told) - len(wrong)} follow from its tables; {len(wrong)} do not: "
            + "; ".join(f"'{remark.says}' ({remark.figures})" for remark in wrong)
            + ".",
            *why(ten),
        ),
        (Table(_REMARKS, told, name="remarks", caption="What the text says, and what its tables say."), _table(one)),
    )


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
        f"Between {_WORDS[series.name]} 64 messages in flight carry {gain[i]:.1f} times what single ones do at "
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
        f"{_WORDS[near.name]}, {steps[far.name]:.1f} times between {_WORDS[far.name]}. Four buffers of a ping-pong are "
        f"{format_size(_BUFFERS * largest)} in the one cache of {format_size(L3_BYTES)} that cores share, two are "
        f"{format_size(_BUFFERS // 2 * largest)} in each socket's: by that "
        + (
            f"{' and '.join(_WORDS[name] for name in expected)} alone leave the cache"
            if expected
            else "nobody leaves the cache"
        )
        + (", which is what is seen." if jumps == expected else ", which is not what is seen.")
    )


_WORDS = {"same-socket": "cores of a socket", "other-socket": "sockets of a node", "other-node": "nodes"}


def _misfits(sizes: NDArray[np.int64], values: Array) -> tuple[float, float]:
    """By how much a power of size and an exponential in it miss values: root mean square of the logarithm."""
    y = np.log(values)
    axes = np.log(sizes.astype(np.float64)), sizes.astype(np.float64)
    power, exponential = (float(np.sqrt(np.mean((np.polyval(np.polyfit(x, y, 1), x) - y) ** 2))) for x in axes)
    return power, exponential


def _sizes(sizes: Sequence[int]) -> str:
    return ", ".join(map(format_size, sizes)) or "no size"


_REMARKS: Sequence[Column[Remark]] = (
    Column("the text", "says", key="text"),
    Column("the figures", "figures"),
    Column("holds", "holds", yes_or_no),
)


def _table(one: Series) -> Table[Measured]:
    peak = format_bandwidth(float(np.nanmax(one.bandwidth)))
    caption = f"Table 1: one run on one node; at most {peak}"
    return Table((SIZE, LATENCY, BANDWIDTH), one.rows(), name="table-1", caption=caption)
