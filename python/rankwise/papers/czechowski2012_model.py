"""Czechowski et al. (ICS 2012): Table 1, every cell recomputed from its neighbours, and the figures of Predictions 1 to 3.

Published figures of section 6 are the paper's text; ours follow from its Table 1 (printed ten-year factors, unrounded products)
and from its equations. The three designs that are matched on peak, on time without overlap and on time with overlap are
solved for. The effective constants of the memory term are fitted to these very figures: that they fit shows which
memory term the figures need, not that it is the one that was used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rankwise.machine.description import format_quantity
from rankwise.models import fft3d
from rankwise.records import Record, computed, key, record

FIRST_YEAR, LAST_YEAR = 2010, 2020
AGREES, ROUNDING, CONTRADICTS = "agrees", "rounding", "contradicts"
_SUFFIX = {"": 1.0, "k": 1e3, "M": 1e6}


@dataclass(frozen=True)
class Printed:
    """A figure as printed; ``low`` and ``high`` are the values that round to it."""

    text: str
    value: float
    low: float
    high: float

    @staticmethod
    def of(text: str, unit: float = 1.0) -> Printed:
        """Read a printed figure such as ``59.0``, ``18k`` or ``1.3M``; ``unit`` is the SI value of its unit."""
        match = re.fullmatch(r"([\d,]+)(?:\.(\d+))?([kM]?)", text)
        assert match is not None, text
        scale = _SUFFIX[match[3]] * unit
        whole = match[1].replace(",", "")
        # Trailing zeros of the processor counts are not digits that were meant: 79,400 is 79,4xx.
        zeros = len(whole) - len(whole.rstrip("0")) if "," in match[1] else 0
        half = 0.5 * 10.0 ** (zeros - len(match[2] or "")) * scale
        value = float(f"{whole}.{match[2] or 0}") * scale
        return Printed(text, value, value - half, value + half)


def _value(printed: Printed) -> float:
    return printed.value


def _first(values: Mapping[str, tuple[Printed, Printed]]) -> dict[str, float]:
    return {design: first.value for design, (first, _) in values.items()}


@record
class Trend(Record):
    """A row of the table: doubling time in years, ten-year factor, and for each design the values of 2010 and 2020."""

    name: str = key("short name of the quantity, the same in all versions", name="key")
    symbol: str = key("symbol of the quantity in the paper")
    meaning: str = key("what the quantity is")
    unit: str = key("SI unit of the quantity")
    doubling: Printed = key("printed time in which it doubles", name="doubling_years", shape=float, write=_value)
    factor: Printed = key("printed growth from 2010 to 2020", name="ten_year_factor", shape=float, write=_value)
    values: Mapping[str, tuple[Printed, Printed]] = key(
        "printed value of 2010 by design, in the SI unit", name="base", shape=Mapping[str, float], write=_first
    )

    def at(self, design: str, year: float) -> float:
        """The value in a year in SI units, by the printed ten-year factor."""
        return self.values[design][0].value * math.pow(self.factor.value, (year - FIRST_YEAR) / (LAST_YEAR - FIRST_YEAR))

    def at_by_doubling(self, design: str, year: float) -> float:
        """The value in a year in SI units, by the printed doubling time."""
        return self.values[design][0].value * math.pow(2, (year - FIRST_YEAR) / self.doubling.value)


def _trend(
    name: str, symbol: str, meaning: str, unit: str, si: float, doubling: str, factor: str, **values: tuple[str, str, float]
) -> Trend:
    printed = {
        design: (Printed.of(first, si), Printed.of(last, si * larger)) for design, (first, last, larger) in values.items()
    }
    return Trend(name, symbol, meaning, unit, Printed.of(doubling), Printed.of(factor), printed)


# The last figure of each value is the unit of 2020 over that of 2010 (3.0 TF/s beside 50.4 GF/s: 1000).
TRENDS = (
    _trend("node_peak", "C", "peak of a processor", "flop/s", 1e9, "1.7", "59.0",
           cpu=("50.4", "3.0", 1e3), gpu=("515", "30", 1e3)),
    _trend("cores", "rho", "cores of a processor", "1", 1.0, "1.87", "40.7", cpu=("6", "134", 1), gpu=("448", "18k", 1)),
    _trend("memory_bandwidth", "beta_mem", "memory bandwidth of a processor", "B/s", 1e9, "3.0", "9.7",
           cpu=("21.3", "206", 1), gpu=("144", "1.4", 1e3)),
    _trend("cache", "Z", "fast memory of a processor", "B", 1e6, "2.0", "32.0", cpu=("6", "192", 1), gpu=("2.7", "86.4", 1)),
    _trend("line", "L", "cache line", "B", 1.0, "10.2", "2.0", cpu=("64", "128", 1), gpu=("128", "256", 1)),
    _trend("link_bandwidth", "beta_link", "link bandwidth", "B/s", 1e9, "2.25", "21.8", both=("10", "218", 1)),
    _trend("machine_peak", "R_peak", "peak of the machine", "flop/s", 1e15, "1.0", "1000", both=("4", "4", 1e3)),
    _trend("memory", "E", "memory of the machine", "B", 1e12, "1.3", "208", both=("635", "132", 1e3)),
    _trend("nodes", "P", "processors of the machine", "1", 1.0, "2.4", "17.4",
           cpu=("79,400", "1.3M", 1), gpu=("7,770", "135,000", 1)),
)  # fmt: skip
TREND = {trend.name: trend for trend in TRENDS}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


@record
class Cell(Record):
    """One printed cell and what follows for it from other printed cells."""

    name: str = key("short name of the row's quantity, the same in all versions", name="key")
    symbol: str = key("symbol of the row's quantity in the paper")
    design: str = key("design that the cell is of: cpu, gpu, or both")
    column: str = key("column of the cell: 2010, factor or 2020")
    unit: str = key("SI unit of both values")
    printed: str = key("cell as printed")
    value: float = key("cell as printed, in the SI unit", name="printed_value")
    recomputed: float = key("what follows from other cells, in the SI unit", name="recomputed_value")
    difference = computed("recomputed_value by printed_value, minus 1", float, lambda cell: cell.recomputed / cell.value - 1)
    verdict: str = key(f"{AGREES}: rounds to what is printed; {ROUNDING}: as its inputs allow; {CONTRADICTS}: not")
    rule: str = key("how the recomputed value follows")

    @property
    def follows(self) -> str:
        """What follows, in the unit in which it is read."""
        return format_quantity(self.recomputed, self.unit) if self.unit != "1" else _number(self.recomputed)


@record
class Slip(Record):
    """A place where the paper's figures do not follow from each other, with what does follow."""

    what: str = key("which figure it is")
    printed: str = key("figure as printed")
    value: float = key("figure as printed, as a number", name="printed_value")
    follows: float = key("what follows in its place from other figures of the paper")
    difference = computed("follows by printed_value, minus 1", float, lambda slip: slip.follows / slip.value - 1)
    rule: str = key("how that follows")

    @property
    def shown(self) -> str:
        """What follows, as the figure is printed."""
        return f"{100 * self.follows:.3f} %" if self.printed.endswith("%") else _number(self.follows)


