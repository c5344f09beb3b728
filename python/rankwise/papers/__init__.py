"""Papers redone: each module holds one paper's data and the computations beside it, and gives a Reproduction."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rankwise.errors import InputError
from rankwise.records import Record
from rankwise.report.reproduction import Reproduction

DATA = Path(__file__).with_name("data")


# What the name of a column says of its figures, and what these are in SI units.
_UNITS: dict[str, Callable[[float], float]] = {
    "ns": lambda value: value / 1e9, "us": lambda value: value * 1e-6, "ms": lambda value: value / 1e3,
    "MBps": lambda value: value * 1e6,
}  # fmt: skip


def printed(name: str) -> list[dict[str, Any]]:
    """Return a table of ``data`` by its columns, without the lines that tell where it comes from (#): figures in SI units, None
    where nothing is printed, a grid (8x6) as its sizes."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(line for line in stream if not line.startswith("#"))
        return [{column: _read(column, text) for column, text in row.items()} for row in rows]


def _read(column: str, text: str) -> Any:
    if re.fullmatch(r"\d+(x\d+)+", text):
        return tuple(map(int, text.split("x")))
    try:
        value = int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text or None
    unit = next((unit for unit in column.split("_") if unit in _UNITS), "")
    return _UNITS[unit](value) if unit else value


# What an engine but the model does with a paper.
_DONE = {"simgrid": "simulated", "run": "run here by this verb"}


@dataclass(frozen=True)
class Paper:
    """A paper that can be redone: its id, which is the name of its module, its citation, and the help of its verb.

    ``engines``: those that redo it beside the model, each in a module NAME_ENGINE.
    """

    name: str
    citation: str
    help: str
    engines: tuple[str, ...] = ()
    takes_profiles: bool = False  # whether it sets profiles measured here beside the paper's tables

    def _module(self, engine: str) -> ModuleType:
        return import_module(f"{__name__}.{self.name}{'' if engine == 'model' else f'_{engine}'}")

    def figures(self, engine: str = "model") -> type[Record]:
        """Return what its ``--json`` has beside the answer by an engine: the module's ``Figures``."""
        found: type[Record] = self._module(engine).Figures
        return found

    def reproduce(self, engine: str = "model", folder: Path = Path(), profiles: Sequence[Path] = ()) -> Reproduction:
        """Redo it; ``folder`` keeps the samples of an engine that is not the model. Raises InputError where that cannot be."""
        if engine not in ("model", *self.engines):
            raise InputError(f"nothing of {self.name} is {_DONE[engine]}: leave --engine out")
        asked = [profiles] if self.takes_profiles else []
        reproduction: Reproduction = self._module(engine).reproduce(*(asked if engine == "model" else [folder]))
        return reproduction


PAPERS = (
    Paper(
        "czechowski2012",
        "K. Czechowski, C. Battaglino, C. McClanahan, K. Iyer, P.-K. Yeung, R. Vuduc: On the Communication Complexity of "
        "3D FFTs and its Implications for Exascale, ICS 2012",
        "Redo the 2012 predictions for a 3-D FFT at exascale, and hold them against what was built.",
    ),
    Paper(
        "hunold2020",
        "S. Hunold, K. von Kirchbach, M. Lehr, C. Schulz, J. L. Traeff: Efficient Process-to-Node Mapping Algorithms for "
        "Stencil Computations, IEEE CLUSTER 2020",
        "Redo the comparison of mapping algorithms on 432 instances and two throughput grids, with ours beside them.",
        ("simgrid",),
    ),
    Paper(
        "wagner2024",
        "S. Wagner: PS High-Performance Computing 2024/2025, Assignment 1 (OSU latency and bandwidth by placement under "
        "Slurm), 2024",
        "Redo latency and bandwidth by placement under Slurm, name the effects from the figures, and set yours beside them.",
        takes_profiles=True,
    ),
    Paper(
        "werner2023",
        "T. Werner, C. Päßler, I. Kabadshow, M. Werner: Analytical Model of Communication Algorithm for Simulations with "
        "Range-Limited Interactions, 2023",
        "Redo Tables 1 to 6 on the Shift, test the published model, and set ours beside it.",
        ("simgrid", "run"),
    ),
)


def cited(name: str) -> str:
    """Return a paper's citation."""
    return paper_named(name).citation


def paper_named(name: str) -> Paper:
    """Return a paper by its id. Raises InputError."""
    found = next((paper for paper in PAPERS if paper.name == name), None)
    if found is None:
        raise InputError(f"paper '{name}' is unknown: choose one of {', '.join(paper.name for paper in PAPERS)}")
    return found
