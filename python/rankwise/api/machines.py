"""Descriptions of machines, each figure with its source, and what of them follows from what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from rankwise.api.results import Result
from rankwise.blocks import Block, Column, Next, Sentence, Table, labelled
from rankwise.machine.derived import CLOSE, Finding, check
from rankwise.machine.description import QUANTITIES, Description, MachineSummary, format_quantity
from rankwise.machine.library import all_machines, load_machine
from rankwise.records import computed, key, record
from rankwise.units import format_span

# What a prediction may need of a machine.
_WANTED = (
    "nodes", "node_peak", "memory_bandwidth", "cache", "link_bandwidth", "latency", "overhead", "message_rate", "eager_limit",
)  # fmt: skip


_FLOPS, _BANDWIDTH = partial(format_quantity, unit="flop/s"), partial(format_quantity, unit="B/s")
_COLUMNS: Sequence[Column[Description]] = (
    Column("name", "name"),
    Column("year", "year"),
    Column("nodes", lambda machine: machine.get("nodes"), partial(format_quantity, unit="1")),
    Column("node peak", lambda machine: machine.get("node_peak"), _FLOPS),
    Column("memory", lambda machine: machine.get("memory_bandwidth"), _BANDWIDTH),
    Column("link", lambda machine: machine.get("link_bandwidth"), _BANDWIDTH),
    Column("injection", lambda machine: machine.injection(), _BANDWIDTH),
    Column("network", lambda machine: machine.topology and machine.topology.label()),
    Column("unverified", lambda machine: len(machine.unverified())),
)


_FIGURES: Sequence[Column[Sequence[str | None]]] = tuple(
    Column(head, itemgetter(i), key=head) for i, head in enumerate(("figure", "value", "range", "kind", "what it is", "source"))
)


@dataclass(frozen=True)
class Machines(Result, rows="machines"):
    """All machines that are described."""

    descriptions: Sequence[Description] = key(
        "one entry a machine",
        name="machines",
        kind="list[MachineSummary]",
        write=lambda machines: list(map(MachineSummary, machines)),
    )

    def blocks(self) -> Iterator[Block]:
        yield Sentence(f"{len(self.descriptions)} machines are described, each figure with its source.")
        leave = ("unverified", "injection", "network", "year", "memory", "node peak")
        yield Table(_COLUMNS, self.descriptions, leave=leave)
        yield Next([("rankwise machines show NAME", "the source of each value")])


@record
class DescribedMachine(Result):
    """One machine: ``description`` has all of it."""

    description: Description = key("all of it", inline=True)

    def records(self) -> list[dict[str, Any]]:
        return [{"figure": key, **figure.to_dict()} for key, figure in self.description.figures.items()]

    def blocks(self) -> Iterator[Block]:
        described = self.description
        yield Sentence(f"{described.name}: {described.title}")
        topology, rows = described.topology, list[tuple[str | None, ...]]()
        if topology is not None:
            rows.append(("topology", topology.label(), None, topology.kind, "network", f"{topology.source} ({topology.date})"))
        for name, figure in described.figures.items():
            value = format_quantity(figure.value, figure.unit)
            ends = [format_quantity(end, figure.unit) for end in (figure.low, figure.high)] if figure.low != figure.high else []
            source = f"{figure.source} ({figure.date})" + (f"; {figure.note}" if figure.note else "")
            rows.append((name, value, " to ".join(ends) or None, figure.kind, QUANTITIES[name].meaning, source))
        yield Table(_FIGURES, rows, leave=("source", "what it is"))
        yield from labelled("note", described.notes)
        if self.unknown:
            yield Sentence(f"{', '.join(self.unknown)}; what needs them asks for them", "not known")

    @property
    def unknown(self) -> list[str]:
        """The figures that predictions may ask for and the description lacks."""
        return [key for key in _WANTED if key not in self.description.figures]


@record
class Checked(Result, rows="findings"):
    """What of figures follows from others, and whether it is what is written."""

    machines: int
    findings: Sequence[Finding] = key("figures that follow from others")
    agree = computed("how many agree", int, lambda of: len(of.findings) - len(of.wrong))

    @property
    def wrong(self) -> list[Finding]:
        """What does not follow."""
        return [finding for finding in self.findings if not finding.agrees]

    def blocks(self) -> Iterator[Block]:
        agree = len(self.findings) - len(self.wrong)
        yield Sentence(
            f"{agree} of {len(self.findings)} figures that follow from others agree to {CLOSE:.0%} ({self.machines} machines)"
        )
        for finding in self.wrong:
            unit = QUANTITIES[finding.key].unit
            written, follows = (
                format_quantity(finding.written, unit),
                format_span(finding.follows, partial(format_quantity, unit=unit)),
            )
            yield Sentence(f"{finding.machine}: {finding.key} is {written}, but {finding.rule} is {follows}")


def machines() -> Machines:
    """Return the known machines; RANKWISE_MACHINES names folders with descriptions of your own. Raises InputError."""
    return Machines(all_machines())


def describe(name: str) -> DescribedMachine:
    """Return a machine by its name, its TOML description or its measured profile. Raises InputError."""
    return DescribedMachine(load_machine(str(name)))


def check_machines(name: str | None = None) -> Checked:
    """Recompute what follows from what, of one machine or of all that are known. Raises InputError."""
    found = all_machines() if name is None else [load_machine(str(name))]
    return Checked(len(found), [finding for machine in found for finding in check(machine)])
