"""Descriptions of machines, each figure with its source, and what of them follows from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankwise.api.results import Result

if TYPE_CHECKING:
    from rankwise.machine.derived import Finding
    from rankwise.machine.description import Description

# What a prediction may need of a machine.
_WANTED = (
    "nodes", "node_peak", "memory_bandwidth", "cache", "link_bandwidth", "latency", "overhead", "message_rate", "eager_limit",
)  # fmt: skip


@dataclass(frozen=True)
class Machines(Result):
    """All machines that are described."""

    descriptions: Sequence[Description]

    def to_dict(self) -> dict[str, Any]:
        return {"machines": self.records()}

    def records(self) -> list[dict[str, Any]]:
        return [machine.summary() for machine in self.descriptions]

    @property
    def conclusion(self) -> str:
        return f"{len(self.descriptions)} machines are described, each figure with its source."


@dataclass(frozen=True)
class DescribedMachine(Result):
    """One machine: ``description`` has all of it."""

    description: Description

    def to_dict(self) -> dict[str, Any]:
        return self.description.to_dict()

    def records(self) -> list[dict[str, Any]]:
        return [{"figure": key, **figure.to_dict()} for key, figure in self.description.figures.items()]

    @property
    def conclusion(self) -> str:
        return f"{self.description.name}: {self.description.title}."

    @property
    def unknown(self) -> list[str]:
        """The figures that predictions may ask for and the description lacks."""
        return [key for key in _WANTED if key not in self.description.figures]


@dataclass(frozen=True)
class Checked(Result):
    """What of figures follows from others, and whether it is what is written."""

    machines: int
    findings: Sequence[Finding]

    @property
    def wrong(self) -> list[Finding]:
        """What does not follow."""
        return [finding for finding in self.findings if not finding.agrees]

    def to_dict(self) -> dict[str, Any]:
        return {"findings": self.records(), "agree": len(self.findings) - len(self.wrong)}

    def records(self) -> list[dict[str, Any]]:
        return [finding.to_dict() for finding in self.findings]

    @property
    def conclusion(self) -> str:
        from rankwise.machine.derived import CLOSE

        agree = len(self.findings) - len(self.wrong)
        return (
            f"{agree} of {len(self.findings)} figures that follow from others agree to {CLOSE:.0%} ({self.machines} machines)"
        )


def machines() -> Machines:
    """Return the known machines; RANKWISE_MACHINES names folders with descriptions of your own. Raises InputError."""
    from rankwise.machine.library import all_machines

    return Machines(all_machines())


def describe(name: str) -> DescribedMachine:
    """Return a machine by its name, its TOML description or its measured profile. Raises InputError."""
    from rankwise.machine.library import load_machine

    return DescribedMachine(load_machine(str(name)))


def check_machines(name: str | None = None) -> Checked:
    """Recompute what follows from what, of one machine or of all that are known. Raises InputError."""
    from rankwise.machine.derived import check_all
    from rankwise.machine.library import all_machines, load_machine

    found = all_machines() if name is None else [load_machine(str(name))]
    return Checked(len(found), check_all(found))
