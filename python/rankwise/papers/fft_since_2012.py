"""What became of the predictions of 2012: machines that were built and transforms that were run, by the same model.

Each figure stands with its source. Figures quoted second-hand or from memory are marked; nothing here was measured by us.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rankwise.blocks import Column, Picture, Table, records_table
from rankwise.machine.description import PROJECTED, Description, format_quantity
from rankwise.machine.library import all_machines, load_machine
from rankwise.models import fft3d
from rankwise.papers import czechowski2012_model as model
from rankwise.records import Record, computed, key, record
from rankwise.report.chart import INK, MUTED, NUMBER, SERIES, Chart, Spec, field_of, log_axis, rows, stop_of
from rankwise.report.layers import by_name, emphasised, labels, layer
from rankwise.report.reproduction import Section

Ends = Sequence[float]
DATA_SHEET = "vendor's data sheet"
PROPERTIES = "Ultrason. Sonochem. 99 (2023) 106546, Table 3"
LOCKWOOD = "G. K. Lockwood, glennklockwood.com/garden/processors/h100"
CPC = "second-hand, on Comput. Phys. Commun. 306 (2025) 109364"
SOURCES = (
    "GESTS on Frontier: times of a step in single precision, second-hand, on Comput. Phys. Commun. 306 (2025) 109364; on "
    "Summit: press of 2019.",
    "cuFFTMp: NVIDIA's blog. Machines: 'rankwise machines show NAME' gives the source of each figure.",
)


@record
class Part(Record):
    """A processor or a link that was built: what it is, when, and how fast in SI units."""

    quantity: str = key("which of the quantities it shows")
    name: str = key("name of the part or machine")
    year: int = key("year in which it was built")
    value: float = key("its figure, in the SI unit")
    kind: str = key("how well the figure is known: published, unverified, ...")
    source: str = key("where the figure is from")
    unit = computed("SI unit of both values", str, lambda part: part.trend.unit)
    assumed_years = computed("time in which it doubles, as Table 1 assumes", float, lambda part: part.trend.doubling.value)
    real_years = computed("time in which it doubled since Table 1's base", float, lambda part: part.doubled_years())
    predicted_value = computed(
        "its figure in that year as Table 1 has it", float, lambda part: part.trend.at(ASSUMED[part.quantity][1], part.year)
    )

    @property
    def trend(self) -> model.Trend:
        """The row of Table 1."""
        return model.TREND[ASSUMED[self.quantity][0]]

    def doubled_years(self) -> float:
        """The real doubling time, from Table 1's base to what was built."""
        first = self.trend.values[ASSUMED[self.quantity][1]][0].value
        return (self.year - model.FIRST_YEAR) / math.log2(self.value / first)


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
ASSUMED: Mapping[str, tuple[str, str]] = {
    "processor peak": ("node_peak", "gpu"),
    "memory bandwidth": ("memory_bandwidth", "gpu"),
    "link": ("link_bandwidth", "both"),
    "machine peak": ("machine_peak", "both"),
}


@record
class TurbulenceStep(Record):
    """Steps of a pseudo-spectral turbulence code (GESTS) on so many nodes of Frontier, beside the model."""

    n: int = key("points an axis")
    nodes: int = key("nodes of the run")
    step_s: tuple[float, float]
    step_low_s = computed("least time of a step that was published", float, lambda run: run.step_s[0])
    step_high_s = computed("longest time of a step that was published", float, lambda run: run.step_s[1])
    model_network_s = computed("time of 18 exchanges by Eq. 3", float, lambda run: GESTS_TRANSFORMS * run.connected_s())
    model_memory_s = computed(
        "time of 18 memory terms by Eq. 2 as printed", float, lambda run: GESTS_TRANSFORMS * run.memory_s(fft3d.literal())
    )
    source: str = key("where the times are from")
    exchange_s: float | None = None
    fft_s: tuple[float, float] | None = None

    @property
    def transform(self) -> fft3d.Transform:
        return fft3d.Transform(self.n, word_bytes=4.0, exchanges=1, real=True)

    def connected_s(self) -> float:
        """An exchange by Eq. 3; none on a single node."""
        network = fft3d.Network("fully-connected", injection_bytes_per_s=_injection(load_machine("frontier")))
        return fft3d.network_time(self.transform, self.nodes, network)

    def memory_s(self, reading: fft3d.Memory) -> float:
        """A memory term by a reading."""
        return _memory_s(self.transform, load_machine("frontier"), self.nodes, reading)


