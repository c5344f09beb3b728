"""The description of a machine as data: each figure with its value, unit, source, date and kind.

A description is a TOML file: ``name``, ``title``, ``year``, ``processor`` (cpu or gpu), a table ``topology`` and a table
``figures.KEY`` for each quantity that is known. A quantity that nobody published is left out, and what needs it then
says so. All bandwidths are per direction; figures are per node unless the quantity says otherwise.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwise.errors import InputError
from rankwise.files import MOST_DIGITS, read_text
from rankwise.records import Record, computed, key, record

MEASURED, PUBLISHED, PROJECTED, UNVERIFIED = "measured", "published", "projected", "unverified"
SAME_NETWORK = "same-network"  # measured or published, but of another machine with the same cards and switches
KINDS = (MEASURED, PUBLISHED, SAME_NETWORK, PROJECTED, UNVERIFIED)
PROCESSORS = ("cpu", "gpu")

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
UNITS: dict[str, dict[str, float]] = {
    "B/s": {f"{p}B/s": f for p, f in _DECIMAL.items()} | {f"{p}b/s": f / 8 for p, f in _DECIMAL.items() if p},
    "flop/s": {f"{p}F/s": f for p, f in _DECIMAL.items() if p} | {"flop/s": 1.0},
    "B": {f"{p}B": f for p, f in (_DECIMAL | _BINARY).items()},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "1": {"1": 1.0, "": 1.0},
    "1/s": {"1/s": 1.0, "k/s": 1e3, "M/s": 1e6, "G/s": 1e9},
    "W": {"W": 1.0, "kW": 1e3, "MW": 1e6},
}


@dataclass(frozen=True)
class QuantityKind:
    """What a key of a description means, and its SI unit."""

    unit: str
    meaning: str
    whole: bool = False


QUANTITIES: dict[str, QuantityKind] = {
    "nodes": QuantityKind("1", "nodes of the whole machine", whole=True),
    "node_peak": QuantityKind("flop/s", "peak of a node in double precision (C_node)"),
    "memory_bandwidth": QuantityKind("B/s", "main memory of a node (beta_mem)"),
    "memory": QuantityKind("B", "capacity of that memory, a node"),
    "cache": QuantityKind("B", "fast memory that one local FFT can use (Z)"),
    "line": QuantityKind("B", "cache line (L)"),
    "cores": QuantityKind("1", "cores of a node, as its maker counts them", whole=True),
    "link_bandwidth": QuantityKind("B/s", "one network link, one direction (beta_link)"),
    "links": QuantityKind("1", "links by which a node injects into a switched network", whole=True),
    "injection_bandwidth": QuantityKind("B/s", "all that a node can inject, one direction"),
    "io_bus_bandwidth": QuantityKind("B/s", "bus between host and accelerator, one direction (beta_PCIe)"),
    "latency": QuantityKind("s", "time of an empty message between two nodes (alpha)"),
    "taper": QuantityKind("1", "share of the injection bandwidth that the upper network level carries"),
    "leaf_nodes": QuantityKind("1", "nodes of a leaf switch", whole=True),
    "leaf_taper": QuantityKind("1", "share of what a leaf switch's nodes inject that leaves it"),
    "group_nodes": QuantityKind("1", "nodes of a group or island, whose traffic to others the taper limits", whole=True),
    "message_rate": QuantityKind("1/s", "messages a second that a node's NICs send"),
    "eager_limit": QuantityKind("B", "size from which on plain sends wait for their receivers"),
    "overhead": QuantityKind("s", "processor time for a message, at either end (o)"),
    "gap": QuantityKind("s", "time between two messages of one rank (g)"),
    "latency_inside": QuantityKind("s", "time of an empty message inside a node"),
    "shared_memory_bandwidth": QuantityKind("B/s", "one message inside a node"),
    "socket_bandwidth": QuantityKind("B/s", "between two sockets of a node, one direction"),
    "devices": QuantityKind("1", "accelerators of a node, as programs see them", whole=True),
    "device_peak": QuantityKind("flop/s", "peak of one accelerator in double precision"),
    "device_memory": QuantityKind("B", "memory of one accelerator"),
    "device_link_bandwidth": QuantityKind("B/s", "between two accelerators of a node (NVLink, Infinity Fabric), one direction"),
    "device_latency": QuantityKind("s", "time of an empty message between two accelerators of a node"),
    "scale_up_devices": QuantityKind("1", "accelerators that share one scale-up fabric, over several nodes", whole=True),
    "node_power": QuantityKind("W", "power of a node"),
    "machine_peak": QuantityKind("flop/s", "peak of the whole machine, as published"),
    "bisection_bandwidth": QuantityKind("B/s", "of the whole machine, as published, one direction"),
}

TOPOLOGIES = ("fully-connected", "torus", "fat-tree", "dragonfly")


@record
class Figure(Record):
    """One figure in SI units; ``low`` and ``high`` bound it where it is only known as a range."""

    value: float = key("the figure in SI units")
    low: float = key(
        "lower end, where it is not known exactly", omit=True, kind="float | None", get=lambda of: of.end(of.low), after="kind"
    )
    high: float = key("upper end", omit=True, kind="float | None", get=lambda of: of.end(of.high), after="low")
    unit: str = key("unit that it was written in")
    kind: str = key("how the source knows the figure")
    source: str = key("where it is from")
    date: str = key("date of the source")
    note: str = key("remark", default="", omit=True)

    def end(self, end: float) -> float | None:
        return end if self.low != self.high else None


@record
class Topology(Record):
    """How the nodes are connected; ``dimensions`` counts the axes of a torus."""

    name: str = key("how nodes are connected")
    dimensions: int | None = key("number of dimensions", omit=True, after="date", write=lambda many: many or None)
    kind: str = key("how the source knows the figure")
    source: str = key("where it is from")
    date: str = key("date of the source")

    def label(self) -> str:
        """Say it in words: ``3-D torus``."""
        return f"{self.dimensions}-D torus" if self.name == "torus" else self.name


@record
class Description(Record):
    """A machine as data. ``where`` names the file it came from."""

    name: str = key("name")
    title: str = key("what it is")
    year: int | None = key("year in which it began to work")
    processor: str | None = key("kind of processor")
    topology: Topology | None = key("how nodes are connected; null: not known")
    figures: Mapping[str, Figure] = key("figures by name")
    where: str = key("path of the file", name="file", after="notes")
    notes: tuple[str, ...] = key("remarks", default=())

    def get(self, key: str) -> float | None:
        """The value of a figure in SI units, or None where the description does not have it."""
        figure = self.figures.get(key)
        return figure.value if figure is not None else None

    def need(self, key: str, what: str) -> Figure:
        """The figure of ``key``; InputError saying that ``what`` cannot be computed where it is missing."""
        if key not in self.figures:
            raise InputError(
                f"machine {self.name} has no {key} ({QUANTITIES[key].meaning}), so {what} cannot be computed: "
                f"its description knows of no published one; give it with --set {key}=VALUE or add it to the description"
            )
        return self.figures[key]

    def with_figure(self, key: str, figure: Figure) -> Description:
        """The same machine with one figure replaced or added."""
        return replace(self, figures={**self.figures, key: figure})

    def machine_peak(self) -> float | None:
        """Peak of the whole machine in flop/s, where nodes and node peak are known."""
        nodes, peak = self.get("nodes"), self.get("node_peak")
        return nodes * peak if nodes is not None and peak is not None else None

    def injection(self) -> float | None:
        """What a node can inject in bytes/s: its links together, at most its injection bandwidth; None if unknown."""
        link, links, injection = self.get("link_bandwidth"), self.get("links"), self.get("injection_bandwidth")
        together = link * links if link is not None and links is not None else None
        if together is not None and injection is not None:
            return min(together, injection)
        return together if together is not None else injection

    def has_device_links(self) -> bool:
        """Whether ranks are on accelerators whose links to each other are known."""
        return self.processor == "gpu" and "device_link_bandwidth" in self.figures

    def domain_nodes(self) -> int:
        """How many nodes share one scale-up fabric; 1 where a node's accelerators share it with no others."""
        devices, together = self.get("devices"), self.get("scale_up_devices")
        return max(1, int(together // devices)) if devices and together and self.has_device_links() else 1

    def of_kind(self, kind: str) -> list[str]:
        """Keys of the figures of a kind; ``topology`` among them where it is of it."""
        topology = ["topology"] if self.topology is not None and self.topology.kind == kind else []
        return [*topology, *(key for key, figure in self.figures.items() if figure.kind == kind)]

    def unverified(self) -> list[str]:
        """Keys of the figures that nobody has checked against a source."""
        return self.of_kind(UNVERIFIED)


@record
class MachineSummary(Record):
    """What a list of machines says of one."""

    of: Description
    name = computed("name", str, lambda row: row.of.name)
    title = computed("what it is", str, lambda row: row.of.title)
    year = computed("year in which it began to work", "int | None", lambda row: row.of.year)
    processor = computed("kind of processor", "str | None", lambda row: row.of.processor)
    topology = computed("how nodes are connected", "str | None", lambda row: row.of.topology and row.of.topology.label())
    nodes = computed("number of nodes", "float | None", lambda row: row.of.get("nodes"))
    machine_peak_flop_per_s = computed("peak of the machine", "float | None", lambda row: row.of.machine_peak())
    unverified = computed("keys of figures that nobody has checked", list[str], lambda row: row.of.unverified())
    file = computed("path of the file", str, lambda row: row.of.where)


def parse_value(text: str, key: str, what: str, or_zero: bool = False) -> float:
    """Read a value above 0 with its unit for a quantity: ``25GB/s``, ``200Gb/s``, ``1.5us``; ``or_zero``: 0, too, which
    needs no unit. Raises InputError."""
    unit = QUANTITIES[key].unit
    match = re.fullmatch(r"\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*([A-Za-z/]*)\s*", text)
    try:
        number = float(match[1]) if match else math.nan
    except ValueError:
        number = math.nan
    if match is None or math.isnan(number):
        raise InputError(f"{what} '{text}' is not a value: write a number with its unit, such as {_example(unit)}")
    if or_zero and number == 0 and not match[2]:
        return 0.0
    if match[2] not in UNITS[unit]:
        raise InputError(f"{what} '{text}' needs a unit of {key}: one of {_some_units(unit)}")
    value = number * UNITS[unit][match[2]]
    if not math.isfinite(value) or value < 0 or (value == 0 and not or_zero):
        least = "of at least 0" if or_zero else "above 0"
        raise InputError(f"{what} '{text}' is out of range: it must be a finite number {least}")
    return value


def parse_range(text: str, key: str, what: str, base: float | None) -> tuple[float, float]:
    """Read a value or a range ``LOW:HIGH`` of a quantity; ``0.5x`` means half of ``base``. Raises InputError."""
    ends = []
    for part in text.split(":"):
        match = re.fullmatch(r"\s*([\d.]+(?:[eE][+-]?\d+)?)\s*x\s*", part)
        if match is None:
            ends.append(parse_value(part, key, what))
            continue
        if base is None:
            raise InputError(f"{what} '{part}' is a factor, but the machine has no {key} to apply it to: give a value")
        try:
            ends.append(float(match[1]) * base)
        except ValueError:
            raise InputError(f"{what} '{part}' is not a factor: write it as 0.5x") from None
        if not ends[-1] > 0 or not math.isfinite(ends[-1]):
            raise InputError(f"{what} '{part}' is out of range: a factor must be a finite number above 0")
    if len(ends) > 2:
        raise InputError(f"{what} '{text}' has more than two ends: write LOW:HIGH")
    if ends[-1] < ends[0]:
        raise InputError(f"{what} '{text}' is an empty range: write the smaller end first")
    return ends[0], ends[-1]


def set_figures(machine: Description, settings: list[str]) -> Description:
    """Apply ``KEY=VALUE`` and ``KEY=LOW:HIGH`` to a machine. Raises InputError."""
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.strip().replace("-", "_")
        if key not in QUANTITIES:
            raise InputError(f"--set '{key}' sets nothing: choose one of {', '.join(QUANTITIES)}, as KEY=VALUE")
        if not equals:
            raise InputError(f"--set '{setting}' sets nothing: write {key}=VALUE")
        base = machine.get(key)
        low, high = parse_range(text, key, f"--set {key}", base)
        if QUANTITIES[key].whole and any(end != round(end) for end in (low, high)):
            raise InputError(f"--set {key} '{text}' is not a whole number: {key} are counted")
        value = base if base is not None and low <= base <= high else math.sqrt(low * high)
        value = low if low == high else value
        figure = Figure(value, low, high, QUANTITIES[key].unit, PROJECTED, "given on the command line", "now")
        machine = machine.with_figure(key, figure)
    if fault := _fault_of_tapers(machine, "--set "):
        raise InputError(fault)
    return machine


def format_quantity(value: float, unit: str) -> str:
    """Write a figure with three significant digits and a fitting unit: ``1.60 TB/s``, ``191 TF/s``."""
    if unit == "1":
        return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:.3g}"
    if unit in ("1/s", "W", "J"):
        scales = [(f"{p}{unit.removeprefix('1')}", f) for p, f in (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))]
    elif unit == "s":
        scales = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)]
    else:
        base = {"flop/s": "F/s"}.get(unit, unit)
        scales = [(f"{p}{base}", f) for p, f in sorted(_DECIMAL.items(), key=lambda item: -item[1]) if p]
        scales.append((unit, 1.0))
    name, scale = next(((name, scale) for name, scale in scales if value >= scale * 0.99995), scales[-1])
    shown = value / scale
    return f"{shown:.0f} {name}" if shown >= 99.95 else f"{shown:.3g} {name}"


