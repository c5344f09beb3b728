"""Ask the 3-D FFT model of a described machine: terms, what bounds it, what would help, and by how much.

Every parameter may be a range; then every result is one, with the extremes over all ranges together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rankwise.errors import InputError
from rankwise.machine.description import PROJECTED, QUANTITIES, SAME_NETWORK, UNVERIFIED, Description, Figure, format_quantity
from rankwise.models import fft3d
from rankwise.models.uncertain import Range, bounds
from rankwise.records import Record, computed, key, record
from rankwise.units import format_number, format_time

TIME, OVERLAPPED_TIME, PEAK = "time", "overlapped-time", "peak"
CRITERIA = (TIME, OVERLAPPED_TIME, PEAK)
_TERMS = {
    "flops_s": "flops",
    "memory_s": "memory",
    "shuffle_s": "shuffle",
    "io_bus_s": "io-bus",
    "network_s": "network",
}
_RATES = (
    "node_peak", "memory_bandwidth", "cache", "link_bandwidth", "links", "injection_bandwidth", "io_bus_bandwidth",
    "taper",
)  # fmt: skip


@dataclass(frozen=True)
class FftQuestion:
    """What is asked: the transform, how many nodes, and which reading of the model."""

    n: Range
    nodes: Range | None = None
    reading: str = fft3d.LITERAL
    constant: Range | None = None
    bound: str = fft3d.BISECTION
    torus_constant: str = "printed"
    topology: str | None = None
    overlap: bool = False
    artifacts: bool = False
    word_bytes: float = 16.0
    exchanges: int = 2
    real: bool = False


@record
class Sensitivity(Record):
    """The total time with one parameter at its low and at its high end, all others at their values."""

    parameter: str = key("name of the figure that varies")
    low: float = key("low end of its range")
    high: float = key("high end of its range")
    time_at_low_s: float = key("total time at the low end")
    time_at_high_s: float = key("total time at the high end")


@record
class Varied(Record):
    """An answer with another value of one parameter."""

    parameter: str = key("name of the figure that varies")
    value: float = key("value of the figure")
    results: Mapping[str, Range] = key("times and rates, by name")
    bounded_by: str = key("the term that takes longest")


@record
class Matched(Record):
    """How many nodes of another machine match an answer."""

    machine: str = key("name of the machine")
    criterion: str = key("what is made equal")
    target: float = key("value of the figure")
    nodes: float = key("nodes that it takes, solved for and not rounded")
    nodes_available: float | None = key("nodes that the machine has")
    nodes_ratio: float = key("nodes of both machines against each other")
    memory_s: float = key("time by the memory")
    network_s: float = key("time by the network")
    total_s: float = key("both together")
    peak_flop_per_s: float = key("peak of the nodes")
    performance_flop_per_s: float = key("flops of the algorithm by the time")
    network_model: str = key("how the network is modelled")
    notes: Sequence[str] = key("what weakens the figures, in words")


@record
class FftAnswer(Record):
    """The model's answer; ``results`` holds each term and each derived figure as a range."""

    workload = computed("which workload it is of", str, lambda of: "fft3d")
    machine: Description = key("name of the machine", kind=str, write=lambda machine: machine.name)
    reading = computed("how the paper is read: literal or paper-effective", str, lambda of: of.memory.reading)
    memory_constant = computed("words that an FFT moves, A or X of the paper", "float | None", lambda of: of.memory.constant)
    memory_words_per_point = computed(
        "words that an FFT moves for each point: A times the logarithm", float,
        lambda of: of.results["memory_words_per_point"].value,
    )  # fmt: skip
    network_model = computed("how the network is modelled", str, lambda of: of.network)
    overlap = computed("whether computing and sending overlap", bool, lambda of: of.question.overlap)
    artifacts_in_total = computed("whether the total has the paper's artefacts", bool, lambda of: of.question.artifacts)
    word_bytes = computed("bytes of a number", float, lambda of: of.question.word_bytes)
    exchanges = computed("exchanges of an FFT", int, lambda of: of.question.exchanges)
    real = computed("whether the data are real numbers", bool, lambda of: of.question.real)
    question: FftQuestion
    parameters: Mapping[str, Range] = key("figures of the machine, by name")
    results: Mapping[str, Range] = key(
        "times and rates, by name",
        write=lambda results: {name: one for name, one in results.items() if name != "memory_words_per_point"},
    )
    memory: fft3d.Memory
    network: str
    bounded_by: str = key("the term that takes longest")
    reason: str = key("why, in words")
    sensitivities: Sequence[Sensitivity] = key("by parameter, what its range makes of the time")
    notes: Sequence[str] = key("what weakens the figures, in words", factory=tuple)

    @property
    def total_s(self) -> Range:
        return self.results["total_s"]