# Real fields in single precision, slab decomposition: one exchange a transform. 18 transforms a step are an assumption: 9 are
# what a velocity needs once there and back with its products, 36 two stages of a Runge-Kutta step with twice as many.
GESTS_TRANSFORMS = 18
GESTS_TRANSFORMS_RANGE = (9, 36)
GESTS = (
    TurbulenceStep(2048, 1, (4.09, 4.09), CPC),
    TurbulenceStep(4096, 8, (10.1, 10.1), CPC),
    TurbulenceStep(8192, 64, (10.8, 10.8), CPC),
    TurbulenceStep(16384, 512, (11.5, 11.5), CPC),
    TurbulenceStep(32768, 4096, (12.1, 13.1), CPC, exchange_s=8.5, fft_s=(2.7, 3.4)),
)
LARGEST = GESTS[-1]
# Summit: the press gives an upper bound only (< 15 s a step, 18432^3 on 3072 nodes, 2019), so it enters no table.


@record
class LibraryRun(Record):
    """A run of an FFT library in complex single precision."""

    library: str = key("name of the library")
    n: int = key("points an axis")
    processors: int = key("processors of the run")
    flop_per_s: float = key("published performance")
    injection_bytes_per_s: float = key("rate at which a processor injects into the network")
    exchanges: int = key("exchanges of a transform")
    source: str = key("where the performance is from")
    time_s = computed("time that follows from the performance", float, lambda run: run.transform.flops / run.flop_per_s)
    network_connected_s = computed(
        "time on the network by Eq. 3",
        float,
        lambda run: fft3d.connected_network_time(run.transform, run.processors, run.injection_bytes_per_s),
    )
    share_explained = computed("network_connected_s by time_s", float, lambda run: run.network_connected_s / run.time_s)
    fraction_of_fp64_peak = computed(
        "performance by the peak in double precision", float, lambda run: run.flop_per_s / run.peak_flop_per_s
    )  # fmt: skip

    @property
    def transform(self) -> fft3d.Transform:
        return fft3d.Transform(self.n, word_bytes=8.0, exchanges=self.exchanges)

    @property
    def peak_flop_per_s(self) -> float:
        """In double precision."""
        return self.processors * next(p.value for p in PARTS if p.quantity == "processor peak" and p.name == "A100")


CUFFTMP = LibraryRun(
    "cuFFTMp", 16384, 4096, 1.8e15, 25e9, 1, "NVIDIA's blog of January 2022: InfiniBand HDR, 200 GB/s a node of 8 GPUs"
)  # fmt: skip
# One of the eight dies of a Frontier node, the counterpart of the paper's processor.
FRONTIER_DIES = 8


def doubling_times() -> list[Part]:
    """For each quantity the assumed doubling time and the real ones, from Table 1's base of 2010 to what was built."""
    return [*PARTS, *_machine_peaks()]


def _machine_peaks() -> list[Part]:
    parts = []
    for name in ("fugaku", "frontier", "el-capitan"):
        machine = load_machine(name)
        peak, node = machine.machine_peak(), machine.figures["node_peak"]
        assert peak is not None and machine.year is not None
        parts.append(Part("machine peak", name, machine.year, peak, node.kind, "nodes x node peak of its description"))
    return parts


@dataclass(frozen=True)
class Years:
    """Doubling times of a quantity: assumed, and the shortest and longest real one, in years."""

    assumed: float
    shortest: float
    longest: float


def doubling_ranges() -> dict[str, Years]:
    """Return the doubling times of each quantity."""
    parts = doubling_times()
    ranges = {}
    for quantity in dict.fromkeys(part.quantity for part in parts):
        here = [part for part in parts if part.quantity == quantity]
        real = [part.doubled_years() for part in here]
        ranges[quantity] = Years(here[0].trend.doubling.value, min(real), max(real))
    return ranges


