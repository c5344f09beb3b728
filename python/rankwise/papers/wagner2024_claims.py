"""Wagner 2024, sentence by sentence: what the author says of Slurm, of the node and of Tables 1 to 3, each as a claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rankwise.arrays import Floats
from rankwise.machine.description import Description
from rankwise.machine.library import load_machine
from rankwise.papers.claims import NONE, Claim, Found, about, above, below, cannot, counted, exactly
from rankwise.papers.wagner2024_effects import WORDS, Series, constant_up_to, drop_of
from rankwise.slurm.script import MAIL_TYPES, Settings
from rankwise.statistics import rank_correlation
from rankwise.units import format_size

# Figure 5 (lstopo) and the list below it.
MACHINES, PACKAGES, CORES_A_PACKAGE, THREADS_A_CORE = 8, 2, 6, 2
NUMA_GB = (23, 24)
_NOTICED = 0.1  # of a latency, from which on a growth is significant
_SLURM = "rankwise slurm script"
_ARRAY = f"{_SLURM} --array"
_MACHINE = "rankwise machines show lcc3"


@dataclass(frozen=True)
class Tables:
    """What the sentences are about: Table 1, and Tables 2 and 3 by placement, the nearest first; a node by Figure 5."""

    one: Series
    single: Sequence[Series]
    ten: Sequence[Series]
    node: tuple[int, int, int, int] = (MACHINES, PACKAGES, CORES_A_PACKAGE, THREADS_A_CORE)
    numa_gb: Sequence[float] = NUMA_GB
    described: Description = field(default_factory=lambda: load_machine("lcc3"))
    job: Settings = Settings(tasks=8, array="1-5", mail_type="ALL")
    mail_types: Sequence[str] = MAIL_TYPES
    levels: Sequence[str] = tuple(WORDS)  # at which rankwise tells placements apart


def _tasks(job: Settings, array: str) -> list[int]:
    """Return the numbers of the tasks of an array, as Slurm reads what the job asks for: ranges with steps, and lists."""
    asked = next(line for line in Settings(tasks=job.tasks, array=array).directives() if line.startswith("--array="))
    found: list[int] = []
    for part in asked.removeprefix("--array=").partition("%")[0].split(","):
        first, last, step = re.fullmatch(r"(\d+)(?:-(\d+))?(?::(\d+))?", part).groups()  # type: ignore[union-attr]
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return found


def _exponential(values: Floats, sizes: NDArray[np.int64], here: NDArray[np.bool_]) -> Found:
    """By how much a power of size and an exponential in it miss values: root mean square of the logarithm."""
    y, size = np.log(values[here]), sizes[here].astype(np.float64)
    axes = np.log(size), size
    power, exponential = (float(np.sqrt(np.mean((np.polyval(np.polyfit(x, y, 1), x) - y) ** 2))) for x in axes)
    p = np.polyfit(axes[0], y, 1)[0]
    return (
        exponential / power,
        f"like size to the power {p:.2f}, off by {power:.0%}; an exponential is off by {exponential:.0%}",
    )


def _first_rise(of: Tables) -> Found:
    first = of.one.latency_s[0]
    at = int(np.flatnonzero(of.one.latency_s > first * (1 + _NOTICED))[0])
    return float(of.one.sizes[at]), f"{1e6 * of.one.latency_s[at]:.2f} us after {1e6 * first:.2f} us"


def _drop(of: Tables) -> Found:
    drop = drop_of(of.one)
    if drop is None:
        return 0.0, "no drop"
    back = drop.recovered_bytes or 0
    return float(drop.peak_bytes), f"it falls after {format_size(drop.peak_bytes)} and is back at {format_size(back)}"


def _recovers(of: Tables) -> float:
    drop = drop_of(of.one)
    return 0.0 if drop is None else float(drop.recovered_bytes or 0)


def _above_peak(of: Tables) -> Floats:
    return of.one.bandwidth[of.one.sizes > 131072]


def _rate(of: Tables, size: int) -> float:
    return float(of.one.bandwidth[of.one.sizes == size][0] / 1e6)


def contrary(series: Sequence[Series], what: str) -> Found:
    """Count at how many sizes a farther placement is no worse: has a lower latency, or a higher bandwidth."""
    found = {}
    for near, far in pairwise(series):
        better = far.latency_s < near.latency_s if what == "latency" else far.bandwidth > near.bandwidth
        found[WORDS[far.name]] = [format_size(int(size)) for size in near.sizes[better]]
    words = "; ".join(f"{name} at {', '.join(sizes)}" for name, sizes in found.items() if sizes)
    return sum(map(len, found.values())), words


def _more_for_large(slow: Floats, fast: Floats) -> Found:
    """By how much more two nodes and two cores differ at the largest size than at the smallest."""
    small, large = (float(slow[at] / fast[at]) for at in (1, -1))
    return large / small, f"nodes against cores {small:.1f} times at 1 B, {large:.1f} times at 4 MiB"


def _spreads(of: Tables, least: int = 0, most: int = 2**30) -> Floats:
    """Return the deviations of all figures of Table 3 at some sizes as shares of their means."""
    shares = [
        (sigma / value)[(least <= series.sizes) & (series.sizes <= most)]
        for series in of.ten
        for value, sigma in ((series.latency_s, series.latency_sigma_s), (series.bandwidth, series.bandwidth_sigma))
    ]
    values = np.concatenate(shares)
    return values[np.isfinite(values)]


def _sigma_grows(of: Tables) -> Found:
    """In how many placements the standard deviation of a latency grows with its size (rank correlation above one half)."""
    told, grown = [], 0
    for series in of.ten:
        correlation = rank_correlation(series.sizes, series.latency_sigma_s)
        grown += correlation > 0.5
        at = int(np.argmax(series.latency_sigma_s))
        told.append(f"{WORDS[series.name]} {correlation:.2f}, most {1e6 * series.latency_sigma_s[at]:.2f} us at "
                    f"{format_size(int(series.sizes[at]))}")  # fmt: skip
    small, large = float(np.median(_spreads(of, most=8192))), float(np.median(_spreads(of, least=8193)))
    shares = (
        f"as a share of the mean it does {'not ' if large <= small else ''}(median {small:.1%} to 8 KiB, {large:.1%} beyond)"
    )
    return grown, f"rank correlation of sigma and size: {'; '.join(told)}; {shares}"


def _cores(of: Tables) -> int:
    return int(np.prod(of.node[:3]))


def _figure(name: str, scale: float = 1.0) -> Callable[[Tables], float]:
    return lambda of: (of.described.get(name) or 0.0) / scale


def _asked(start: str) -> Callable[[Tables], Found]:
    def found(of: Tables) -> Found:
        lines = [line for line in of.job.directives() if line.startswith(start)]
        return float(len(lines)), " ".join(lines)

    return found


def _mail(of: Tables) -> Found:
    named = ("NONE", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT", "TIME_LIMIT", "TIME_LIMIT_50", "TIME_LIMIT_80",
             "TIME_LIMIT_90", "ARRAY_TASKS", "ALL")  # fmt: skip
    return counted([name for name in named if name not in of.mail_types])


def _array(array: str) -> Callable[[Tables], Found]:
    def found(of: Tables) -> Found:
        tasks = _tasks(of.job, array if of.job.array else "1")
        return float(len(tasks)), ", ".join(map(str, tasks))

    return found


_SITE = "a setting of that site, which only it can show"
CLAIMS: Sequence[Claim[Tables]] = (
    cannot("Ex. 1", "squ and squeue list the jobs differently",
           "squ is a command of that site alone; 'rankwise slurm status' asks squeue"),
    cannot("Ex. 1", "scancel cancels the running job", "it is Slurm's; 'rankwise slurm cancel' does it to jobs of rankwise"),
    Claim("Fig. 1", "a job of a node has 24 CPUs", exactly(24), lambda of: int(np.prod(of.node[1:])), "{:.0f} threads",
          _MACHINE),
    Claim("Ex. 1", "--ntasks=8: 8 tasks", exactly(8), lambda of: of.job.tasks or 0, "{:.0f} tasks", _SLURM),
    Claim("Ex. 1", "--array=1-5: 5 tasks", exactly(5), _array("1-5"), "{:.0f}", _ARRAY),
    Claim("Ex. 1", "--array=1-10:2: 1, 3, 5, 7, 9", exactly(5), _array("1-10:2"), "{:.0f}", _ARRAY),
    Claim("Ex. 1", "--array=0-9%4: 10 tasks", exactly(10), _array("0-9%4"), "{:.0f}", _ARRAY),
    Claim("Ex. 1", "--array=1,3,5,7: only these", exactly(4), _array("1,3,5,7"), "{:.0f}", _ARRAY),
    cannot("Ex. 1", "task IDs from 0 to 75,000", _SITE),
    cannot("Ex. 1", "%4: at most 4 tasks at once", "it is Slurm's; no time of such an array is given"),
    cannot("Ex. 1", "--time: seconds are rounded up to minutes", _SITE),
    cannot("Ex. 1", "TERM at the limit, KILL 30 s later", f"KillWait is {_SITE}; rankwise keeps its samples at TERM"),
    cannot("Ex. 1", "default limit of 30 minutes", _SITE),
    cannot("Ex. 1", "a short limit may start earlier", "no queue's records are given"),
    Claim("Ex. 1", "--mail-type: twelve kinds", NONE, _mail, "{:.0f} of them are refused", f"{_SLURM} --mail-type"),
    cannot("Ex. 1", "ALL is BEGIN, END, FAIL, REQUEUE, STAGE_OUT", "it depends on the version of Slurm, which is not given"),
    cannot("Ex. 1", "mail to a local user does not arrive", _SITE),
    Claim("Ex. 1", "ARRAY_TASKS can mean many mails", above(1), lambda of: len(_tasks(of.job, of.job.array or "1")),
          "{:.0f} tasks, a mail each", f"{_SLURM} --array 1-5"),
    cannot("Fig. 2", "8 processes, each on its own core and node", "Figure 2 is a picture, its options are not in the text"),
    Claim("Table 1", "latency is constant up to 16 B", exactly(16), lambda of: constant_up_to(of.one), "up to {:.0f} B"),
    Claim("Table 1", "constant at 0.16 us", exactly(0.16), lambda of: round(1e6 * float(of.one.latency_s[0]), 2), "{:.2f} us"),
    Claim("Table 1, Fig. 3", "latency increases exponentially", below(1),
          lambda of: _exponential(of.one.latency_s, of.one.sizes, of.one.sizes >= 2**16),
          "{:.1f} times the misfit of a power law"),
    Claim("Table 1", "significant from around 128 B on", exactly(128), _first_rise, "{:.0f} B"),
    Claim("Table 1", "around 759 us at 4 MB", about(759, 0.005), lambda of: 1e6 * float(of.one.latency_s[-1]), "{:.2f} us"),
    Claim("Table 1", "bandwidth starts from 9.58 MB/s at 1 B", exactly(9.58), lambda of: round(_rate(of, 1), 2), "{:.2f} MB/s"),
    Claim("Table 1, Fig. 4", "bandwidth grows exponentially", below(1),
          lambda of: _exponential(of.one.bandwidth, of.one.sizes, of.one.has_bandwidth & (of.one.sizes <= 8192)),
          "{:.1f} times the misfit of a power law"),
    Claim("Table 1", "peak of 12506.14 MB/s", exactly(12506.14), lambda of: round(float(np.nanmax(of.one.bandwidth)) / 1e6, 2),
          "{:.2f} MB/s"),
    Claim("Table 1", "the peak is around 130 KB", about(130e3), lambda of: float(of.one.sizes[np.nanargmax(of.one.bandwidth)]),
          "{:.0f} B"),
    Claim("Table 1", "bandwidth drops from 8 KB on", exactly(8192), _drop, "after {:.0f} B"),
    Claim("Table 1", "recovers by 65 KB", exactly(65536), _recovers, "{:.0f} B"),
    Claim("Table 1", "a slight drop above 130 KB", (0.01, 0.15),
          lambda of: 1 - float(_above_peak(of).mean() / np.nanmax(of.one.bandwidth)), "{:.1%} below the peak"),
    Claim("Table 1", "fluctuates around 11500 MB/s", about(11500, 0.02), lambda of: float(_above_peak(of).mean()) / 1e6,
          "mean {:.0f} MB/s"),
    Claim("Table 1", "beyond 130 KB no significant gain", below(1.01),
          lambda of: float(_above_peak(of).max() / _rate(of, 131072) / 1e6), "at most {:.3f} times"),
    Claim("Fig. 5", "8 machines", exactly(8), _figure("nodes"), "{:.0f}", _MACHINE),
    Claim("Fig. 5", "96 cores in the cluster", exactly(96), _cores, "{:.0f} by sockets and cores", _MACHINE),
    Claim("Fig. 5", "192 threads in the cluster", exactly(192), lambda of: _cores(of) * of.node[3], "{:.0f}", _MACHINE),
    Claim("Fig. 5", "two sockets of six cores", exactly(12), _figure("cores"), "{:.0f} cores a node", _MACHINE),
    Claim("Fig. 5", "12 threads a NUMA node", exactly(12), lambda of: of.node[2] * of.node[3], "{:.0f}", _MACHINE),
    Claim("Fig. 5", "47 GB of memory, 23 and 24 GB a NUMA node", exactly(47), lambda of: sum(of.numa_gb), "{:.0f} GB",
          _MACHINE),
    Claim("Fig. 5", "12 MB of L3 a socket", about(12, 0.01), _figure("cache", 2**20), "{:.1f} MiB", _MACHINE),
    cannot("Fig. 5", "L1 32 KB, L2 256 KB, a disk of 232 GB", "lstopo of that machine alone can show it; no table needs it"),
    Claim("Ex. 2", "two tasks share a socket by default", below(0.06),
          lambda of: float(np.max(np.abs(of.one.latency_s / of.single[0].latency_s - 1))),
          "Table 1 is off Table 2's cores of a socket by at most {:.1%}"),
    cannot("Ex. 2", "--nodes=2 puts the tasks on separate nodes", "the jobs' maps are not given; rankwise reads places back"),
    Claim("Fig. 6", "--display-map: threads, cores, sockets", NONE,
          lambda of: counted([name for name in ("same-core", "same-socket", "other-socket") if name not in of.levels]),
          "{:.0f} of them are not told apart by rankwise", "rankwise measure bandwidth"),
    Claim("Ex. 2", "osu_bw has many messages in flight", above(1),
          lambda of: float(np.nanmax(of.one.bandwidth[1:] * of.one.latency_s[1:] / of.one.sizes[1:])),
          "at most {:.1f} times what single messages carry"),
    Claim("Table 2, Fig. 7", "latency rises with distance", NONE, lambda of: contrary(of.single, "latency"),
          "contradicted by {:.0f} of the sizes"),
    Claim("Table 2, Fig. 8", "bandwidth falls with distance", NONE, lambda of: contrary(of.single, "bandwidth"),
          "contradicted by {:.0f} of the sizes"),
    Claim("Table 2", "more so for large messages (ratio of latencies)", above(1),
          lambda of: _more_for_large(of.single[-1].latency_s, of.single[0].latency_s),
          "at 4 MiB the gap is {:.2f} times that at 1 B"),
    Claim("Table 2", "more so for large messages (of bandwidths)", above(1),
          lambda of: _more_for_large(of.single[0].bandwidth, of.single[-1].bandwidth),
          "at 4 MiB the gap is {:.2f} times that at 1 B"),
    Claim("Tables 2, 3", "latency rises with distance: ten runs", NONE, lambda of: contrary(of.ten, "latency"),
          "contradicted by {:.0f} of the sizes"),
    Claim("Tables 2, 3", "bandwidth falls with distance: ten runs", NONE, lambda of: contrary(of.ten, "bandwidth"),
          "contradicted by {:.0f} of the sizes"),
    Claim("Table 3", "low sigma for small messages", below(0.05),
          lambda of: float(np.median(_spreads(of, most=8192))), "median {:.1%} of the mean"),
    Claim("Table 3", "sigma is higher for large messages", above(0), _sigma_grows, "in {:.0f} of 3 placements"),
    Claim("Table 3, Figs 9, 10", "minimal fluctuations in most configurations", above(0.5),
          lambda of: float(np.mean(_spreads(of) < 0.05)), "{:.0%} of all figures within 5 % of their mean"),
)  # fmt: skip