def figure_range(figure: Figure) -> Range:
    """The range in which a figure lies."""
    return Range(figure.value, figure.low, figure.high)


def project_fft(machine: Description, question: FftQuestion) -> FftAnswer:
    """Ask the model. Raises InputError naming what the description lacks."""
    model = FftModel(machine, question)
    parameters = model.parameters()
    results = bounds(model.evaluate, parameters)
    bounded_by, reason = _bounded_by(results, question, model.network_label)
    return FftAnswer(
        machine=machine,
        question=question,
        parameters=parameters,
        results=results,
        memory=model.memory,
        network=model.network_label,
        bounded_by=bounded_by,
        reason=reason,
        sensitivities=model.sensitivities(parameters),
        notes=tuple(model.notes(parameters)),
    )


def vary_fft(machine: Description, question: FftQuestion, key: str, ends: tuple[float, float], steps: int = 7) -> list[Varied]:
    """The answer over a logarithmic row of values of one parameter (one of the question's, or a figure). Raises InputError."""
    rows = []
    for value in logarithmic(*ends, steps):
        asked, varied = question, machine
        if key == "n":
            asked = replace(question, n=Range.exactly(value))
        elif key == "nodes":
            asked = replace(question, nodes=Range.exactly(value))
        elif key == "memory_constant":
            asked = replace(question, constant=Range.exactly(value))
        else:
            varied = with_value(machine, key, value)
        answer = project_fft(varied, asked)
        results = {name: answer.results[name] for name in _VARIED if name in answer.results}
        rows.append(Varied(key, value, results, answer.bounded_by))
    return rows


_VARIED = ("memory_s", "network_s", "total_s", "performance_flop_per_s", "fraction_of_peak")


def match_fft(answer: FftAnswer, other: Description, criterion: str) -> Matched:
    """How many nodes of another machine match the answer on peak, on time, or on time with full overlap.

    Raises InputError when no number of nodes does.
    """
    question = replace(answer.question, nodes=Range.exactly(2.0), topology=None, overlap=criterion == OVERLAPPED_TIME)
    model = FftModel(other, question)
    parameters = model.parameters()
    values = {name: parameter.value for name, parameter in parameters.items()}
    if criterion == PEAK:
        target = answer.results["peak_flop_per_s"].value
        nodes = target / values["node_peak"]
    else:
        result = "overlapped_s" if criterion == OVERLAPPED_TIME else "sequential_s"
        target = answer.results[result].value
        try:
            nodes = fft3d.solve_nodes(lambda count: model.evaluate(values | {"nodes": count})[result], target)
        except ValueError:
            raise InputError(
                f"no number of nodes of {other.name} takes {format_time(target)}: ask a larger --n or other nodes of "
                f"{answer.machine.name}"
            ) from None
    results = model.evaluate(values | {"nodes": nodes})
    available = other.get("nodes")
    return Matched(
        other.name, criterion, target, nodes, available, nodes / answer.parameters["nodes"].value, results["memory_s"],
        results["network_s"], results["total_s"], results["peak_flop_per_s"], results["performance_flop_per_s"],
        model.network_label, model.notes(parameters | {"nodes": Range.exactly(nodes)}),
    )  # fmt: skip


