"""Cases that are a step of messages, priced by the judge and run by the ``replay`` kernel with every byte checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.errors import InputError
from rankwise.workloads.base import Case, Price, Pricer, Program, Row, Times

if TYPE_CHECKING:
    from rankwise.observe.phases import PhasedStep

_LARGEST_BYTES = 2**31 - 1


class ReplayedCase(Case):
    """A case with a ``step``; its blocks are bytes."""

    kernel = "replay"
    step: PhasedStep

    def program(self) -> Program:
        raise NotImplementedError

    def step_path(self) -> Path:
        """Return beside which file the kernel's copy of the step is written."""
        raise NotImplementedError

    def predict(self, model: Pricer) -> Row:
        return self.priced(model, self.program())

    def priced(self, model: Pricer, program: Program) -> Row:
        steps = (program.schedules, *getattr(program.schedules, "others", ()))
        _, price = Price.slowest([model.price(self, replace(program, schedules=step), 1) for step in steps])
        return Row.of("model", self, price.span, price.messages_per_rank, price.bytes_per_rank, None, price.notes,
                      figures={"busiest": asdict(price.busiest)})  # fmt: skip

    def arguments(self, items: Sequence[Any], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        largest = int(self.step.bytes.max(initial=0))
        if largest > _LARGEST_BYTES:
            raise InputError(f"a message of {largest} B is more than ranks send at once here: stay below 2 GiB")
        return ["--step", str(self.step.on(node_of_rank).write_beside(self.step_path()))]

    def simulation_notes(self, start: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
        return list(self.program().notes)

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        return {"bytes_per_rank": int(record["bytes_per_rank"])}