def parse_description(text: str, where: str) -> Description:
    """Read a description. Raises InputError naming the file, the line, the key and the fix."""
    import tomllib

    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"machine file {where} is not TOML ({error}): fix that line") from None
    except ValueError:  # of a whole number only
        lines = enumerate(text.splitlines(), start=1)
        line = next((n for n, words in lines if re.search(rf"\w{{{MOST_DIGITS}}}", words)), 1)
        raise InputError(
            f"machine file {where}, line {line}: a whole number of more than {MOST_DIGITS} digits: fix it"
        ) from None
    except RecursionError:
        raise InputError(f"machine file {where} is nested too deeply: fix it") from None
    try:
        return _described(record, where)
    except ValueError as error:
        found = _line_of(text, str(error).split(" ", 1)[0])
        raise InputError(f"machine file {where}{'' if found is None else f', line {found}'}: {error}") from None


def _line_of(text: str, key: str) -> int | None:
    """Return the line of a TOML file that holds a key (figures.nodes.value), or
    the table that it lies in; None where neither is."""
    found, best, table = None, 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if (head := re.match(r"\s*\[([\w.]+)\]", line)) is not None:
            table = own = head[1]
        elif (names := re.match(r"\s*([\w.]+)\s*=", line)) is not None:
            own = f"{table}.{names[1]}".removeprefix(".")
        else:
            continue
        if f"{key}.".startswith(f"{own}.") and len(own) > best:
            found, best = number, len(own)
    return found


