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


@dataclass(frozen=True)
class Paper:
    """A paper that can be redone: its id, its citation, and the module whose ``reproduce()`` does it.

    ``simulated`` is the module whose ``reproduce_simulated(folder)`` does it under SimGrid (None: nothing to simulate);
    ``here`` is likewise the module whose ``reproduce_here(folder)`` does its experiment on this machine.
    """

    name: str
    citation: str
    module: str
    help: str
    simulated: str | None = None
    here: str | None = None
    takes_profiles: bool = False  # whether it sets profiles measured here beside the paper's tables

    def figures(self) -> type[Record]:
        """Return what its ``--json`` has beside the answer: the module's ``Figures``."""
        found: type[Record] = import_module(self.module).Figures
        return found

    def reproduce(self, profiles: Sequence[Path] = ()) -> Reproduction:
        """Redo it. Raises InputError when profiles are given that cannot be set beside it."""
        module = import_module(self.module)
        reproduction: Reproduction = module.reproduce(profiles) if self.takes_profiles else module.reproduce()
        return reproduction

    def reproduce_simulated(self, folder: Path) -> Reproduction:
        """Redo it under SimGrid; ``folder`` keeps the samples. Raises InputError where there is nothing to simulate."""
        if self.simulated is None:
            raise InputError(f"nothing of {self.name} is simulated: leave --engine out")
        reproduction: Reproduction = import_module(self.simulated).reproduce_simulated(folder)
        return reproduction

    def reproduce_here(self, folder: Path) -> Reproduction:
        """Do its experiment on this machine; ``folder`` keeps the samples. Raises RankwiseError and its kinds."""
        if self.here is None:
            raise InputError(f"nothing of {self.name} is run here by this verb: leave --engine out")
        reproduction: Reproduction = import_module(self.here).reproduce_here(folder)
        return reproduction


PAPERS = (
    Paper(
        "czechowski2012",
        "K. Czechowski, C. Battaglino, C. McClanahan, K. Iyer, P.-K. Yeung, R. Vuduc: On the Communication Complexity of "
        "3D FFTs and its Implications for Exascale, ICS 2012",
        "rankwise.papers.czechowski2012",
        "Redo the 2012 predictions for a 3-D FFT at exascale, and hold them against what was built.",
    ),
    Paper(
        "hunold2020",
        "S. Hunold, K. von Kirchbach, M. Lehr, C. Schulz, J. L. Traeff: Efficient Process-to-Node Mapping Algorithms for "
        "Stencil Computations, IEEE CLUSTER 2020",
        "rankwise.papers.hunold2020",
        "Redo the comparison of mapping algorithms on 432 instances and two throughput grids, with ours beside them.",
        "rankwise.papers.hunold2020_simgrid",
    ),
    Paper(
        "wagner2024",
        "S. Wagner: PS High-Performance Computing 2024/2025, Assignment 1 (OSU latency and bandwidth by placement under "
        "Slurm), 2024",
        "rankwise.papers.wagner2024",
        "Redo latency and bandwidth by placement under Slurm, name the effects from the figures, and set yours beside them.",
        takes_profiles=True,
    ),
    Paper(
        "werner2023",
        "T. Werner, C. Päßler, I. Kabadshow, M. Werner: Analytical Model of Communication Algorithm for Simulations with "
        "Range-Limited Interactions, 2023",
        "rankwise.papers.werner2023",
        "Redo Tables 1 to 6 on the Shift, test the published model, and set ours beside it.",
        "rankwise.papers.werner2023_simgrid",
        "rankwise.papers.werner2023_here",
    ),
)


def paper_named(name: str) -> Paper:
    """Return a paper by its id. Raises InputError."""
    found = next((paper for paper in PAPERS if paper.name == name), None)
    if found is None:
        raise InputError(f"paper '{name}' is unknown: choose one of {', '.join(paper.name for paper in PAPERS)}")
    return found
