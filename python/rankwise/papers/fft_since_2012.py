"""What became of the predictions of 2012: machines that were built and transforms that were run, by the same model.

Each figure stands with its source. Figures quoted second-hand or from memory are marked; nothing here was measured by us.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankwise.blocks import Column, Picture, Table, records_table
from rankwise.machine.description import PROJECTED, format_quantity
from rankwise.machine.library import all_machines, load_machine
from rankwise.models import fft3d
from rankwise.papers import czechowski2012_table1 as table1
from rankwise.papers.czechowski2012_model import figure5, reproduced
from rankwise.report.chart import INK, MUTED, NUMBER, SERIES, Chart, Spec, emphasised, field_of, log_axis, rows
from rankwise.report.layers import by_name, labels, layer
from rankwise.report.reproduction import Section

BASE_YEAR = 2010
DATA_SHEET = "vendor's data sheet"
PROPERTIES = "Ultrason. Sonochem. 99 (2023) 106546, Table 3"
LOCKWOOD = "G. K. Lockwood, glennklockwood.com/garden/processors/h100"
CPC = "second-hand, on Comput. Phys. Commun. 306 (2025) 109364"
SOURCES = (
    "GESTS on Frontier: times of a step in single precision, second-hand, on Comput. Phys. Commun. 306 (2025) 109364; on "
    "Summit: press of 2019.",
    "cuFFTMp: NVIDIA's blog. Machines: 'rankwise machines show NAME' gives the source of each figure.",
)


@dataclass(frozen=True)
class Part:
    """A processor or a link that was built: what it is, when, and how fast in SI units."""

    quantity: str
    name: str
    year: int
    value: float
    kind: str
    source: str


PARTS = (
    Part("processor peak", "A100", 2020, 9.7e12, "published", DATA_SHEET),
    Part("processor peak", "H100", 2022, 33.5e12, "published", LOCKWOOD),
    Part("processor peak", "B200", 2024, 37.5e12, "unverified", "handed down without a source"),
    Part("memory bandwidth", "A100", 2020, 1555e9, "published", PROPERTIES),
    Part("memory bandwidth", "H100", 2022, 3352e9, "published", PROPERTIES),
    Part("memory bandwidth", "B200", 2024, 7700e9, "unverified", "handed down without a source"),
    Part("link", "200 Gb/s", 2020, 25e9, "published", "HDR InfiniBand, Slingshot 11"),
    Part("link", "400 Gb/s", 2022, 50e9, "published", "NDR InfiniBand"),
)
# What Table 1 starts from, and the doubling time that it assumes, for the GPU-like design.
ASSUMED = {
    "processor peak": ("node_peak", "gpu"),
    "memory bandwidth": ("memory_bandwidth", "gpu"),
    "link": ("link_bandwidth", "both"),
    "machine peak": ("machine_peak", "both"),
}


@dataclass(frozen=True)
class TurbulenceStep:
    """Steps of a pseudo-spectral turbulence code (GESTS) on so many nodes; times in seconds."""

    machine: str
    n: int
    nodes: int
    step_s: tuple[float, float]
    source: str
    exchange_s: float | None = None
    fft_s: tuple[float, float] | None = None


# Real fields in single precision, slab decomposition: one exchange a transform. 18 transforms a step are an assumption: 9 are
# what a velocity needs once there and back with its products, 36 two stages of a Runge-Kutta step with twice as many.
GESTS_TRANSFORMS = 18
GESTS_TRANSFORMS_RANGE = (9, 36)
GESTS = (
    TurbulenceStep("frontier", 2048, 1, (4.09, 4.09), CPC),
    TurbulenceStep("frontier", 4096, 8, (10.1, 10.1), CPC),
    TurbulenceStep("frontier", 8192, 64, (10.8, 10.8), CPC),
    TurbulenceStep("frontier", 16384, 512, (11.5, 11.5), CPC),
    TurbulenceStep("frontier", 32768, 4096, (12.1, 13.1), CPC, exchange_s=8.5, fft_s=(2.7, 3.4)),
)
LARGEST = GESTS[-1]
# Summit: the press gives an upper bound only (< 15 s a step, 18432^3 on 3072 nodes, 2019), so it enters no table.


@dataclass(frozen=True)
class LibraryRun:
    """A run of an FFT library: complex single precision, performance in flop/s."""

    library: str
    n: int
    processors: int
    flop_per_s: float
    injection_bytes_per_s: float
    exchanges: int
    source: str


CUFFTMP = LibraryRun(
    "cuFFTMp", 16384, 4096, 1.8e15, 25e9, 1, "NVIDIA's blog of January 2022: InfiniBand HDR, 200 GB/s a node of 8 GPUs"
)  # fmt: skip
# One of the eight dies of a Frontier node, the counterpart of the paper's processor.
FRONTIER_DIES = 8


def doubling_times() -> list[dict[str, Any]]:
    """For each quantity the assumed doubling time and the real ones, from Table 1's base of 2010 to what was built."""
    rows = []
    for part in (*PARTS, *_machine_peaks()):
        key, design = ASSUMED[part.quantity]
        trend = table1.TREND[key]
        growth = part.value / trend.values[design][0].value
        rows.append(
            {
                **asdict(part),
                "unit": trend.unit,
                "assumed_years": trend.doubling.value,
                "real_years": (part.year - BASE_YEAR) / math.log2(growth),
                "predicted_value": trend.at(design, part.year),
            }
        )
    return rows


