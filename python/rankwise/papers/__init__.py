"""Papers redone: each module holds one paper's data and the computations beside it, and gives a Reproduction."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from rankwise.report.reproduction import Reproduction


@dataclass(frozen=True)
class Paper:
    """A paper that can be redone: its id, its citation, and the module whose ``reproduce()`` does it."""

    name: str
    citation: str
    module: str
    help: str

    def reproduce(self) -> Reproduction:
        reproduction: Reproduction = import_module(self.module).reproduce()
        return reproduction


PAPERS = (
    Paper(
        "hunold2020",
        "S. Hunold, K. von Kirchbach, M. Lehr, C. Schulz, J. L. Traeff: Efficient Process-to-Node Mapping Algorithms for "
        "Stencil Computations, IEEE CLUSTER 2020",
        "rankwise.papers.hunold2020",
        "Redo the comparison of mapping algorithms on 432 instances and two throughput grids, with ours beside them.",
    ),
)
