"""Czechowski et al. 2012, sentence by sentence: equations, machines, Table 1, what was measured, and Predictions 1 to 3."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean
from typing import Any

from rankwise.machine.library import load_machine
from rankwise.models import fft3d
from rankwise.papers import czechowski2012_balance as balance
from rankwise.papers import czechowski2012_measured as measured
from rankwise.papers import czechowski2012_model as model
from rankwise.papers import printed
from rankwise.papers.claims import NONE, Claim, Found, about, above, at_least, below, cannot, exactly

_LINE_BYTES = 64
_WORD_BYTES = 16
_PROJECT = "rankwise project fft3d"


@cache
def counted_misses() -> tuple[dict[str, Any], ...]:
    """Return what one FFTW transform reads from and writes to memory, by cachegrind, and its flops."""
    return tuple(printed("czechowski2012_counted"))


@dataclass(frozen=True)
class Numbers:
    """What the sentences are about beside the modules' tables: FFTW counted, and numbers that others follow from."""

    counted: Sequence[dict[str, Any]] = field(default_factory=counted_misses)
    anton_points: int = 32
    torus: tuple[int, int, int] = (17, 8, 24)  # of Hopper
    shares: tuple[float, float] = (0.16, 0.21)  # local transpose and FFT, Figure 4
    radix_flops: tuple[float, float] = (5, 4)  # of n log2 n: radix 2, split radix
    machines: Callable[[str], Any] = load_machine


def constants(of: Numbers, *counts: str) -> list[float]:
    """A of Eq. 2 for each array: words of what is counted beyond the cache, over n log_Z n."""
    found = []
    for row in of.counted:
        words = sum(row[count] for count in counts) * _LINE_BYTES / _WORD_BYTES
        exponent = max(math.log(row["n"]) / math.log(row["cache_bytes"] / _WORD_BYTES), 1.0)
        found.append(words / (row["n"] * exponent))
    return found


def _a(of: Numbers) -> Found:
    loads, all_of_it = constants(of, "loads_missed"), constants(of, "loads_missed", "stores_missed")
    arrays = f"{min(loads):.1f} to {max(loads):.1f} over {len(loads)} arrays larger than the cache"
    return fmean(loads), f"{arrays}; {fmean(all_of_it):.1f} with stores"


def _figure(machine: str, name: str, scale: float = 1.0) -> Callable[[Numbers], float]:
    return lambda of: float((of.machines(machine).get(name) or 0.0) * scale)


def _design(name: str) -> model.Bar:
    found: model.Bar = getattr(model.figure5(fft3d.LITERAL), name)
    return found


def _both(ours: Callable[[str], float], show: Callable[[float], str]) -> Callable[[Numbers], Found]:
    """By the literal text, and in words by the memory term that the figures imply."""
    return lambda _: (ours(fft3d.LITERAL), f"by the memory term that the figures imply {show(ours(fft3d.EFFECTIVE))}")


def _published(one: model.Published) -> Claim[Numbers]:
    says = f"{one.what}: {one.printed}"
    allowed = (
        above(one.published) if one.printed.startswith("over") else about(one.published, 0.15 if one.rough else model.CLOSE)
    )
    figure = ", Fig. 5" if one.prediction == 2 else ", Fig. 6" if one.prediction == 3 else ""
    return Claim(f"6, Prediction {one.prediction}{figure}", says, allowed, _both(one.of, one.written), one.written, _PROJECT)


def _cell(i: int) -> Claim[Numbers]:
    """A cell of Table 1 that follows from others: within 4 %, which their rounding leaves open."""
    cell = model.cells()[i]

    def ours(_: Numbers) -> Found:
        now = model.cells()[i]
        return now.recomputed / now.value, f"{now.follows} by {now.rule}"

    says = f"{cell.symbol} ({cell.design}, {cell.column}) {cell.printed}"
    return Claim("6, Table 1", says, about(1, 0.04), ours, "{:.3f} times", "rankwise project table")


def _trend(name: str) -> Claim[Numbers]:
    def of(reading: str) -> float:
        curve = model.figure6(reading)[name]
        return curve[-1][1] / curve[0][1]

    falls = name == "3-D torus"
    says = f"T_mem / T_net {'falls' if falls else 'rises'} on a {name}"
    return Claim(
        "6, Fig. 6, Eq. 10", says, below(1) if falls else above(1), _both(of, "x {:.2f}".format), "x {:.2f} in ten years"
    )


def _statement(i: int) -> Claim[Numbers]:
    one = measured.statements()[i]

    def ours(_: Numbers) -> Found:
        now = measured.statements()[i]
        words = f"{now.literal} by the text, {now.effective} by the memory term that the figures imply"
        return float(bool(now.literal_agrees)), words

    figure = f"Fig. {one.figure}" if one.figure.isdigit() else "6"
    if one.literal_agrees is None:
        return cannot(f"5, {figure}", one.measured, f"no time of it is printed; {one.literal}")
    return Claim(f"5, {figure}", one.measured, exactly(1), ours, "{words}")