def _machine_peaks() -> list[Part]:
    parts = []
    for name in ("fugaku", "frontier", "el-capitan"):
        machine = load_machine(name)
        peak, node = machine.machine_peak(), machine.figures["node_peak"]
        assert peak is not None and machine.year is not None
        parts.append(Part("machine peak", name, machine.year, peak, node.kind, "nodes x node peak of its description"))
    return parts


def doubling_ranges() -> dict[str, dict[str, float]]:
    """Assumed, shortest and longest real doubling time of each quantity, in years."""
    ranges: dict[str, dict[str, float]] = {}
    for row in doubling_times():
        entry = ranges.setdefault(row["quantity"], {"assumed": row["assumed_years"], "shortest": math.inf, "longest": 0.0})
        entry["shortest"] = min(entry["shortest"], row["real_years"])
        entry["longest"] = max(entry["longest"], row["real_years"])
    return ranges


def largest_step(transforms: int = GESTS_TRANSFORMS) -> dict[str, Any]:
    """The 32768^3 step on Frontier, measured and by the model (Eq. 1 to 5), all of a step's ``transforms`` together."""
    machine, run = load_machine(LARGEST.machine), LARGEST
    assert run.fft_s is not None and run.exchange_s is not None
    transform = fft3d.Transform(run.n, word_bytes=4.0, exchanges=1, real=True)
    injection = machine.injection()
    memory, cache, taper = (machine.get(key) for key in ("memory_bandwidth", "cache", "taper"))
    node_peak = machine.get("node_peak")
    assert injection is not None and memory is not None and node_peak is not None and taper is not None

    def memory_s(reading: fft3d.Memory) -> float:
        return transforms * fft3d.memory_time(transform, run.nodes, memory, cache, reading)

    flops = transforms * transform.flops
    peak = run.nodes * node_peak
    connected_s = transforms * fft3d.connected_network_time(transform, run.nodes, injection)
    unit_s = memory_s(fft3d.literal(1.0))
    return {
        "field_bytes_per_node": transform.points * 4.0 / run.nodes,
        "exchange_s": fft3d.connected_network_time(transform, run.nodes, injection),
        "network_connected_s": connected_s,
        "network_tapered_s": connected_s / taper,
        "network_torus_s": transforms * fft3d.torus_bisection_time(transform, run.nodes, injection),
        "network_measured_s": run.exchange_s,
        "share_of_injection": connected_s / run.exchange_s,
        "memory_literal_s": memory_s(fft3d.literal()),
        "memory_effective_cpu_s": memory_s(fft3d.effective("cpu")),
        "memory_effective_gpu_s": memory_s(fft3d.effective("gpu")),
        "memory_measured_s": list(run.fft_s),
        "memory_constant_measured": [time / unit_s for time in run.fft_s],
        "mem_over_net_measured": [time / run.exchange_s for time in run.fft_s],
        "net_over_mem_measured": [run.exchange_s / time for time in reversed(run.fft_s)],
        "fraction_of_peak": [flops / (time * peak) for time in reversed(run.step_s)],
        "performance_flop_per_s": [flops / time for time in reversed(run.step_s)],
        "assumed_transforms": transforms,
    }