@record
class Value(Record):
    """A quantity of a design in a year."""

    name: str = key("short name of the quantity, the same in all versions", name="key")
    symbol: str = key("symbol of the quantity in the paper")
    design: str = key("design that the values are of: cpu, gpu, or both")
    unit: str = key("SI unit of both values")
    value: float = key("value in the year by the printed ten-year factor; of processors R_peak / C")
    value_by_doubling_time: float = key("the same by the printed doubling time")


def processors(design: str, year: float) -> float:
    """R_peak / C: the processors of a machine of a year's peak."""
    return TREND["machine_peak"].at("both", year) / TREND["node_peak"].at(design, year)


def cells() -> list[Cell]:
    """Every cell that follows from others: factors, values of 2020, and the processors of 2010."""
    return list(_cells())


def _cells() -> Iterator[Cell]:
    for trend in TRENDS:
        low, high = 2 ** (10 / trend.doubling.high), 2 ** (10 / trend.doubling.low)
        computed = 2 ** (10 / trend.doubling.value)
        yield _cell(trend, "both", "factor", "1", trend.factor, (computed, low, high), "2^(10 / doubling time)")
        for design, (first, last) in trend.values.items():
            if trend.name == "nodes":
                peak, node = TREND["machine_peak"].values["both"][0], TREND["node_peak"].values[design][0]
                yield _cell(
                    trend, design, "2010", "1", first, (peak.value / node.value, peak.value / node.high,
                    peak.value / node.low), "R_peak / C of 2010",
                )  # fmt: skip
            yield _cell(
                trend, design, "2020", trend.unit, last, (first.value * trend.factor.value, first.low * trend.factor.low,
                first.high * trend.factor.high), "value of 2010 x factor",
            )  # fmt: skip