def _sensitivity(of: Numbers) -> Found:
    grown = list(balance.sensitivities().values())
    return grown[0] / max(grown[1:]), "nodes twice as fast at the same peak: " + ", ".join(f"x {value:.2f}" for value in grown)


def _beyond(of: Numbers) -> Found:
    known = [one for one in balance.balances() if one.excess is not None]
    beyond = [one for one in known if (one.excess or 0) > 1]
    return len(beyond), f"of {len(known)} with a known cache: {', '.join(one.machine for one in beyond)}"


def _stacked_keeps(of: Numbers) -> Found:
    found = balance.balances()
    start = max(one.flops_per_word for one in found if not one.stacked and (one.year or 9999) <= 2010)
    worst = max((one for one in found if one.stacked), key=lambda one: one.flops_per_word)
    return worst.flops_per_word / start, f"flops a word on {worst.machine} against the most of 2010"


def _memory_bound(of: Numbers) -> float:
    """T_mem / T_flops of the design that is bound by memory least."""
    trend, year = model.TREND, model.LAST_YEAR
    found = []
    for design in ("cpu", "gpu"):
        words = fft3d.literal().words_per_point(model.N, trend["cache"].at(design, year) / _WORD_BYTES)
        memory_s = 3 * words * _WORD_BYTES / trend["memory_bandwidth"].at(design, year)
        found.append(memory_s * trend["node_peak"].at(design, year) / (15 * math.log2(model.N)))
    return min(found)


def _orders(of: Numbers) -> float:
    gpu = _design("gpu")
    return math.log10(gpu.sequential_s * gpu.peak_flop_per_s / fft3d.Transform(model.N).flops)


def _sent(of: Numbers) -> float:
    """Footnote 2: the share of its points that a node sends, of the fewer processors."""
    return 1 - 1 / math.sqrt(model.processors("gpu", 2020))


def _growth(name: str, other: str, designs: tuple[str, str]) -> Callable[[Numbers], float]:
    def ours(_: Numbers) -> float:
        ends = [model.TREND[name].at(designs[0], y) / model.TREND[other].at(designs[1], y) for y in (2010, 2020)]
        return ends[1] / ends[0]

    return ours


def _overtakes(design: str) -> float:
    """Year in which a link has the bandwidth of the memory."""
    link, memory = model.TREND["link_bandwidth"], model.TREND["memory_bandwidth"]
    now = memory.values[design][0].value / link.values["both"][0].value
    return model.FIRST_YEAR + 10.0 * math.log(now) / math.log(link.factor.value / memory.factor.value)


def _later(of: Numbers) -> Found:
    years = {design: _overtakes(design) for design in ("cpu", "gpu")}
    return years["gpu"] - years["cpu"], ", ".join(f"{design} {year:.0f}" for design, year in years.items())


def _bisection(of: Numbers) -> float:
    """Eq. 5's constant by the links across the middle of a torus: the printed one over it."""
    exact = model.exact_performance()[fft3d.LITERAL]
    return exact / _design("gpu").flop_per_s


def _gain(reading: str) -> float:
    by = model.figure5(reading)
    return float(by.gpu.sequential_s) / float(by.cpu1.sequential_s)


def _traded(reading: str) -> float:
    by = model.figure5(reading)
    return by.cpu2.network_s / by.gpu.network_s if by.cpu2.memory_s > by.gpu.memory_s else math.inf


