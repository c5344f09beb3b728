"""Czechowski et al. (ICS 2012), section 6: published figures of Predictions 1 to 3, and what the equations give for them.

Published figures are the paper's text; ours follow from its Table 1 (printed ten-year factors, unrounded products) and
from its equations. The three designs that are matched on peak, on time without overlap and on time with overlap are
solved for. The effective constants of the memory term are fitted to these very figures: that they fit shows which
memory term the figures need, not that it is the one that was used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from rankwise.models import fft3d
from rankwise.papers import czechowski2012_table1 as table1
from rankwise.records import Record, computed, key, record

N = 21_000  # section 6, Prediction 2
FIGURE6_N = 4096  # caption of Figure 6
CLOSE = 0.05
READINGS = fft3d.READINGS
TOPOLOGIES = {"3-D torus": 2 / 3, "4-D torus": 3 / 4, "5-D torus": 4 / 5, "3-D torus, ideal": 5 / 6}


@record
class Bar(Record):
    """One bar of Figure 5: a design of so many processors and its two times."""

    name: str = key("design of the bar", name="design")
    processors: float = key("processors of the design")
    peak_flop_per_s: float = key("peak of all its processors")
    memory_s: float = key("time by the memory term, Eq. 2")
    network_s: float = key("time by the network term, Eq. 5")
    sequential_s = computed("time of both terms in turns", float, lambda bar: bar.memory_s + bar.network_s)
    overlapped_s = computed("time with full overlap, the longer of both", float, lambda bar: max(bar.memory_s, bar.network_s))

    @property
    def flop_per_s(self) -> float:
        """Performance without overlap."""
        return fft3d.Transform(N).flops / float(self.sequential_s)


class Designs(NamedTuple):
    """The four bars of Figure 5: GPU, and the CPU designs matched on peak, on time without and on time with overlap."""

    gpu: Bar
    cpu1: Bar
    cpu2: Bar
    cpu3: Bar


def _difference(reading: str) -> computed:
    return computed(
        f"{reading.replace('-', '_')} by published, minus 1", float, lambda one: one.of(reading) / one.published - 1
    )


def _within(reading: str) -> computed:
    return computed(
        f"whether {reading.replace('-', '_')} is within 5 % of what is published", bool,
        lambda one: abs(one.of(reading) / one.published - 1) <= CLOSE,
    )  # fmt: skip


@record
class Published(Record):
    """A figure of the paper's text, and how it follows from the designs; its value in SI units, and how it is printed."""

    name: str = key("short name of the figure, the same in all versions", name="key")
    prediction: int = key("number of the prediction that it belongs to")
    what: str = key("which figure it is")
    unit: str = key("SI unit of all values")
    printed: str = key("figure as printed")
    published: float = key("figure as printed, in the SI unit")
    ours: Callable[[Designs], float]
    rough: bool = key("whether it is given in words or with one digit only", default=False)
    literal = computed("what the literal text gives", float, lambda one: one.of(fft3d.LITERAL))
    literal_difference = _difference(fft3d.LITERAL)
    literal_within_5_percent = _within(fft3d.LITERAL)
    paper_effective = computed("what the memory term gives that the figures imply", float, lambda one: one.of(fft3d.EFFECTIVE))
    paper_effective_difference = _difference(fft3d.EFFECTIVE)
    paper_effective_within_5_percent = _within(fft3d.EFFECTIVE)

    def of(self, reading: str) -> float:
        """Ours by a reading of the memory term."""
        return self.ours(figure5(reading))

    def written(self, value: float) -> str:
        """Write a value of ours in the manner of the printed one."""
        if self.printed.endswith("%"):
            return f"{100 * value:.3f} %"
        if self.unit == "flop/s":
            return f"{value / 1e18:.2f} EF/s" if value >= 1e17 else f"{value / 1e15:.2f} PF/s"
        if self.unit == "s":
            return f"{value:.3f} s"
        if value >= 1e6:
            return f"{value / 1e6:.2f}M"
        return f"{value / 1e3:.1f}k" if value >= 1e3 else f"{value:.3g}"


PUBLISHED = (
    Published("gpu_performance", 1, "GPU design: performance", "flop/s", "2.8 PF/s", 2.8e15, lambda by: by.gpu.flop_per_s),
    Published("gpu_share", 1, "GPU design: share of 4 EF/s", "1", "0.08 %", 0.0008,
              lambda by: by.gpu.flop_per_s / by.gpu.peak_flop_per_s),
    Published("gpu_net_over_mem", 2, "GPU design: T_net / T_mem", "1", "2.8x", 2.8,
              lambda by: by.gpu.network_s / by.gpu.memory_s),
    Published("cpu1_over_gpu", 2, "CPU-1 over GPU: performance", "1", "3.2x", 3.2,
              lambda by: by.gpu.sequential_s / by.cpu1.sequential_s),
    Published("cpu1_net_over_gpu", 2, "CPU-1 over GPU: T_net", "1", "nearly 1/5", 0.2,
              lambda by: by.cpu1.network_s / by.gpu.network_s, rough=True),
    Published("cpu1_processors_over_gpu", 2, "CPU-1 over GPU: processors", "1", "over 10x", 10,
              lambda by: by.cpu1.processors / by.gpu.processors, rough=True),
    Published("cpu1_processors", 2, "CPU-1: processors", "1", "1M", 1e6, lambda by: by.cpu1.processors, rough=True),
    Published("cpu2_processors", 2, "CPU-2: processors", "1", "350k", 350e3, lambda by: by.cpu2.processors),
    Published("cpu2_peak", 2, "CPU-2: peak", "flop/s", "1 EF/s", 1e18, lambda by: by.cpu2.peak_flop_per_s),
    Published("overlapped_time", 2, "GPU and CPU-3: time with full overlap", "s", "0.528 s", 0.528,
              lambda by: by.gpu.overlapped_s),
    Published("cpu3_processors", 2, "CPU-3: processors", "1", "295k", 295e3, lambda by: by.cpu3.processors),
    Published("cpu3_processors_over_gpu", 2, "CPU-3 over GPU: processors", "1", "2.25x", 2.25,
              lambda by: by.cpu3.processors / by.gpu.processors),
    Published("ideal_over_bisection", 3, "CPU design: ideal mapping over bisection", "1", "10x", 10,
              lambda by: by.cpu1.processors ** (5 / 6 - 2 / 3), rough=True),
)  # fmt: skip