def _cell(
    trend: Trend, design: str, column: str, unit: str, printed: Printed, computed: tuple[float, float, float], rule: str
) -> Cell:
    value, low, high = computed
    if printed.low <= value <= printed.high:
        verdict = AGREES
    else:
        verdict = ROUNDING if low <= printed.high and high >= printed.low else CONTRADICTS
    return Cell(trend.name, trend.symbol, design, column, unit, printed.text, printed.value, value, verdict, rule)


def slips() -> list[Slip]:
    """Places where the paper's figures do not follow from each other, each with what does follow."""
    return [
        Slip("cores of the CPU in 2020", "134", 134, 6 * 40.7, "6 x 40.7"),
        Slip("CPU processors in 2020", "1.3M", 1.3e6, 79_400 * 17.4, "79,400 x 17.4"),
        Slip("GPU processors in 2020, against 2.25 times as many CPUs", "135,000", 135e3, processors("gpu", LAST_YEAR),
              "4 EF/s over 515 GF/s x 59.0; 295k / 2.25 gives 131,111, too"),
        Slip("ten-year factor of the memory bandwidth", "9.7", 9.7, 2 ** (10 / 3.0), "2^(10 / 3.0)"),
        Slip("ten-year factor of the machine's peak", "1000", 1000, 17.4 * 59.0,
              "17.4 x 59.0: the factor of the processors is 1024 / 59.0"),
        Slip("share of 4 EF/s that 2.8 PF/s are", "0.08 %", 0.0008, 2.8e15 / 4e18, "2.8 / 4000"),
        Slip("processors of CPU-1 in the text of section 6", "1M", 1e6, processors("cpu", LAST_YEAR),
              "4 EF/s over 50.4 GF/s x 59.0"),
        Slip("processors of CPU-1 over those of the GPU system, by Table 1", "over 10x", 10, 1.3e6 / 135e3, "1.3M / 135,000"),
        Slip("n, said to be a power of two", "21,000", 21_000, 2.0 ** round(math.log2(21_000)), "the nearest power of two"),
    ]  # fmt: skip


def table_at(year: float) -> list[Value]:
    """All quantities in a year, in SI units: by the printed factors, and by the printed doubling times.

    The processors are those of a machine of that year's peak (R_peak / C).
    """
    rows = []
    for trend in TRENDS:
        for design in trend.values:
            by_factor, by_doubling = trend.at(design, year), trend.at_by_doubling(design, year)
            if trend.name == "nodes":
                machine, node = TREND["machine_peak"], TREND["node_peak"]
                by_factor = processors(design, year)
                by_doubling = machine.at_by_doubling("both", year) / node.at_by_doubling(design, year)
            rows.append(Value(trend.name, trend.symbol, design, trend.unit, by_factor, by_doubling))
    return rows


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
    peak, memory, cache_bytes = (TREND[name].at(design, LAST_YEAR) for name in ("node_peak", "memory_bandwidth", "cache"))
    link = TREND["link_bandwidth"].at("both", LAST_YEAR)
    network = fft3d.Network("torus", link_bytes_per_s=link, torus_constant=torus_constant)
    system = fft3d.System(processors, peak, memory, network, cache_bytes)
    terms = fft3d.predict(fft3d.Transform(N), system, fft3d.memory_of(reading, design))
    return Bar(name, processors, processors * peak, terms.memory_s, terms.network_s)


@cache
def figure5(reading: str) -> Designs:
    """The four bars."""
    gpu = bar("GPU", "gpu", reading, processors("gpu", LAST_YEAR))

    def cpu(processors: float) -> Bar:
        return bar("", "cpu", reading, processors)

    return Designs(
        gpu,
        bar("CPU-1", "cpu", reading, processors("cpu", LAST_YEAR)),
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
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in TOPOLOGIES}
    first = processors("cpu", FIRST_YEAR)
    for year in range(FIRST_YEAR, LAST_YEAR + 1):
        count = processors("cpu", year)
        transform = fft3d.Transform(FIGURE6_N * (count / first) ** (1 / 3))
        link = TREND["link_bandwidth"].at("both", year)
        memory_s = fft3d.memory_time(
            transform, count, TREND["memory_bandwidth"].at("cpu", year), TREND["cache"].at("cpu", year),
            fft3d.memory_of(reading, "cpu"),
        )  # fmt: skip
        for name in TOPOLOGIES:
            if name.endswith("ideal"):
                network_s = fft3d.torus_ideal_time(transform, count, link)
            else:
                network_s = fft3d.torus_bisection_time(transform, count, link, int(name[0]))
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