CLAIMS: Sequence[Claim[Numbers]] = (
    Claim("Abstract, 1", "a CPU-like design might be faster", above(1), _both(_gain, "{:.1f}".format), "{:.2f} times"),
    cannot("1", "pencils are the best decomposition", "other work's measurements; 'rankwise choose fft3d' asks yours"),
    cannot("1", "estimates are optimistic, the aim is a bound", "an intention; Figures 2 to 4 below"),
    cannot("2", "34.7 TF/s by 88,126 processors", "HPC Challenge's, of which no run is described"),
    Claim("2", "32^3 in 4 us is 614 GF/s", about(614e9, 0.005), lambda of: fft3d.Transform(of.anton_points).flops / 4e-6,
          lambda flop_per_s: f"{flop_per_s / 1e9:.1f} GF/s"),
    cannot("3, Fig. 1", "three computation and two communication phases",
           "a picture; 'rankwise run fft3d' does and checks them"),
    Claim("3.1.1, Eq. 1", "other algorithms: about 20 % fewer flops", about(0.2, 0.05),
          lambda of: 1 - of.radix_flops[1] / of.radix_flops[0], "split radix {:.0%}"),
    Claim("3.1.1", "5 n log2 n matches the observed flops closely", about(5, 0.1),
          lambda of: fmean(row["flops"] / (row["n"] * math.log2(row["n"])) for row in of.counted),
          "FFTW counts {:.2f} n log2 n", "benchmarks/fft_misses.py"),
    Claim("3.1.2, 5.2.1, Eq. 2", "A = 6.3 by hardware counters", about(6.3, 0.25), _a, "loads of FFTW under cachegrind {:.1f}",
          "benchmarks/fft_misses.py"),
    Claim("3.1.3", "memory bound: T_mem > T_flops", above(1), _memory_bound, "at least {:.1f} times in 2020", _PROJECT),
    Claim("3.2, Eq. 3", "footnote 2: a node sends nearly all its points", at_least(0.99), _sent, "{:.2%}"),
    Claim("3.2, Eqs. 4, 5", "the bisection bound: 2 n^3 / P^(2/3)", about(1, 0.01), _bisection,
          "the links across the middle carry it {:.1f} times as fast a transform", _PROJECT),
    Claim("4, Eqs. 6, 7", "T_mem depends on C_node more than T_net", above(1), _sensitivity, "{:.2f} times as much"),
    Claim("5.1", "Hopper: 98,304 cores in 4,096 nodes", exactly(98304), _figure("hopper", "cores", 4096), "{:.0f}",
          "rankwise machines show hopper"),
    Claim("5.1", "Hopper: 1.288 PF/s", about(1.288e15, 0.002),
          lambda of: _figure("hopper", "nodes")(of) * _figure("hopper", "cores")(of) * 2.1e9 * 4,
          lambda flop_per_s: f"{flop_per_s / 1e15:.3f} PF/s by 4 flops a cycle", "rankwise machines show hopper"),
    Claim("5.1", "6,392 nodes form a 17x8x24 torus", about(6392, 0.05), lambda of: 2 * math.prod(of.torus),
          "{:.0f} with two nodes a place"),
    Claim("5.1", "Keeneland: 120 nodes", exactly(120), _figure("keeneland", "nodes"), "{:.0f}",
          "rankwise machines show keeneland"),
    *(_statement(i) for i in range(len(measured.statements()))),
    Claim("5.2.2, Fig. 4, Eq. 8", "the transpose is nearly as costly as the FFT", (0.7, 1),
          lambda of: of.shares[0] / of.shares[1], "{:.2f} times"),
    Claim("5.3.1, Eq. 9", "PCIe: an order of magnitude below memory", above(10),
          lambda of: _figure("keeneland", "memory_bandwidth")(of) / (_figure("keeneland", "io_bus_bandwidth")(of) or 1),
          "{:.0f} times slower", "rankwise machines show keeneland"),
    cannot("5.3.1", "MVAPICH-GPU: 45 % better", "other work's measurement"),
    *(_cell(i) for i in range(len(model.cells()))),
    Claim("6", "n = 21,000 is a power of two (section 1)", exactly(1),
          lambda of: model.N / 2 ** round(math.log2(of.anton_points * 512)), "{:.2f} times the nearest"),
    *(_published(one) for one in model.PUBLISHED),
    Claim("6, Fig. 5", "flops: three orders below communication", about(3, 0.2), _orders, "{:.1f} orders", _PROJECT),
    Claim("6, Fig. 5", "CPU-1 needs less of both times", below(1),
          lambda of: max(_design("cpu1").network_s / _design("gpu").network_s,
          _design("cpu1").memory_s / _design("gpu").memory_s), "at most {:.2f} times"),
    Claim("6, Fig. 5", "CPU-2 trades memory time for less network time", below(1), _both(_traded, "{:.2f}".format),
          "network {:.2f} times"),
    Claim("6, Eq. 10", "C_node / R_peak decreases", below(1), _growth("node_peak", "machine_peak", ("cpu", "both")),
          "x {:.3f} in ten years"),
    Claim("6, Eq. 10", "beta_link / beta_mem increases", above(1),
          _growth("link_bandwidth", "memory_bandwidth", ("both", "cpu")), "x {:.2f} in ten years"),
    *(_trend(name) for name in model.TOPOLOGIES),
    Claim("6, Fig. 6", "the ratio of a 3-D torus is below one", below(1),
          _both(lambda reading: max(ratio for _, ratio in model.figure6(reading)["3-D torus"]), "{:.2f}".format),
          "at most {:.2f}"),
    Claim("6, Fig. 6", "a 4-D torus is well balanced: level", about(1, 0.25),
          _both(lambda reading: model.figure6(reading)["4-D torus"][-1][1],
          "{:.2f}".format), "{:.2f} in 2020"),
    Claim("6, Prediction 3", "memory could dominate", above(1),
          _both(lambda reading: max(c[-1][1] for c in model.figure6(reading).values()),
          "{:.1f}".format), "T_mem / T_net at most {:.2f} in 2020"),
    Claim("6, Eq. 11", "rho grows faster than Z", above(1), _growth("cores", "cache", ("cpu", "cpu")), "x {:.2f} in ten years"),
    Claim("6, Eq. 11", "stacked memory keeps the left side constant", below(1.1), _stacked_keeps, "x {:.1f}"),
    Claim("6, Eq. 11", "balance: no node beyond it", NONE, _beyond, "{:.0f} are beyond it"),
    Claim("7", "GPUs extend the time until links outpace memory", above(0), _later, "{:.0f} years later"),
    cannot("7", "mobile processors would be excellent", "no figure of one is given"),
    cannot("7", "future: other computations, power, energy, cost",
           "'rankwise project stencil' and exchange are there, with energy; no cost"),
    cannot("9", "raw data and code of section 6", "neither is with the paper; all is recomputed from Table 1"),
)  # fmt: skip