def _described(record: dict[str, Any], where: str) -> Description:
    """Read what a TOML file holds. Raises ValueError that begins with the key."""
    _no_others(record, ("name", "title", "year", "processor", "topology", "figures", "notes"))
    name = _text(record, "name")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise ValueError(f"name '{name}' is not a name: use lower-case letters, digits, '-', '_' and '.'")
    year = record.get("year")
    if year is not None and (not isinstance(year, int) or isinstance(year, bool)):
        raise ValueError(f"year {year!r} is not a year: write it as 2022")
    processor = record.get("processor")
    if processor is not None and processor not in PROCESSORS:
        raise ValueError(f"processor {processor!r} is unknown: choose one of cpu, gpu")
    figures = record.get("figures", {})
    if not isinstance(figures, dict) or not figures:
        raise ValueError("there are no figures: add tables such as [figures.node_peak]")
    notes = record.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError('notes is not a list of texts: write it as ["..."]')
    described = Description(
        name=name,
        title=_text(record, "title") if "title" in record else name,
        year=year,
        processor=processor,
        topology=_topology(record["topology"]) if "topology" in record else None,
        figures={key: _figure(key, figure) for key, figure in figures.items()},
        where=where,
        notes=tuple(notes),
    )
    if fault := _fault_of_tapers(described, "figures."):
        raise ValueError(fault)
    return described


