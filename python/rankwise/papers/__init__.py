"""Papers redone: each module holds one paper's data and the computations beside it, and gives a Reproduction."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from rankwise.errors import InputError
from rankwise.report.reproduction import Reproduction


@dataclass(frozen=True)
class Paper:
    """A paper that can be redone: its id, its citation, and the module whose ``reproduce()`` does it.

    ``simulated`` is the module whose ``reproduce_simulated(folder)`` does it under SimGrid (None: nothing to simulate).
    """

    name: str
    citation: str
    module: str
    help: str
    simulated: str | None = None

    def reproduce(self) -> Reproduction:
        reproduction: Reproduction = import_module(self.module).reproduce()
        return reproduction

    def reproduce_simulated(self, folder: Path) -> Reproduction:
        """Redo it under SimGrid; ``folder`` keeps the samples. Raises InputError where there is nothing to simulate."""
        if self.simulated is None:
            raise InputError(f"nothing of {self.name} is simulated: leave --engine out")
        reproduction: Reproduction = import_module(self.simulated).reproduce_simulated(folder)
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
    ),
    Paper(
        "werner2023",
        "T. Werner, C. Päßler, I. Kabadshow, M. Werner: Analytical Model of Communication Algorithm for Simulations with "
        "Range-Limited Interactions, 2023",
        "rankwise.papers.werner2023",
        "Redo Tables 1 to 6 on the Shift, test the published model, and set ours beside it.",
        "rankwise.papers.werner2023_simgrid",
    ),
)
