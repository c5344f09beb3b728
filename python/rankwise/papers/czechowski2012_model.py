"""Czechowski et al. (ICS 2012), section 6: published figures of Predictions 1 to 3, and what the equations give for them.

Published figures are the paper's text; ours follow from its Table 1 (printed ten-year factors, unrounded products) and
from its equations. The three designs that are matched on peak, on time without overlap and on time with overlap are
solved for. The effective constants of the memory term are fitted to these very figures: that they fit shows which
memory term the figures need, not that it is the one that was used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankwise.models import fft3d
from rankwise.papers import czechowski2012_table1 as table1

N = 21_000  # section 6, Prediction 2
FIGURE6_N = 4096  # caption of Figure 6
CLOSE = 0.05
READINGS = fft3d.READINGS
TOPOLOGIES = {"3-D torus": 2 / 3, "4-D torus": 3 / 4, "5-D torus": 4 / 5, "3-D torus, ideal": 5 / 6}


@dataclass(frozen=True)
class Published:
    """A figure of the paper's text: what it is, its value in SI units, and how it is printed."""

    key: str
    prediction: int
    what: str
    value: float
    unit: str
    printed: str
    rough: bool = False  # given in words or with one digit only


PUBLISHED = (
    Published("gpu_performance", 1, "GPU design: performance", 2.8e15, "flop/s", "2.8 PF/s"),
    Published("gpu_share", 1, "GPU design: share of 4 EF/s", 0.0008, "1", "0.08 %"),
    Published("gpu_net_over_mem", 2, "GPU design: T_net / T_mem", 2.8, "1", "2.8x"),
    Published("cpu1_over_gpu", 2, "CPU-1 over GPU: performance", 3.2, "1", "3.2x"),
    Published("cpu1_net_over_gpu", 2, "CPU-1 over GPU: T_net", 0.2, "1", "nearly 1/5", rough=True),
    Published("cpu1_processors_over_gpu", 2, "CPU-1 over GPU: processors", 10, "1", "over 10x", rough=True),
    Published("cpu1_processors", 2, "CPU-1: processors", 1e6, "1", "1M", rough=True),
    Published("cpu2_processors", 2, "CPU-2: processors", 350e3, "1", "350k"),
    Published("cpu2_peak", 2, "CPU-2: peak", 1e18, "flop/s", "1 EF/s"),
    Published("overlapped_time", 2, "GPU and CPU-3: time with full overlap", 0.528, "s", "0.528 s"),
    Published("cpu3_processors", 2, "CPU-3: processors", 295e3, "1", "295k"),
    Published("cpu3_processors_over_gpu", 2, "CPU-3 over GPU: processors", 2.25, "1", "2.25x"),
    Published("ideal_over_bisection", 3, "CPU design: ideal mapping over bisection", 10, "1", "10x", rough=True),
)


@dataclass(frozen=True)
class Bar:
    """One bar of Figure 5: a design of so many processors and its two times."""

    name: str
    processors: float
    peak_flop_per_s: float
    memory_s: float
    network_s: float

    @property
    def sequential_s(self) -> float:
        return self.memory_s + self.network_s

    @property
    def overlapped_s(self) -> float:
        return max(self.memory_s, self.network_s)

    def to_dict(self) -> dict[str, Any]:
        name, *figures = vars(self).items()
        return {"design": name[1], **dict(figures), "sequential_s": self.sequential_s, "overlapped_s": self.overlapped_s}


def memory_of(reading: str, design: str) -> fft3d.Memory:
    """The memory term of a reading for the ``cpu`` or ``gpu`` design."""
    return fft3d.literal() if reading == fft3d.LITERAL else fft3d.effective(design)


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
    terms = fft3d.predict(fft3d.Transform(N), system, memory_of(reading, design))
    return Bar(name, processors, processors * peak, terms.memory_s, terms.network_s)


def figure5(reading: str) -> list[Bar]:
    """The four bars: GPU, and the CPU designs matched on peak, on time without and on time with overlap."""
    peak = table1.TREND["machine_peak"].at("both", table1.LAST_YEAR)
    count = {design: peak / table1.TREND["node_peak"].at(design, table1.LAST_YEAR) for design in ("cpu", "gpu")}
    gpu = bar("GPU", "gpu", reading, count["gpu"])

    def cpu(processors: float) -> Bar:
        return bar("", "cpu", reading, processors)

    return [
        gpu,
        bar("CPU-1", "cpu", reading, count["cpu"]),
        bar("CPU-2", "cpu", reading, fft3d.solve_nodes(lambda p: cpu(p).sequential_s, gpu.sequential_s)),
        bar("CPU-3", "cpu", reading, fft3d.solve_nodes(lambda p: cpu(p).overlapped_s, gpu.overlapped_s)),
    ]