@record
class LargestStep(Record):
    """The 32768^3 step on Frontier, measured and by the model (Eq. 1 to 5), all of a step's transforms together."""

    field_bytes_per_node: float = key("size of one field on a node")
    exchange_s: float = key("time of one exchange by Eq. 3")
    network_connected_s: float = key("time of all exchanges by Eq. 3")
    network_tapered_s: float = key("time of all exchanges by Eq. 3, over the taper")
    network_torus_s: float = key("time of all exchanges by Eq. 5, had it been a torus")
    network_measured_s: float = key("measured time of all exchanges")
    share_of_injection = computed(
        "network_connected_s by network_measured_s", float, lambda of: of.network_connected_s / of.network_measured_s
    )
    memory_literal_s: float = key("time of the memory term by the literal text")
    memory_effective_cpu_s: float = key("time of the memory term, effective for CPU designs")
    memory_effective_gpu_s: float = key("time of the memory term, effective for the GPU design")
    memory_measured_s: Ends = key("measured time of all transforms, least and most")
    memory_constant_measured: Ends = key("A of Eq. 2 that memory_measured_s implies, least and most")
    mem_over_net_measured: Ends = key("memory_measured_s by network_measured_s, least and most")
    net_over_mem_measured: Ends = key("network_measured_s by memory_measured_s, least and most")
    fraction_of_peak: Ends = key("performance by the peak of the nodes, least and most")
    performance_flop_per_s: Ends = key("flops of all transforms by the time of a step, least and most")
    transforms: int = key("transforms of a step, assumed", name="assumed_transforms")


def largest_step(transforms: int = GESTS_TRANSFORMS) -> LargestStep:
    """Hold the largest step against the model, with so many transforms."""
    machine, run, transform = load_machine("frontier"), LARGEST, LARGEST.transform
    assert run.fft_s is not None and run.exchange_s is not None
    flops = transforms * transform.flops
    peak = run.nodes * machine.need("node_peak", "a share of it").value
    connected_s = run.connected_s()
    unit_s = transforms * run.memory_s(fft3d.literal(1.0))
    return LargestStep(
        field_bytes_per_node=transform.points * 4.0 / run.nodes,
        exchange_s=connected_s,
        network_connected_s=transforms * connected_s,
        network_tapered_s=transforms * connected_s / machine.need("taper", "exchanges").value,
        network_torus_s=transforms * fft3d.torus_bisection_time(transform, run.nodes, _injection(machine)),
        network_measured_s=run.exchange_s,
        memory_literal_s=transforms * run.memory_s(fft3d.literal()),
        memory_effective_cpu_s=transforms * run.memory_s(fft3d.effective("cpu")),
        memory_effective_gpu_s=transforms * run.memory_s(fft3d.effective("gpu")),
        memory_measured_s=run.fft_s,
        memory_constant_measured=[time / unit_s for time in run.fft_s],
        mem_over_net_measured=[time / run.exchange_s for time in run.fft_s],
        net_over_mem_measured=[run.exchange_s / time for time in reversed(run.fft_s)],
        fraction_of_peak=[flops / (time * peak) for time in reversed(run.step_s)],
        performance_flop_per_s=[flops / time for time in reversed(run.step_s)],
        transforms=transforms,
    )


def _injection(machine: Description) -> float:
    injection = machine.injection()
    assert injection is not None
    return injection


def _memory_s(transform: fft3d.Transform, machine: Description, nodes: float, reading: fft3d.Memory) -> float:
    memory = machine.need("memory_bandwidth", "a transform").value
    return fft3d.memory_time(transform, nodes, memory, machine.get("cache"), reading)


@record
class LinkBalance(Record):
    """beta_link / beta_mem of the paper's GPU design of 2020 and of a die of Frontier."""

    predicted_2020: float = key("link by memory bandwidth of the GPU design of 2020")
    frontier_die: float = key("link by memory bandwidth of a die of Frontier")
    shortfall = computed("predicted_2020 by frontier_die", float, lambda of: of.predicted_2020 / of.frontier_die)


def balance() -> LinkBalance:
    """Set the links of Frontier against its memory."""
    frontier, trend = load_machine("frontier"), model.TREND
    memory = frontier.need("memory_bandwidth", "its balance").value
    predicted = trend["link_bandwidth"].at("both", 2020) / trend["memory_bandwidth"].at("gpu", 2020)
    return LinkBalance(predicted, (_injection(frontier) / FRONTIER_DIES) / (memory / FRONTIER_DIES))


@record
class Lane(Record):
    """A transform on so many nodes of a machine by the model."""

    nodes: float = key("nodes that take part")
    memory_s: float = key("time by the memory term, Eq. 2")
    network_injection_s: float = key("time on the network where injection is the limit, Eq. 3")
    network_own_s: float = key("time on the machine's own network")


