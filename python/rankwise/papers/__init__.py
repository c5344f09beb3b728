"""Papers redone: each module holds one paper's data and the computations beside it, and gives a Reproduction."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from rankwise.errors import InputError
from rankwise.records import Record
from rankwise.report.reproduction import Reproduction

DATA = Path(__file__).with_name("data")


def printed(name: str) -> list[dict[str, str]]:
    """Return a table of ``data`` by its columns, without the lines that tell where it comes from (#)."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


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

    def figures(self) -> type[Record]:
        """Return what its ``--json`` has beside the answer: the module's ``Figures``."""
        found: type[Record] = import_module(f"{__name__}.{self.name}").Figures
        return found

    def reproduce(self, engine: str = "model", folder: Path = Path(), profiles: Sequence[Path] = ()) -> Reproduction:
        """Redo it; ``folder`` keeps the samples of an engine that is not the model. Raises InputError where that cannot be."""
        if engine not in ("model", *self.engines):
            raise InputError(f"nothing of {self.name} is {_DONE[engine]}: leave --engine out")
        module = import_module(f"{__name__}.{self.name}{'' if engine == 'model' else f'_{engine}'}")
        asked = [profiles] if self.takes_profiles else []
        reproduction: Reproduction = module.reproduce(*(asked if engine == "model" else [folder]))
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