def bar(name: str, design: str, reading: str, processors: float, torus_constant: str = "printed") -> Bar:
    """Both times of a design of 2020 with so many processors, by Eq. 2 and Eq. 5."""
    trend, year = table1.TREND, table1.LAST_YEAR
    peak = trend["node_peak"].at(design, year)
    system = fft3d.System(
        nodes=processors,
        node_flop_per_s=peak,
        memory_bytes_per_s=trend["memory_bandwidth"].at(design, year),
        cache_bytes=trend["cache"].at(design, year),
        network=fft3d.Network(
            "torus", link_bytes_per_s=trend["link_bandwidth"].at("both", year), torus_constant=torus_constant
        ),
    )
    terms = fft3d.predict(fft3d.Transform(N), system, fft3d.memory_of(reading, design))
    return Bar(name, processors, processors * peak, terms.memory_s, terms.network_s)


@cache
def figure5(reading: str) -> Designs:
    """The four bars."""
    gpu = bar("GPU", "gpu", reading, table1.processors("gpu", table1.LAST_YEAR))

    def cpu(processors: float) -> Bar:
        return bar("", "cpu", reading, processors)

    return Designs(
        gpu,
        bar("CPU-1", "cpu", reading, table1.processors("cpu", table1.LAST_YEAR)),
        bar("CPU-2", "cpu", reading, fft3d.solve_nodes(lambda p: cpu(p).sequential_s, gpu.sequential_s)),
        bar("CPU-3", "cpu", reading, fft3d.solve_nodes(lambda p: cpu(p).overlapped_s, gpu.overlapped_s)),
    )


def reproduced(reading: str) -> dict[str, float]:
    """Ours of every published figure, by its name."""
    return {one.name: one.of(reading) for one in PUBLISHED}


def figure6(reading: str) -> dict[str, list[tuple[int, float]]]:
    """T_mem / T_net of the CPU design from 2010 to 2020 for each topology (Eq. 10 with its constants).

    The problem starts at 4096^3 and grows with the processors, so that it cancels but for the logarithm, which stays
    below 1 throughout (a pencil fits in the fast memory).
    """
    trend = table1.TREND
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in TOPOLOGIES}
    first = table1.processors("cpu", table1.FIRST_YEAR)
    for year in range(table1.FIRST_YEAR, table1.LAST_YEAR + 1):
        processors = table1.processors("cpu", year)
        transform = fft3d.Transform(FIGURE6_N * (processors / first) ** (1 / 3))
        link = trend["link_bandwidth"].at("both", year)
        memory_s = fft3d.memory_time(
            transform, processors, trend["memory_bandwidth"].at("cpu", year), trend["cache"].at("cpu", year),
            fft3d.memory_of(reading, "cpu"),
        )  # fmt: skip
        for name in TOPOLOGIES:
            if name.endswith("ideal"):
                network_s = fft3d.torus_ideal_time(transform, processors, link)
            else:
                network_s = fft3d.torus_bisection_time(transform, processors, link, int(name[0]))
            curves[name].append((year, memory_s / network_s))
    return curves


_FALLS = "3-D torus"  # whose ratio the text lets fall, below 1; those of the others rise


@record
class Curve(Record):
    """What the text says of a curve of Figure 6, and whether a reading agrees."""

    reading: str = key("reading of the memory term")
    topology: str = key("network of the curve")
    ratio_2010: float = key("T_mem / T_net of 2010")
    ratio_2020: float = key("T_mem / T_net of 2020")
    growth = computed("ratio_2020 by ratio_2010", float, lambda one: one.ratio_2020 / one.ratio_2010)
    text_says = computed(
        "what the text says of the ratio", str, lambda one: "falls, below 1" if one.topology == _FALLS else "rises"
    )
    trend_agrees = computed(
        "whether it falls or rises as the text says",
        bool,
        lambda one: (one.ratio_2020 > one.ratio_2010) == (one.topology != _FALLS),
    )
    level_agrees = computed(
        "whether it stays below 1; null: the text does not say so",
        bool | None,
        lambda one: max(one.ratio_2010, one.ratio_2020) < 1 if one.topology == _FALLS else None,
    )
    memory_dominates_2020 = computed(
        "whether memory takes longer than the network in 2020", bool, lambda one: one.ratio_2020 > 1
    )  # fmt: skip


def figure6_statements() -> list[Curve]:
    """What the text says of Figure 6, and whether each reading agrees."""
    return [Curve(reading, name, curve[0][1], curve[-1][1]) for reading in READINGS for name, curve in figure6(reading).items()]


def exact_performance() -> dict[str, float]:
    """The GPU design's performance with the exact bisection of the torus in place of the printed constant."""
    count = figure5(fft3d.LITERAL).gpu.processors
    return {reading: bar("GPU", "gpu", reading, count, "exact").flop_per_s for reading in READINGS}