@record
class SwimLanes(Record):
    """Prediction 2 asked of what was built: Frontier against as many Fugaku nodes as have its peak, by Eq. 2, 3 and 5."""

    n: int = key("points an axis")
    machines: Mapping[str, Lane] = key("terms by machine")
    cpu_over_gpu_injection = computed(
        "Fugaku's speed by Frontier's where injection is the limit", float, lambda of: of.gain("network_injection_s")
    )
    cpu_over_gpu_own_network = computed(
        "Fugaku's speed by Frontier's over their own networks", float, lambda of: of.gain("network_own_s")
    )

    def gain(self, network: str) -> float:
        """Return how much faster Fugaku's nodes are, by a term of the network."""
        frontier, fugaku = (lane.memory_s + getattr(lane, network) for lane in self.machines.values())
        return float(frontier / fugaku)


def swim_lanes(n: int = 32768) -> SwimLanes:
    """Ask the model for both machines."""
    gpu, cpu = load_machine("frontier"), load_machine("fugaku")
    transform, peak, rows = fft3d.Transform(n), gpu.machine_peak(), {}
    assert peak is not None
    of_its_peak = peak / cpu.need("node_peak", "as many nodes").value
    for machine, nodes in ((gpu, gpu.need("nodes", "all of them").value), (cpu, of_its_peak)):
        injection = _injection(machine)
        network = fft3d.Network(
            machine.topology.name if machine.topology else "fat-tree", machine.get("link_bandwidth"), injection,
            (machine.topology.dimensions if machine.topology else None) or 3, machine.get("taper") or 1.0,
        )  # fmt: skip
        rows[machine.name] = Lane(
            nodes, _memory_s(transform, machine, nodes, fft3d.literal()),
            fft3d.connected_network_time(transform, nodes, injection), fft3d.network_time(transform, nodes, network),
        )  # fmt: skip
    return SwimLanes(n, rows)


@record
class Verdict(Record):
    """What became of a prediction."""

    prediction: int = key("number of the prediction")
    claim: str = key("what was predicted")
    held: bool | None = key("whether it came true; null: nobody tried, or it hangs on what is assumed")
    interval: Ends = key("least and most of the figure that was predicted, over what is assumed")
    why: str = key("figures that the verdict follows from, in words")


def verdicts() -> list[Verdict]:
    """Which prediction held, each computed from the figures above, with the reason."""
    step, lanes, years = largest_step(), swim_lanes(), doubling_ranges()
    ends = [largest_step(transforms).fraction_of_peak for transforms in GESTS_TRANSFORMS_RANGE]
    low, high = step.fraction_of_peak
    least, most = ends[0][0], ends[1][1]
    ratio_low, ratio_high = step.mem_over_net_measured
    link, memory = years["link"], years["memory bandwidth"]
    return [
        Verdict(
            1, "a 3-D FFT reaches 0.08 % of peak on a GPU-like exascale machine",
            _sure(0.5 <= share / 0.0008 <= 2 for share in (least, low, high, most)), [least, most],
            f"the 32768³ steps on Frontier reach {100 * low:.2f} to {100 * high:.2f} % of the peak of their nodes, "
            f"{low / 0.0008:.0f} times as much; with {GESTS_TRANSFORMS_RANGE[0]} to {GESTS_TRANSFORMS_RANGE[1]} transforms a "
            f"step {100 * least:.2f} to {100 * most:.2f} %, {least / 0.0008:.0f} to {most / 0.0008:.0f} times",
        ),
        Verdict(
            2, "at equal peak a CPU-like machine is about 3.2 times as fast", None,
            sorted([lanes.cpu_over_gpu_own_network, lanes.cpu_over_gpu_injection]),
            f"{_cpu_machines_of(model.TREND['machine_peak'].at('both', model.LAST_YEAR))}; the model says that as "
            f"many Fugaku nodes as have Frontier's peak would be {lanes.cpu_over_gpu_injection:.0f} times as fast where "
            f"injection is the limit and {lanes.cpu_over_gpu_own_network:.2g} times over their own torus (printed Eq. 5)",
        ),
        Verdict(
            3, "memory comes to take longer than the network", _sure(ratio > 1 for ratio in (ratio_low, ratio_high)),
            [ratio_low, ratio_high],
            f"measured T_mem / T_net is {ratio_low:.2f} to {ratio_high:.2f}; links took {link.shortest:.1f} to "
            f"{link.longest:.1f} years to double ({link.assumed:.2f} assumed), memory {memory.shortest:.1f} to "
            f"{memory.longest:.1f} ({memory.assumed:.1f} assumed): {_behind({'links': link, 'memory': memory})}",
        ),
    ]  # fmt: skip