def library_run() -> dict[str, Any]:
    """cuFFTMp on 4096 A100: its time, and the share of it that Eq. 3 explains."""
    transform = fft3d.Transform(CUFFTMP.n, word_bytes=8.0, exchanges=CUFFTMP.exchanges)
    time_s = transform.flops / CUFFTMP.flop_per_s
    network_s = fft3d.connected_network_time(transform, CUFFTMP.processors, CUFFTMP.injection_bytes_per_s)
    peak = CUFFTMP.processors * next(p.value for p in PARTS if p.quantity == "processor peak" and p.name == "A100")
    return {
        **asdict(CUFFTMP),
        "time_s": time_s,
        "network_connected_s": network_s,
        "share_explained": network_s / time_s,
        "fraction_of_fp64_peak": CUFFTMP.flop_per_s / peak,
    }


def balance() -> dict[str, float]:
    """beta_link / beta_mem of the paper's GPU design of 2020 and of a die of Frontier."""
    trend = table1.TREND
    frontier = load_machine("frontier")
    injection, memory = frontier.injection(), frontier.get("memory_bandwidth")
    assert injection is not None and memory is not None
    predicted = trend["link_bandwidth"].at("both", 2020) / trend["memory_bandwidth"].at("gpu", 2020)
    return {
        "predicted_2020": predicted,
        "frontier_die": (injection / FRONTIER_DIES) / (memory / FRONTIER_DIES),
        "shortfall": predicted / (injection / memory),
    }


def swim_lanes(n: int = 32768) -> dict[str, Any]:
    """Prediction 2 asked of what was built: Frontier against as many Fugaku nodes as have its peak, by Eq. 2, 3 and 5."""
    gpu, cpu = load_machine("frontier"), load_machine("fugaku")
    peak = gpu.machine_peak()
    cpu_peak = cpu.get("node_peak")
    assert peak is not None and cpu_peak is not None
    rows = {}
    for machine, nodes in ((gpu, gpu.get("nodes")), (cpu, peak / cpu_peak)):
        injection, memory, link = machine.injection(), machine.get("memory_bandwidth"), machine.get("link_bandwidth")
        assert injection is not None and memory is not None and link is not None and nodes is not None
        transform = fft3d.Transform(n)
        network = fft3d.Network(
            machine.topology.name if machine.topology else "fat-tree",
            link_bytes_per_s=link, injection_bytes_per_s=injection,
            dimensions=(machine.topology.dimensions if machine.topology else None) or 3, taper=machine.get("taper") or 1.0,
        )  # fmt: skip
        memory_s = fft3d.memory_time(transform, nodes, memory, machine.get("cache"), fft3d.literal())
        rows[machine.name] = {
            "nodes": nodes,
            "memory_s": memory_s,
            "network_injection_s": fft3d.connected_network_time(transform, nodes, injection),
            "network_own_s": fft3d.network_time(transform, nodes, network),
        }
    frontier, fugaku = rows["frontier"], rows["fugaku"]

    def gain(network: str) -> float:
        return (frontier["memory_s"] + frontier[network]) / (fugaku["memory_s"] + fugaku[network])

    return {
        "n": n, "machines": rows, "cpu_over_gpu_injection": gain("network_injection_s"),
        "cpu_over_gpu_own_network": gain("network_own_s"),
    }  # fmt: skip


