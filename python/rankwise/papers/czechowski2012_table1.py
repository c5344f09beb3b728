"""Table 1 of Czechowski et al. (ICS 2012): trends from 2010 to 2020, every cell recomputed from its neighbours."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rankwise.machine.description import format_quantity
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