def _cpu_machines_of(peak: float) -> str:
    """Say which machines of processors alone have a peak."""
    built = [one for one in all_machines() if one.processor == "cpu" and one.year is not None and one.machine_peak()]
    built = [one for one in built if one.figures["node_peak"].kind != PROJECTED]
    most = max(built, key=lambda one: one.machine_peak() or 0.0)
    told = format_quantity(most.machine_peak() or 0.0, "flop/s")
    if (most.machine_peak() or 0.0) < peak:
        return f"no machine of processors alone is known that has that peak, {most.name} has the most, {told}"
    return f"{most.name} has that peak, {told}"


def _behind(years: Mapping[str, Years]) -> str:
    """Say what took longer to double than was assumed, by all that was built."""
    behind = [what for what, one in years.items() if one.shortest > one.assumed]
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
    return " ".join(f"Prediction {row.prediction} {_HELD[row.held]}: {row.why}." for row in verdicts())


@record
class Since(Record):
    """What was built and run since 2012."""

    doubling_times = computed("what was built, against Table 1's doubling times", Sequence[Part], lambda _: doubling_times())
    largest_step = computed("the largest published step of a turbulence code", LargestStep, lambda _: largest_step())
    library_run = computed("the largest published run of an FFT library", LibraryRun, lambda _: CUFFTMP)
    balance = computed("links against memory", LinkBalance, lambda _: balance())
    swim_lanes = computed("a CPU-like against a GPU-like machine of the same peak", SwimLanes, lambda _: swim_lanes())
    weak_scaling = computed("published steps of growing size", Sequence[TurbulenceStep], lambda _: GESTS)
    verdicts = computed("what became of each prediction", Sequence[Verdict], lambda _: verdicts())


def section() -> Section:
    """What became of the predictions, for the page."""
    step, run, ratio = largest_step(), CUFFTMP, balance()
    fast, slow = step.memory_constant_measured
    return Section.of(
        "since",
        "What became of it",
        verdict_sentence(),
        f"The largest runs are steps of a turbulence code of {LARGEST.n}³ points on {LARGEST.nodes} nodes of Frontier. "
        f"With {step.transforms} transforms a step, which is an assumption, of one exchange each, Eq. 3 gives "
        f"{step.network_connected_s:.1f} s for the network ({step.network_tapered_s:.1f} s over the taper, "
        f"{step.network_torus_s:.0f} s by Eq. 5, had it been a torus) against {step.network_measured_s:.1f} s "
        f"measured. Memory: A = 6.3 gives {step.memory_literal_s:.1f} s and {fft3d.EFFECTIVE_X['cpu']} gives "
        f"{step.memory_effective_cpu_s:.1f} s; measured are {step.memory_measured_s[0]} to "
        f"{step.memory_measured_s[1]} s, an A of {fast:.0f} to {slow:.0f}.",
        "Two things to keep in mind: all these runs are in single precision, but are held against a peak in double "
        "precision, the only one that the paper has; and a step holds more than its transforms.",
        f"On {run.processors} A100, Eq. 3 explains {100 * run.share_explained:.0f} % of the time of cuFFTMp at {run.n}³. "
        f"A die of Frontier has {ratio.frontier_die:.4f} bytes of link for each byte of memory bandwidth; Table 1 gives "
        f"its GPU design {ratio.predicted_2020:.3f}, {ratio.shortfall:.0f} times as many.",
        Picture("since", _CAPTION, since_picture),
        records_table(verdicts(), _VERDICTS, name="verdicts", caption="The predictions, held against what was built."),
        Table(_SPANS, spans(), name="predicted-and-real", caption=f"{RATIO} and {SHARE}, predicted in 2012 and real."),
        records_table(doubling_times(), _DOUBLING, name="doubling", caption="Years to double since Table 1's base of 2010."),
        records_table(GESTS, _SCALING, name="weak-scaling", caption=_SCALING_CAPTION),
    )


_CAPTION = (
    "Squares: assumed or predicted in 2012. Left: years to double. Middle: T_mem / T_net of a 3-D FFT, predicted for the GPU "
    "design under both readings and measured on Frontier. Right: fraction of peak, predicted and reached."
)
_SCALING_CAPTION = "Published steps of GESTS on Frontier (the whole step, not only its transforms) beside the model's terms."
RATIO, SHARE = "T_mem / T_net", "fraction of peak"


@dataclass(frozen=True)
class Span:
    """A figure from least to most, of what was predicted or of what came."""

    quantity: str
    whose: str
    low: float
    high: float

    def words(self, write: Callable[[float], str], between: str) -> str:
        return between.join(dict.fromkeys(map(write, (self.low, self.high))))