def verdicts() -> list[dict[str, Any]]:
    """Which prediction held, each computed from the figures above, with the reason."""
    step, lanes, years = largest_step(), swim_lanes(), doubling_ranges()
    ends = [largest_step(transforms)["fraction_of_peak"] for transforms in GESTS_TRANSFORMS_RANGE]
    low, high = step["fraction_of_peak"]
    least, most = ends[0][0], ends[1][1]
    ratio_low, ratio_high = step["mem_over_net_measured"]
    link, memory = years["link"], years["memory bandwidth"]
    above = low / 0.0008
    return [
        {
            "prediction": 1,
            "claim": "a 3-D FFT reaches 0.08 % of peak on a GPU-like exascale machine",
            "held": _sure(0.5 <= share / 0.0008 <= 2 for share in (least, low, high, most)),
            "interval": [least, most],
            "why": f"the 32768³ steps on Frontier reach {100 * low:.2f} to {100 * high:.2f} % of the peak of their nodes, "
            f"{above:.0f} times as much; with {GESTS_TRANSFORMS_RANGE[0]} to {GESTS_TRANSFORMS_RANGE[1]} transforms a step "
            f"{100 * least:.2f} to {100 * most:.2f} %, {least / 0.0008:.0f} to {most / 0.0008:.0f} times",
        },
        {
            "prediction": 2,
            "claim": "at equal peak a CPU-like machine is about 3.2 times as fast",
            "held": None,
            "interval": sorted([lanes["cpu_over_gpu_own_network"], lanes["cpu_over_gpu_injection"]]),
            "why": f"{_cpu_machines_of(table1.TREND['machine_peak'].at('both', table1.LAST_YEAR))}; the model says that as "
            f"many Fugaku nodes as have Frontier's peak would be {lanes['cpu_over_gpu_injection']:.0f} times as fast where "
            f"injection is the limit and {lanes['cpu_over_gpu_own_network']:.2g} times over their own torus (printed Eq. 5)",
        },
        {
            "prediction": 3,
            "claim": "memory comes to take longer than the network",
            "held": _sure(ratio > 1 for ratio in (ratio_low, ratio_high)),
            "interval": [ratio_low, ratio_high],
            "why": f"measured T_mem / T_net is {ratio_low:.2f} to {ratio_high:.2f}; links took {link['shortest']:.1f} to "
            f"{link['longest']:.1f} years to double ({link['assumed']:.2f} assumed), memory {memory['shortest']:.1f} to "
            f"{memory['longest']:.1f} ({memory['assumed']:.1f} assumed): {_behind({'links': link, 'memory': memory})}",
        },
    ]


def _cpu_machines_of(peak: float) -> str:
    """Say which machines of processors alone have a peak."""
    built = [one for one in all_machines() if one.processor == "cpu" and one.year is not None and one.machine_peak()]
    built = [one for one in built if one.figures["node_peak"].kind != PROJECTED]
    most = max(built, key=lambda one: one.machine_peak() or 0.0)
    told = format_quantity(most.machine_peak() or 0.0, "flop/s")
    if (most.machine_peak() or 0.0) < peak:
        return f"no machine of processors alone is known that has that peak, {most.name} has the most, {told}"
    return f"{most.name} has that peak, {told}"


def _behind(years: Mapping[str, Mapping[str, float]]) -> str:
    """Say what took longer to double than was assumed, by all that was built."""
    behind = [what for what, one in years.items() if one["shortest"] > one["assumed"]]
    ahead = [what for what in years if what not in behind]
    if not behind:
        return "neither fell behind"
    return f"{' and '.join(behind)} fell behind" + (f", not {' and '.join(ahead)}" if ahead else "")


_HELD = {True: "held", False: "did not hold", None: "was never put to the test, or cannot be told"}


