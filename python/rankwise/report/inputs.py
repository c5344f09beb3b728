"""What the report reads besides the profile: comparisons of prediction and measurement, and mappings.

``validate.json`` is what ``rankwise validate exchange --json`` prints; ``map.json`` holds what ``rankwise map --json
--with-mapping`` prints, once or several times under ``instances``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rankwise.files import read_json
from rankwise.mapping.mapper import Skipped
from rankwise.reading import read_document
from rankwise.records import Record, key, printable, record
from rankwise.workloads.comparison import Validation

if TYPE_CHECKING:
    from rankwise.mapping.mapper import Mappings

VALIDATION_COMMAND = "rankwise validate exchange --cutoff 1:4 --bytes 1000 --profile machine.json -o validate.json"
MAPPING_COMMAND = "rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor --json --with-mapping > map.json"
_VALIDATE = f"write a new one with '{VALIDATION_COMMAND}'"
_MAP = f"write new ones with '{MAPPING_COMMAND}'"


def load_validation(path: Path) -> Validation:
    """Read ``validate.json``. Raises InputError when it is missing, half-written or of another structure."""
    return validation_from_record(read_json(path, "validation", _VALIDATE), str(path))


def validation_from_record(record: Any, where: str) -> Validation:
    """Build from the JSON value; ``where`` names it in the InputError of a bad one."""
    return read_document(Validation.from_dict, record, f"validation {where}", _VALIDATE)


@record
class MappingResult(Record):
    """One algorithm's mapping: directed edges between nodes in total and of the busiest node, and the time it took.

    ``node_of_cell`` holds the node of each grid cell in row-major order (None: not kept).
    """

    algorithm: str = key(read=printable)
    j_sum: int = key(least=0)
    j_max: int = key(least=0)
    seconds: float = key()
    node_of_cell: tuple[int, ...] | None = key(default=None, least=0, filled=True)


@record
class MappingInstance(Record):
    """All mappings of one process grid with one stencil, or of one program; ``nodes`` holds the ranks of each node."""

    grid: tuple[int, ...] = key(least=1, filled=True)
    nodes: tuple[int, ...] = key(least=1, filled=True)
    stencil: str = key(read=printable)
    results: tuple[MappingResult, ...] = key(filled=True)
    skipped: tuple[Skipped, ...] = key(default=())
    recommended: str | None = key(default=None, read=printable)
    rounds: int | None = key(default=None)  # of a program: its cells are its ranks, J_sum and J_max bytes
    example: bool = False  # a grid chosen by us, not by who asks

    @classmethod
    def of(cls, mappings: Mappings, rounds: int | None) -> MappingInstance:
        """Return what is drawn of mappings that were just made."""
        results = [
            MappingResult(one.algorithm, one.j_sum, one.j_max, one.seconds, tuple(one.node_of_cell.tolist()))
            for one in mappings.results
            if one.node_of_cell is not None
        ]
        return cls(
            mappings.grid, mappings.nodes, mappings.stencil, tuple(results), mappings.skipped, mappings.best.algorithm, rounds
        )

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        """Read it back. Raises ValueError where its parts do not fit each other, too."""
        of, place = super().from_dict(value, what), f"{what}." if what else ""
        cells = math.prod(of.grid)
        if cells != sum(of.nodes):
            raise ValueError(f"{place}nodes hold {sum(of.nodes)} ranks for {cells} cells of the grid")
        for i, result in enumerate(of.results):
            nodes, kept = result.node_of_cell, f"{place}results[{i}].node_of_cell"
            if nodes is not None and len(nodes) != cells:
                raise ValueError(f"{kept} has {len(nodes)} entries for {cells} cells of the grid")
            if nodes is not None and max(nodes) >= len(of.nodes):
                raise ValueError(f"{kept} names node {max(nodes)} of {len(of.nodes)}, counted from 0")
        return of

    @property
    def of_program(self) -> bool:
        return self.rounds is not None

    @property
    def blocked(self) -> MappingResult | None:
        """The mapping that fills one node after another: what happens when nobody chooses."""
        return next((result for result in self.results if result.algorithm == "blocked"), None)

    @property
    def best(self) -> MappingResult:
        """The recommended mapping; in a record that names none, the one with the least J_sum, then J_max."""
        named = (result for result in self.results if result.algorithm == self.recommended)
        return next(named, min(self.results, key=lambda result: (result.j_sum, result.j_max)))


@record
class _Several(Record):
    instances: tuple[MappingInstance, ...] = key(filled=True)


def mappings_from_record(record: Any, where: str) -> list[MappingInstance]:
    """Build mapping instances from a JSON value, one bare or several; InputError names ``where`` and the key."""

    def read(value: Any) -> list[MappingInstance]:
        found = _Several.from_dict(value).instances if "instances" in value else [MappingInstance.from_dict(value)]
        return [replace(one, example=value.get("example") is True) for one in found]

    return read_document(read, record, f"mappings {where}", _MAP)


def load_mappings(path: Path) -> list[MappingInstance]:
    """Read ``map.json``. Raises InputError when it is missing, half-written or of another structure."""
    return mappings_from_record(read_json(path, "mappings", _MAP), str(path))