def reproduced(reading: str) -> dict[str, float]:
    """Ours of every published figure, by its key."""
    gpu, cpu1, cpu2, cpu3 = figure5(reading)
    performance = fft3d.Transform(N).flops / gpu.sequential_s
    return {
        "gpu_performance": performance,
        "gpu_share": performance / gpu.peak_flop_per_s,
        "gpu_net_over_mem": gpu.network_s / gpu.memory_s,
        "cpu1_over_gpu": gpu.sequential_s / cpu1.sequential_s,
        "cpu1_net_over_gpu": cpu1.network_s / gpu.network_s,
        "cpu1_processors_over_gpu": cpu1.processors / gpu.processors,
        "cpu1_processors": cpu1.processors,
        "cpu2_processors": cpu2.processors,
        "cpu2_peak": cpu2.peak_flop_per_s,
        "overlapped_time": gpu.overlapped_s,
        "cpu3_processors": cpu3.processors,
        "cpu3_processors_over_gpu": cpu3.processors / gpu.processors,
        "ideal_over_bisection": cpu1.processors ** (5 / 6 - 2 / 3),
    }


def figure6(reading: str) -> dict[str, list[tuple[int, float]]]:
    """T_mem / T_net of the CPU design from 2010 to 2020 for each topology (Eq. 10 with its constants).

    The problem starts at 4096^3 and grows with the processors, so that it cancels but for the logarithm, which stays
    below 1 throughout (a pencil fits in the fast memory).
    """
    trend = table1.TREND
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in TOPOLOGIES}
    first = trend["machine_peak"].at("both", table1.FIRST_YEAR) / trend["node_peak"].at("cpu", table1.FIRST_YEAR)
    for year in range(table1.FIRST_YEAR, table1.LAST_YEAR + 1):
        processors = trend["machine_peak"].at("both", year) / trend["node_peak"].at("cpu", year)
        transform = fft3d.Transform(FIGURE6_N * (processors / first) ** (1 / 3))
        link = trend["link_bandwidth"].at("both", year)
        memory_s = fft3d.memory_time(
            transform, processors, trend["memory_bandwidth"].at("cpu", year), trend["cache"].at("cpu", year),
            memory_of(reading, "cpu"),
        )  # fmt: skip
        for name in TOPOLOGIES:
            if name.endswith("ideal"):
                network_s = fft3d.torus_ideal_time(transform, processors, link)
            else:
                network_s = fft3d.torus_bisection_time(transform, processors, link, int(name[0]))
            curves[name].append((year, memory_s / network_s))
    return curves


def comparison() -> list[dict[str, Any]]:
    """Every published figure beside ours under both readings, with the differences and whether they are close."""
    ours = {reading: reproduced(reading) for reading in READINGS}
    rows = []
    for item in PUBLISHED:
        row: dict[str, Any] = {key: getattr(item, key) for key in ("key", "prediction", "what", "unit", "printed")}
        row |= {"published": item.value, "rough": item.rough}
        for reading in READINGS:
            value = ours[reading][item.key]
            name = reading.replace("-", "_")
            row[name] = value
            row[f"{name}_difference"] = value / item.value - 1
            row[f"{name}_within_5_percent"] = abs(value / item.value - 1) <= CLOSE
        rows.append(row)
    return rows


def figure6_statements() -> list[dict[str, Any]]:
    """What the text says of Figure 6, and whether each reading agrees."""
    rows = []
    for reading in READINGS:
        curves = figure6(reading)
        for name, curve in curves.items():
            first, last = curve[0][1], curve[-1][1]
            says = {"trend": "falls" if name == "3-D torus" else "rises"}
            rows.append(
                {
                    "reading": reading,
                    "topology": name,
                    "ratio_2010": first,
                    "ratio_2020": last,
                    "growth": last / first,
                    "text_says": says["trend"] + (", below 1" if name == "3-D torus" else ""),
                    "trend_agrees": (last > first) == (says["trend"] == "rises"),
                    "level_agrees": max(first, last) < 1 if name == "3-D torus" else None,
                    "memory_dominates_2020": last > 1,
                }
            )
    return rows


def exact_performance() -> dict[str, float]:
    """The GPU design's performance with the exact bisection of the torus in place of the printed constant."""
    count = figure5(fft3d.LITERAL)[0].processors
    return {reading: fft3d.Transform(N).flops / bar("GPU", "gpu", reading, count, "exact").sequential_s for reading in READINGS}