def _sure(outcomes: Iterable[bool]) -> bool | None:
    """What all outcomes over an assumption's range are; None where they differ."""
    found = set(outcomes)
    return found.pop() if len(found) == 1 else None


def verdict_sentence() -> str:
    """One sentence that says which prediction held."""
    return " ".join(f"Prediction {row['prediction']} {_HELD[row['held']]}: {row['why']}." for row in verdicts())


def weak_scaling() -> list[dict[str, Any]]:
    """The published GESTS steps beside the model: 18 exchanges by Eq. 3, 18 memory terms by Eq. 2 as printed."""
    machine = load_machine("frontier")
    injection, memory = machine.injection(), machine.get("memory_bandwidth")
    assert injection is not None and memory is not None
    rows = []
    for run in GESTS:
        transform = fft3d.Transform(run.n, word_bytes=4.0, exchanges=1, real=True)
        network = fft3d.Network("fully-connected", injection_bytes_per_s=injection)
        network_s = GESTS_TRANSFORMS * fft3d.network_time(transform, run.nodes, network)
        memory_s = GESTS_TRANSFORMS * fft3d.memory_time(transform, run.nodes, memory, machine.get("cache"), fft3d.literal())
        rows.append(
            {
                "n": run.n, "nodes": run.nodes, "step_low_s": run.step_s[0], "step_high_s": run.step_s[1],
                "model_network_s": network_s, "model_memory_s": memory_s, "source": run.source,
            }
        )  # fmt: skip
    return rows


def record() -> dict[str, Any]:
    """Everything as JSON."""
    return {
        "doubling_times": doubling_times(),
        "largest_step": largest_step(),
        "library_run": library_run(),
        "balance": balance(),
        "swim_lanes": swim_lanes(),
        "weak_scaling": weak_scaling(),
        "verdicts": verdicts(),
    }


def sections() -> list[Section]:
    """What became of the predictions, for the page."""
    step, run, ratio = largest_step(), library_run(), balance()
    slow, fast = step["memory_constant_measured"][1], step["memory_constant_measured"][0]
    return [
        Section(
            "since",
            "What became of it",
            [
                verdict_sentence(),
                f"The largest runs are steps of a turbulence code of {LARGEST.n}³ points on {LARGEST.nodes} nodes of Frontier. "
                "With "
                f"{step['assumed_transforms']} transforms a step, which is an assumption, of one exchange each, Eq. 3 gives "
                f"{step['network_connected_s']:.1f} s for the network ({step['network_tapered_s']:.1f} s over the taper, "
                f"{step['network_torus_s']:.0f} s by Eq. 5, had it been a torus) against {step['network_measured_s']:.1f} s "
                f"measured. Memory: A = 6.3 gives {step['memory_literal_s']:.1f} s and {fft3d.EFFECTIVE_X['cpu']} gives "
                f"{step['memory_effective_cpu_s']:.1f} s; measured are {step['memory_measured_s'][0]} to "
                f"{step['memory_measured_s'][1]} s, an A of {fast:.0f} to {slow:.0f}.",
                "Two things to keep in mind: all these runs are in single precision, but are held against a peak in double "
                "precision, the only one that the paper has; and a step holds more than its transforms.",
                f"On {CUFFTMP.processors} A100, Eq. 3 explains {100 * run['share_explained']:.0f} % of the time of cuFFTMp at "
                f"{CUFFTMP.n}³. A die "
                f"of Frontier has {ratio['frontier_die']:.4f} bytes of link for each byte of memory bandwidth; Table 1 gives "
                f"its GPU design {ratio['predicted_2020']:.3f}, {ratio['shortfall']:.0f} times as many.",
            ],
            [
                Picture("since", _CAPTION, _draw),
                *_tables(),
            ],
        )
    ]


_CAPTION = (
    "Squares: assumed or predicted in 2012. Left: years to double. Middle: T_mem / T_net of a 3-D FFT, predicted for the GPU "
    "design under both readings and measured on Frontier. Right: fraction of peak, predicted and reached."
)


