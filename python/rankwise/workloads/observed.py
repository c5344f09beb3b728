"""The workload "observed": the step that a program repeats, as it was observed.

Its messages, as those of any case with a step, are priced by the judge and run by the ``replay`` kernel with every byte
checked.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.cache import cache_folder
from rankwise.errors import InputError
from rankwise.records import computed, key, record, told
from rankwise.workloads.base import Case, Options, Pricer, Program, Row, Site, Times, Workload, option

if TYPE_CHECKING:
    from rankwise.observe.phases import PhasedStep

_LARGEST_BYTES = 2**31 - 1
_COMPUTING = "computing as it was observed is part of the time"


class ReplayedCase(Case):
    """A case with a ``step``; its blocks are bytes."""

    kernel = "replay"
    step: PhasedStep

    @property
    def ranks(self) -> int:
        return self.step.ranks

    def program(self) -> Program:
        return Program(self.step)

    def step_path(self) -> Path:
        """Return next to which file the kernel's copy of the step is written."""
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        return folder / self.workload

    def predict(self, model: Pricer) -> Row:
        program = self.program()
        return self.priced(model, program, 1, program.schedules.others)

    def arguments(self, items: Sequence[Any], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        largest = int(self.step.bytes.max(initial=0))
        if largest > _LARGEST_BYTES:
            raise InputError(f"a message of {largest} B is more than ranks send at once here: stay below 2 GiB")
        return ["--step", str(self.step.on(node_of_rank).write_beside(self.step_path()))]

    def simulation_notes(self, start: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
        return list(self.program().notes)

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        return {"bytes_per_rank": int(record["bytes_per_rank"])}


@record
class ObservedCase(ReplayedCase):
    """The representative step of a record."""

    workload = "observed"

    record: Path = key("name of the record", kind=str, write=lambda path: path.name)
    step: PhasedStep = field(hash=False, compare=False)
    phases = computed("phases of the step", int, lambda case: case.step.phases)
    messages = computed("number of messages", int, lambda case: len(case.step.bytes))
    bytes = computed("bytes in all", int, lambda case: int(case.step.bytes.sum()))
    compute_s = computed("computing of a rank", float, lambda case: case._compute_s)

    @property
    @told("number of ranks", after="record")
    def ranks(self) -> int:
        return self.step.ranks

    @property
    def way(self) -> str:
        return "observed"

    def cells(self) -> dict[str, str]:
        return {"program": self.record.name, "ranks": str(self.ranks), "phases": str(self.step.phases)}

    @property
    def _compute_s(self) -> float:
        """The computing of the rank that computes most."""
        return float(self.step.compute_s.sum(axis=0).max())

    def program(self) -> Program:
        return Program(self.step, notes=(*self.step.notes, *((_COMPUTING,) if self._compute_s > 0 else ())))

    @property
    def together(self) -> Hashable:
        return self.record

    def step_path(self) -> Path:
        return self.record


@dataclass(frozen=True)
class ObservedOptions(Options):
    record: Path = option(Path("app.comm"), "What 'rankwise observe' wrote.", "RECORD")
    compute: bool = option(True, "With the computing between messages, or the messages alone.", "--compute/--no-compute")


class ObservedWorkload(Workload):
    id = "observed"
    title = "the step of an observed program"
    wrong = "replays delivered wrong bytes: this MPI is unreliable"
    options = ObservedOptions
    chooses = False
    examples = {
        "predict": "rankwise predict observed app.comm --profile machine.json",
        "simulate": "rankwise simulate observed app.comm --profile machine.json --ranks-per-node 4",
        "run": "rankwise run observed app.comm",
        "validate": "rankwise validate observed app.comm --profile machine.json",
    }

    def cases(self, options: ObservedOptions, site: Site) -> list[ObservedCase]:
        from rankwise.observe.phases import observed_step
        from rankwise.observe.record import read_record

        step = observed_step(read_record(options.record))
        if not len(step.bytes):
            raise InputError(f"the step in {options.record} has no messages between ranks: there is nothing to time")
        if not options.compute:
            step = step.without_computing()
        return [ObservedCase(options.record, step)]


WORKLOAD = ObservedWorkload()