def load_description(path: Path) -> Description:
    """Read a description from a file. Raises InputError."""
    fix = "give a TOML file" if os.path.exists(path) else "'rankwise machines list' names the known ones"
    return parse_description(read_text(path, "machine file", fix), str(path))


def _figure(key: str, record: Any) -> Figure:
    at = f"figures.{key}"
    if key not in QUANTITIES:
        raise ValueError(f"{at} is unknown: choose one of {', '.join(QUANTITIES)}")
    if not isinstance(record, dict):
        raise ValueError(f"{at} is not a table: give it value, unit, kind, source and date")
    _no_others(record, ("value", "low", "high", "unit", "kind", "source", "date", "note"), f"{at}.")
    unit = QUANTITIES[key].unit
    written = _text(record, "unit", f"{at}.")
    if written not in UNITS[unit]:
        raise ValueError(f"{at}.unit '{written}' is not a unit of {key}: write one of {_some_units(unit)}")
    value = _number(record, "value", at)
    low, high = (_number(record, end, at) if end in record else value for end in ("low", "high"))
    if not low <= value <= high:
        raise ValueError(f"{at} has its value outside low and high: put it between them")
    if QUANTITIES[key].whole and value != round(value):
        raise ValueError(f"{at}.value {value:g} is not a whole number: {key} are counted")
    scale = UNITS[unit][written]
    return Figure(value * scale, low * scale, high * scale, unit, *_origin(record, at), str(record.get("note", "")))