def picture_figures() -> dict[str, Any]:
    """What the picture shows: doubling times, T_mem / T_net and fractions of peak."""
    step, run = largest_step(), library_run()
    bars = {reading: figure5(reading)[0] for reading in fft3d.READINGS}
    return {
        "doubling": doubling_ranges(),
        "ratio": {
            "predicted, figures": (1 / 2.8, 1 / 2.8),
            "ours, effective": (bars[fft3d.EFFECTIVE].memory_s / bars[fft3d.EFFECTIVE].network_s,) * 2,
            "ours, literal": (bars[fft3d.LITERAL].memory_s / bars[fft3d.LITERAL].network_s,) * 2,
            "GESTS, Frontier": tuple(step["mem_over_net_measured"]),
        },
        "fraction": {
            "predicted, printed": (0.0008, 0.0008),
            "ours, effective": (reproduced(fft3d.EFFECTIVE)["gpu_share"],) * 2,
            "ours, literal": (reproduced(fft3d.LITERAL)["gpu_share"],) * 2,
            "GESTS, Frontier": tuple(step["fraction_of_peak"]),
            "cuFFTMp, A100": (run["fraction_of_fp64_peak"],) * 2,
        },
    }


def _draw() -> Chart:
    return since_picture(picture_figures())


_VERDICTS: Sequence[Column[Any]] = (
    Column("prediction", "prediction"),
    Column("claim", "claim"),
    Column("verdict", lambda row: _HELD[row["held"]]),
    Column("why", "why"),
)
_BALANCE: Sequence[Column[Any]] = (
    Column("quantity", "quantity"),
    Column("whose", "whose"),
    Column("value", lambda row: _span(row["low"], row["high"], row["quantity"] == "fraction of peak")),
    Column(None, "low"),
    Column(None, "high"),
)
_DOUBLING: Sequence[Column[Any]] = (
    Column("quantity", "quantity"),
    Column("built", "name"),
    Column("year", "year"),
    Column("value", lambda row: format_quantity(row["value"], row["unit"])),
    Column("trend of 2012", lambda row: format_quantity(row["predicted_value"], row["unit"])),
    Column("years to double", "real_years", "{:.1f}".format),
    Column("assumed", "assumed_years", "{:g}".format),
    Column("kind", "kind"),
    Column("source", "source"),
)
_SCALING: Sequence[Column[Any]] = (
    Column("n", "n", "{}³".format),
    Column("nodes", "nodes"),
    Column("step", lambda row: " to ".join(dict.fromkeys(f"{row[f'step_{end}_s']:g}" for end in ("low", "high"))) + " s"),
    Column("T_net, Eq. 3", "model_network_s", "{:.2f} s".format),
    Column("T_mem, A = 6.3", "model_memory_s", "{:.2f} s".format),
    Column("source", "source"),
)


def _span(low: float, high: float, percent: bool) -> str:
    ends = dict.fromkeys(f"{100 * end:.2g} %" if percent else f"{end:.2g}" for end in (low, high))
    return " to ".join(ends)


def _tables() -> list[Table[Any]]:
    figures = picture_figures()
    found = [
        {"quantity": quantity, "whose": whose, "low": low, "high": high}
        for quantity, key in (("T_mem / T_net", "ratio"), ("fraction of peak", "fraction"))
        for whose, (low, high) in figures[key].items()
    ]
    return [
        records_table(verdicts(), _VERDICTS, name="verdicts", caption="The predictions, held against what was built."),
        Table(
            _BALANCE,
            found,
            name="predicted-and-real",
            caption="T_mem / T_net and fraction of peak, predicted in 2012 and real.",
        ),
        records_table(doubling_times(), _DOUBLING, name="doubling", caption="Years to double since Table 1's base of 2010."),
        records_table(
            weak_scaling(),
            _SCALING,
            name="weak-scaling",
            caption="Published steps of GESTS on Frontier (the whole step, not only its transforms) beside the model's terms.",
        ),
    ]