class FftModel:
    """The model bound to one machine and one question."""

    def __init__(self, machine: Description, question: FftQuestion) -> None:
        self.machine, self.question = machine, question
        self.topology, self.dimensions = self._topology()
        self.memory = self._memory()
        self._check_network()
        self.network_label = self._network_label()

    def parameters(self) -> dict[str, Range]:
        """All parameters that matter, by name, those of the question first. Raises InputError for one that is missing."""
        nodes = self.question.nodes
        if nodes is None:
            nodes = figure_range(self.machine.need("nodes", "a projection without --nodes"))
        self.machine.need("node_peak", "the flops' time and the fraction of peak")
        self.machine.need("memory_bandwidth", "T_mem")
        known = {key: figure_range(self.machine.figures[key]) for key in _RATES if key in self.machine.figures}
        unused = self._unused()
        constant = self.question.constant or Range.exactly(self.memory.constant)
        asked = {"n": self.question.n, "nodes": nodes, "memory_constant": constant}
        return asked | {key: parameter for key, parameter in known.items() if key not in unused}

    def evaluate(self, values: Mapping[str, float]) -> dict[str, float]:
        """All results for one value of each parameter."""
        question = self.question
        transform = fft3d.Transform(values["n"], question.word_bytes, question.exchanges, question.real)
        system = self._system(values)
        memory = replace(self.memory, constant=values["memory_constant"])
        terms = fft3d.predict(transform, system, memory)
        total_s = terms.total_s(question.overlap, question.artifacts)
        peak = values["nodes"] * values["node_peak"]
        results = {
            "flops_s": terms.flops_s,
            "memory_s": terms.memory_s,
            "shuffle_s": terms.shuffle_s,
            "network_s": terms.network_s,
            "total_s": total_s,
            "sequential_s": terms.total_s(False, question.artifacts),
            "overlapped_s": terms.total_s(True, question.artifacts),
            "performance_flop_per_s": transform.flops / total_s,
            "peak_flop_per_s": peak,
            "fraction_of_peak": transform.flops / total_s / peak,
            "memory_words_per_point": memory.words_per_point(
                values["n"], system.cache_bytes / transform.word_bytes if system.cache_bytes else None
            ),
        }
        return results | ({"io_bus_s": terms.io_bus_s} if terms.io_bus_s is not None else {})

    def sensitivities(self, parameters: Mapping[str, Range]) -> list[Sensitivity]:
        """What each parameter does to the total time."""
        return sensitivities(lambda values: self.evaluate(values)["total_s"], parameters)

    def notes(self, parameters: Mapping[str, Range]) -> list[str]:
        """What a reader must know before believing the answer."""
        machine, question = self.machine, self.question
        notes = [
            *doubts(machine, parameters), *too_many_nodes(machine, parameters["nodes"].high),
            *self._idle(parameters["nodes"].high),
        ]  # fmt: skip
        if self.memory.reading == fft3d.LITERAL and machine.get("cache") is None:
            at_least = question.n.high * question.word_bytes
            notes.append(
                f"{machine.name} has no cache figure: log_Z n is taken as 1, right for a cache of {at_least:,.0f} B or more"
            )
        if self.topology in ("fat-tree", "dragonfly") and question.bound == fft3d.BISECTION and "taper" not in parameters:
            notes.append(f"{machine.name} has no taper: its {self.topology} is taken to carry all that nodes inject")
        if self.topology != "torus" and machine.injection() is None:
            notes.append(one_link(machine))
        capacity = machine.get("memory")
        need = 2 * question.n.high**3 * question.word_bytes / parameters["nodes"].low
        if capacity is not None and need > capacity:
            notes.append(
                f"input and output are {need / 1e9:.0f} GB a node, more than the {capacity / 1e9:.0f} GB of {machine.name}: "
                "use more nodes or a smaller n"
            )
        if parameters["nodes"].value <= 1:
            notes.append("a single node exchanges nothing: T_net is 0")
        return notes

    def _idle(self, nodes: float) -> list[str]:
        """Say that an array is divided among more nodes than its planes (one exchange) or pencils give work to."""
        n, name = math.floor(self.question.n.low), "planes" if self.question.exchanges == 1 else "pencils"
        parts = n if name == "planes" else n * (n // 2 + 1 if self.question.real else n)
        more = nodes > max(parts, 1)
        return [f"{nodes:,.0f} nodes are more than the {parts:,} {name} of {n:,}³ points give work to"] if more else []

    def _topology(self) -> tuple[str, int]:
        asked = self.question.topology
        if asked is None:
            if self.machine.topology is None:
                raise InputError(
                    f"machine {self.machine.name} has no topology, so T_net cannot be computed: "
                    "give --topology fully-connected, torus:3, fat-tree or dragonfly"
                )
            return self.machine.topology.name, self.machine.topology.dimensions or 3
        name, colon, axes = asked.partition(":")
        if name == "torus" and (not colon or re.fullmatch(r"[1-9]|1[0-2]", axes)):
            return name, int(axes) if colon else 3
        if name in ("fully-connected", "fat-tree", "dragonfly") and not colon:
            return name, 3
        raise InputError(
            f"--topology '{asked}' is unknown: choose fully-connected, torus:K with K from 1 to 12, fat-tree or dragonfly"
        )

    def _memory(self) -> fft3d.Memory:
        question = self.question
        if question.reading == fft3d.LITERAL:
            return fft3d.literal(fft3d.PAPER_A if question.constant is None else question.constant.value)
        if question.constant is not None:
            raise InputError("--memory-constant belongs to --reading literal: leave one of the two out")
        if self.machine.processor is None:
            raise InputError(
                f"machine {self.machine.name} does not say whether its processors are cpu or gpu, on which the reading "
                "paper-effective depends: add processor to the description or use --reading literal"
            )
        return fft3d.effective(self.machine.processor)

    def _check_network(self) -> None:
        if self.question.bound == fft3d.IDEAL and self.topology == "torus" and self.dimensions != 3:
            raise InputError(
                f"--bound ideal is known for a 3-D torus only, and {self.machine.name} has a {self.dimensions}-D one: "
                "use --bound bisection"
            )
        if self.topology == "torus" or self.machine.injection() is None:
            self.machine.need("link_bandwidth", "T_net")

    def _network_label(self) -> str:
        question = self.question
        if self.topology == "torus":
            if question.bound == fft3d.IDEAL:
                return "3-D torus, ideal mapping (Eq. 4)"
            return f"{self.dimensions}-D torus, bisection (Eq. 5, {question.torus_constant} constant)"
        if self.topology == "fully-connected":
            return "fully connected (Eq. 3)"
        taper = self.machine.get("taper")
        if question.bound == fft3d.IDEAL or taper in (None, 1.0):
            return f"{self.topology} that carries all that nodes inject (Eq. 3)"
        return f"{self.topology}, global exchange (Eq. 3 over the taper {taper:.2g})"

    def _unused(self) -> set[str]:
        unused = set()
        if self.memory.reading == fft3d.EFFECTIVE:
            unused.add("cache")
        if self.topology in ("fully-connected", "torus") or self.question.bound == fft3d.IDEAL:
            unused.add("taper")
        return unused

    def _system(self, values: Mapping[str, float]) -> fft3d.System:
        link, links = values.get("link_bandwidth"), values.get("links")
        together = link * links if link is not None and links is not None else None
        limits = [limit for limit in (together, values.get("injection_bandwidth")) if limit is not None]
        injection = min(limits) if limits else (link if self.topology != "torus" else None)
        return fft3d.System(
            nodes=values["nodes"],
            node_flop_per_s=values["node_peak"],
            memory_bytes_per_s=values["memory_bandwidth"],
            cache_bytes=values.get("cache"),
            io_bus_bytes_per_s=values.get("io_bus_bandwidth"),
            network=fft3d.Network(
                topology=self.topology,
                link_bytes_per_s=link,
                injection_bytes_per_s=injection,
                dimensions=self.dimensions,
                taper=values.get("taper", 1.0),
                bound=self.question.bound,
                torus_constant=self.question.torus_constant,
            ),
        )


def doubts(machine: Description, keys: Iterable[str]) -> list[str]:
    """Say which of the figures that matter nobody has checked, and which are another machine's."""
    asked = list(keys)
    said = {UNVERIFIED: "unverified figures of", SAME_NETWORK: "figures of another machine with the network of"}
    found = {kind: [key for key in asked if key in machine.of_kind(kind)] for kind in said}
    return [f"{said[kind]} {machine.name}: {', '.join(found[kind])}" for kind in said if found[kind]]


def too_many_nodes(machine: Description, nodes: float) -> list[str]:
    """Say that a machine has fewer nodes than asked for."""
    available = machine.get("nodes")
    more = available is not None and nodes > available
    return [f"{nodes:,.0f} nodes are more than {machine.name} has ({available:,.0f})"] if more else []


def one_link(machine: Description) -> str:
    """Say what is assumed of a node whose links nobody counted."""
    return f"{machine.name} has no number of links: one link a node is assumed"


def sensitivities(time_of: Callable[[Mapping[str, float]], float], parameters: Mapping[str, Range]) -> list[Sensitivity]:
    """A time at both ends of each parameter's range; at half and double where it is known exactly.

    Parameters that change nothing are left out; the largest effect comes first.
    """
    values = {name: parameter.value for name, parameter in parameters.items()}
    found = []
    for name, parameter in parameters.items():
        low, high = (parameter.low, parameter.high) if parameter.wide else (parameter.value / 2, parameter.value * 2)
        if name == "taper":
            high = min(high, 1.0)
        times = [time_of(values | {name: end}) for end in (low, high)]
        if abs(times[0] - times[1]) > 1e-9 * max(times):
            found.append(Sensitivity(name, low, high, *times))
    return sorted(found, key=lambda item: -abs(math.log(item.time_at_low_s / item.time_at_high_s)))


def sensitivity_labels(items: Sequence[Sensitivity], parameters: Mapping[str, Range]) -> list[tuple[str, str, str]]:
    """Name and both ends of each sensitivity: factors where the parameter is known, values where it is a range."""
    labels = []
    for item in items:
        parameter = parameters[item.parameter]
        if parameter.wide or item.parameter in ("n", "nodes"):
            # A parameter of the question has no unit.
            unit = QUANTITIES[item.parameter].unit if item.parameter in QUANTITIES else "1"
            whole = unit == "1" and item.high >= 2
            ends = [f"{end:,.0f}" if whole else format_quantity(end, unit) for end in (item.low, item.high)]
        else:
            ends = [f"x {format_number(end / parameter.value)}" for end in (item.low, item.high)]
        labels.append((item.parameter, ends[0], ends[1]))
    return labels


def matters_most(items: Sequence[Sensitivity], parameters: Mapping[str, Range]) -> str:
    """Say which parameter changes the time most, and from what to what."""
    told = [
        (max(times) / min(times), f"{name} matters most: {format_time(times[0])} at {low}, {format_time(times[1])} at {high}")
        for item, (name, low, high) in zip(items, sensitivity_labels(items, parameters), strict=True)
        for times in [(item.time_at_low_s, item.time_at_high_s)]
        if format_time(times[0]) != format_time(times[1])
    ]
    return max(told)[1] if told else "no figure changes the time"


def changed_most(varied: Mapping[str, Sequence[tuple[float, str, Mapping[str, float]]]]) -> str:
    """Say what came of varying parameters, by the one that changes the last of the times (s) most.

    ``varied``: for each parameter its values, each with its words, and the times by what takes them.
    """
    told = []
    for name, found in varied.items():
        term = list(found[0][2])[-1]
        times = [found[0][2][term], found[-1][2][term]]
        ends, span = [format_time(time_s) for time_s in times], f"{name} from {found[0][1]} to {found[-1][1]}"
        same = ends[0] == ends[1]
        words = f"{span} leaves the {term} at {ends[0]}" if same else f"{span} takes the {term} from {ends[0]} to {ends[1]}"
        told.append((1.0 if same else max(times) / min(times), words))
    return max(told)[1]


def _bounded_by(results: Mapping[str, Range], question: FftQuestion, network: str) -> tuple[str, str]:
    counted = ["network_s", max(("flops_s", "memory_s"), key=lambda name: results[name].value)]
    if question.artifacts:
        counted += [name for name in ("shuffle_s", "io_bus_s") if name in results]
    largest = max(counted, key=lambda name: results[name].value)
    rest = max((name for name in counted if name != largest), key=lambda name: results[name].value)
    time, other = results[largest].value, results[rest].value
    share = time / results["total_s"].value
    compared = f"{format_number(time / other)} times the next term ({_TERMS[rest]})" if other > 0 else f"{_TERMS[rest]} none"
    through = f" on a {network}" if largest == "network_s" else ""
    return _TERMS[largest], (f"{_TERMS[largest]} takes {100 * share:.0f} % of the total{through}, {compared}")


def with_value(machine: Description, key: str, value: float) -> Description:
    """The machine with one figure set to a value."""
    return machine.with_figure(key, Figure(value, value, value, QUANTITIES[key].unit, PROJECTED, "varied", "now"))


def logarithmic(low: float, high: float, steps: int = 7) -> list[float]:
    """Values from low to high, each by the same factor above the one before."""
    if low == high:
        return [low]
    return [low * (high / low) ** (i / (steps - 1)) for i in range(steps)]