def _topology(record: Any) -> Topology:
    if not isinstance(record, dict):
        raise ValueError("topology is not a table: give it name, kind, source and date")
    _no_others(record, ("name", "dimensions", "kind", "source", "date"), "topology.")
    name = _text(record, "name", "topology.")
    if name not in TOPOLOGIES:
        raise ValueError(f"topology.name '{name}' is unknown: choose one of {', '.join(TOPOLOGIES)}")
    dimensions = record.get("dimensions")
    if name == "torus":
        if not isinstance(dimensions, int) or isinstance(dimensions, bool) or not 1 <= dimensions <= 12:
            raise ValueError(f"topology.dimensions {dimensions!r} is not a number of axes: give 1 to 12")
    elif dimensions is not None:
        raise ValueError(f"topology.dimensions belongs to a torus: leave it out of a {name}")
    return Topology(name, dimensions, *_origin(record, "topology"))


def _origin(record: Mapping[str, Any], at: str) -> tuple[str, str, str]:
    """Return the kind, the source and the date of what was found out."""
    kind = _text(record, "kind", f"{at}.")
    if kind not in KINDS:
        raise ValueError(f"{at}.kind '{kind}' is unknown: choose one of {', '.join(KINDS)}")
    return kind, _text(record, "source", f"{at}."), _text(record, "date", f"{at}.")


def _fault_of_tapers(machine: Description, prefix: str) -> str:
    for name in ("taper", "leaf_taper"):
        if (taper := machine.get(name)) is not None and taper > 1:
            return f"{prefix}{name} {taper:g} is above 1: it is the share of the injection bandwidth, at most 1"
    return ""


def _text(record: Mapping[str, Any], key: str, prefix: str = "") -> str:
    if key not in record:
        raise ValueError(f"{prefix}{key} is missing: add it")
    value = record[key]
    if not isinstance(value, str) or not (value.strip() or key == "unit"):
        raise ValueError(f"{prefix}{key} {value!r} is not a text: write it in quotes")
    return value


def _number(record: Mapping[str, Any], key: str, at: str) -> float:
    if key not in record:
        raise ValueError(f"{at}.{key} is missing: add it, or leave the figure out")
    value = record[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e100:
        raise ValueError(f"{at}.{key} {value!r:.40} is not a number above 0, below 1e100: fix it")
    return float(value)


def _no_others(record: Mapping[str, Any], known: tuple[str, ...], prefix: str = "") -> None:
    for name in record:
        if name not in known:
            raise ValueError(f"{prefix}{name} is unknown: choose one of {', '.join(known)}")


def _some_units(unit: str) -> str:
    return ", ".join(name for name in UNITS[unit] if name) or unit


def _example(unit: str) -> str:
    return {"B/s": "25GB/s", "flop/s": "30TF/s", "B": "8MiB", "s": "2us", "1": "4096", "1/s": "100M/s", "W": "2kW"}[unit]