def since_picture(figures: Mapping[str, Any]) -> Chart:
    """Draw what was assumed in 2012 beside what came: doubling times, T_mem / T_net, fraction of peak."""
    stops: list[str] = []
    doubling = []
    for name, entry in figures["doubling"].items():
        words = (
            f"{name}: doubles in {entry['shortest']:.1f} to {entry['longest']:.1f} years, assumed or predicted "
            f"{entry['assumed']:g}"
        )
        doubling.append({
            "name": name, "low": entry["shortest"], "high": entry["longest"], "assumed": entry["assumed"],
            "words": f"{entry['shortest']:.1f} – {entry['longest']:.1f}", "stop": len(stops), "tip": words,
        })  # fmt: skip
        stops.append(words)
    panels = [
        _ranges("years to double", doubling, None),
        _ranges("T_mem / T_net", _measured(figures["ratio"], lambda value: f"{value:.2f}", stops), NUMBER),
        _ranges("fraction of peak", _measured(figures["fraction"], lambda value: f"{100 * value:.2g} %", stops),
            "format(100*datum.value,'.3~g')+' %'"),
    ]  # fmt: skip
    words = " ".join(
        f"{name}: {entry['assumed']:g} years assumed, {entry['shortest']:.1f} to {entry['longest']:.1f} real."
        for name, entry in figures["doubling"].items()
    )
    return Chart(
        "since",
        "What was predicted in 2012 and what came of it",
        words,
        panels,
        stops,
        least_px=330,
        label_px=120,
        most_columns=3,
    )


def _measured(ranges: Mapping[str, tuple[float, float]], write: Callable[[float], str], stops: list[str]) -> list[Spec]:
    """Return the rows of ranges; those that were predicted stand as ``assumed``."""
    found = []
    for name, (low, high) in ranges.items():
        text = write(low) if low == high or write(low) == write(high) else f"{write(low)} – {write(high)}"
        predicted = "predicted" in name or "ours" in name
        row: Spec = {"name": name, "words": text, "stop": len(stops), "tip": f"{name}: {text}"}
        found.append(
            row | ({"assumed": low, "low": low, "high": low} if predicted else {"low": low, "high": high, "assumed": None})
        )
        stops.append(f"{name}: {text}")
    return found


def _ranges(title: str, data: list[Spec], label: str | None) -> Spec:
    """Draw ranges as bars, with the words at their ends; ``label``: of a logarithmic axis (None: from 0 on)."""
    ends = [value for row in data for value in (row["low"], row["high"], row["assumed"]) if value]
    most = max(ends)
    axis: Spec = {"scale": {"domain": [0, 1.5 * most], "nice": False}, "axis": {"title": None, "tickCount": 4}}
    if label is not None:
        axis = log_axis([*ends, most * (most / min(ends)) ** 0.8], label, "")
    data = [{**row, "edge": max(row["high"], row["assumed"] or 0)} for row in data]
    y = by_name("name", [row["name"] for row in data], labelLimit=116, labelOverlap=False)
    low, assumed, edge = ({"y": y, "x": field_of(name, **axis)} for name in ("low", "assumed", "edge"))
    square: Spec = {"shape": "square", "filled": True, "size": 75, "color": SERIES[1], "stroke": INK, "strokeWidth": 0.6}
    known = "datum.assumed!=null"
    layers = [
        layer("bar", {**low, "x2": {"field": "high"}, "opacity": emphasised(1, 0.85)}, height=7, color=SERIES[0]),
        layer("point", low, filled=True, size=26, color=SERIES[0], opacity=1),
        {**layer("point", assumed, **square, opacity=1), "transform": [{"filter": known}]},
        labels(edge, "words", align="left", dx=8, fontSize=11, color=MUTED),
    ]
    return {"title": {"text": title, "fontSize": 12}, "height": {"step": 30}, "data": rows(data), "layer": layers}