def spans() -> list[Span]:
    """T_mem / T_net and the fraction of peak, predicted under both readings and real."""
    step, ours = largest_step(), (("ours, effective", fft3d.EFFECTIVE), ("ours, literal", fft3d.LITERAL))
    ratio = {"predicted, figures": 1 / 2.8}
    ratio |= {whose: gpu.memory_s / gpu.network_s for whose, reading in ours for gpu in (model.figure5(reading).gpu,)}
    share = {"predicted, printed": 0.0008} | {whose: model.reproduced(reading)["gpu_share"] for whose, reading in ours}
    return [
        *(Span(RATIO, whose, value, value) for whose, value in ratio.items()),
        Span(RATIO, "GESTS, Frontier", *step.mem_over_net_measured),
        *(Span(SHARE, whose, value, value) for whose, value in share.items()),
        Span(SHARE, "GESTS, Frontier", *step.fraction_of_peak),
        Span(SHARE, "cuFFTMp, A100", CUFFTMP.fraction_of_fp64_peak, CUFFTMP.fraction_of_fp64_peak),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


_VERDICTS: Sequence[Column[Verdict]] = (
    Column("prediction", "prediction"),
    Column("claim", "claim"),
    Column("verdict", lambda row: _HELD[row.held]),
    Column("why", "why"),
)
_SPANS: Sequence[Column[Span]] = (
    Column("quantity", "quantity"),
    Column("whose", "whose"),
    Column("value", lambda span: span.words(_percent if span.quantity == SHARE else "{:.2g}".format, " to ")),
    Column(None, "low"),
    Column(None, "high"),
)
_DOUBLING: Sequence[Column[Part]] = (
    Column("quantity", "quantity"),
    Column("built", "name"),
    Column("year", "year"),
    Column("value", lambda row: format_quantity(row.value, row.unit)),
    Column("trend of 2012", lambda row: format_quantity(row.predicted_value, row.unit)),
    Column("years to double", "real_years", "{:.1f}".format),
    Column("assumed", "assumed_years", "{:g}".format),
    Column("kind", "kind"),
    Column("source", "source"),
)
_SCALING: Sequence[Column[TurbulenceStep]] = (
    Column("n", "n", "{}³".format),
    Column("nodes", "nodes"),
    Column("step", lambda row: " to ".join(dict.fromkeys(f"{end:g}" for end in (row.step_low_s, row.step_high_s))) + " s"),
    Column("T_net, Eq. 3", "model_network_s", "{:.2f} s".format),
    Column("T_mem, A = 6.3", "model_memory_s", "{:.2f} s".format),
    Column("source", "source"),
)


def since_picture() -> Chart:
    """Draw what was assumed in 2012 beside what came: doubling times, T_mem / T_net, fraction of peak."""
    stops: list[str] = []
    years = doubling_ranges()
    doubling = [
        {
            "name": name, "low": of.shortest, "high": of.longest, "assumed": of.assumed,
            "words": f"{of.shortest:.1f} – {of.longest:.1f}",
            **stop_of(
                stops, f"{name}: doubles in {of.shortest:.1f} to {of.longest:.1f} years, assumed or predicted {of.assumed:g}"
            ),
        }
        for name, of in years.items()
    ]  # fmt: skip
    panels = [
        _ranges("years to double", doubling, None),
        _ranges(RATIO, _drawn(RATIO, "{:.2f}".format, stops), NUMBER),
        _ranges(SHARE, _drawn(SHARE, _percent, stops), "format(100*datum.value,'.3~g')+' %'"),
    ]
    words = " ".join(
        f"{name}: {of.assumed:g} years assumed, {of.shortest:.1f} to {of.longest:.1f} real." for name, of in years.items()
    )
    title = "What was predicted in 2012 and what came of it"
    return Chart("since", title, words, panels, stops, least_px=330, label_px=120, most_columns=3)


def _drawn(quantity: str, write: Callable[[float], str], stops: list[str]) -> list[Spec]:
    """Return the rows of a quantity; those that were predicted stand as ``assumed``."""
    found = []
    for span in (span for span in spans() if span.quantity == quantity):
        text = span.words(write, " – ")
        row: Spec = {"name": span.whose, "words": text, **stop_of(stops, f"{span.whose}: {text}")}
        predicted = span.whose.startswith(("predicted", "ours"))
        ends = {"assumed": span.low} if predicted else {}
        found.append(row | ends | {"low": span.low, "high": span.high} | ({} if predicted else {"assumed": None}))
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
