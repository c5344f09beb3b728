"""What the report reads beside the profile: comparisons of prediction and measurement, and mappings.

``validate.json`` is what ``rankwise validate exchange --json`` prints; ``map.json`` holds what ``rankwise map --json
--with-mapping`` prints, once or several times under ``instances``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise.files import read_json
from rankwise.json_record import JsonObject
from rankwise.workloads.comparison import Validation

VALIDATION_COMMAND = "rankwise validate exchange --cutoff 1:4 --bytes 1000 --profile machine.json -o validate.json"
MAPPING_COMMAND = "rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor --json --with-mapping > map.json"


def load_validation(path: Path) -> Validation:
    """Read ``validate.json``. Raises InputError when it is missing, half-written or of another structure."""
    return validation_from_record(read_json(path, "validation", f"write a new one with '{VALIDATION_COMMAND}'"), str(path))


def validation_from_record(record: Any, where: str) -> Validation:
    """Build from the JSON value; ``where`` names it in the InputError of a bad one."""
    return Validation.from_record(JsonObject.top(record, f"validation {where}", f"write a new one with '{VALIDATION_COMMAND}'"))


@dataclass(frozen=True)
class MappingResult:
    """One algorithm's mapping: directed edges between nodes in total and of the busiest node, and the time it took.

    ``node_of_cell`` holds the node of each grid cell in row-major order (None: not kept).
    """

    algorithm: str
    j_sum: int
    j_max: int
    seconds: float
    node_of_cell: tuple[int, ...] | None


@dataclass(frozen=True)
class MappingInstance:
    """All mappings of one process grid with one stencil, or of one program; ``nodes`` holds the ranks of each node."""

    grid: tuple[int, ...]
    nodes: tuple[int, ...]
    stencil: str
    results: tuple[MappingResult, ...]
    skipped: tuple[tuple[str, str], ...]
    recommended: str | None = None
    example: bool = False  # a grid chosen by us, not by who asks
    of_program: bool = False  # its cells are the ranks of a program, J_sum and J_max bytes

    @property
    def blocked(self) -> MappingResult | None:
        """The mapping that fills one node after another: what happens when nobody chooses."""
        return next((result for result in self.results if result.algorithm == "blocked"), None)

    @property
    def best(self) -> MappingResult:
        """The recommended mapping; in a record that names none, the one with the least J_sum, then J_max."""
        named = (result for result in self.results if result.algorithm == self.recommended)
        return next(named, min(self.results, key=lambda result: (result.j_sum, result.j_max)))


def mappings_from_record(record: Any, where: str) -> list[MappingInstance]:
    """Build mapping instances from a JSON value, one bare or several; InputError names ``where`` and the key."""
    top = JsonObject.top(record, f"mappings {where}", f"write new ones with '{MAPPING_COMMAND}'")
    example = top.value.get("example") is True
    return [_instance(item, example) for item in (top.records("instances") if "instances" in top.value else [top])]


def load_mappings(path: Path) -> list[MappingInstance]:
    """Read ``map.json``. Raises InputError when it is missing, half-written or of another structure."""
    mend = f"write new ones with '{MAPPING_COMMAND}'"
    return mappings_from_record(read_json(path, "mappings", mend), str(path))


def _instance(item: JsonObject, example: bool) -> MappingInstance:
    grid, nodes = item.counts("grid", least=1), item.counts("nodes", least=1)
    if math.prod(grid) != sum(nodes):
        raise item.complaint("nodes", f"hold {sum(nodes)} ranks for {math.prod(grid)} cells of the grid")
    skipped = item.records("skipped", empty=True) if "skipped" in item.value else []
    return MappingInstance(
        grid=grid,
        nodes=nodes,
        stencil=item.name("stencil"),
        results=tuple(_result(result, math.prod(grid), len(nodes)) for result in item.records("results")),
        skipped=tuple((record.name("algorithm"), record.text("reason")) for record in skipped),
        recommended=item.name("recommended") if "recommended" in item.value else None,
        example=example,
        of_program="rounds" in item.value,
    )


def _result(result: JsonObject, cells: int, nodes: int) -> MappingResult:
    node_of_cell: Sequence[int] | None = None
    if result.value.get("node_of_cell") is not None:
        node_of_cell = result.counts("node_of_cell")
        if len(node_of_cell) != cells:
            raise result.complaint("node_of_cell", f"has {len(node_of_cell)} entries for {cells} cells of the grid")
        if max(node_of_cell) >= nodes:
            raise result.complaint("node_of_cell", f"names node {max(node_of_cell)} of {nodes}, counted from 0")
    return MappingResult(
        algorithm=result.name("algorithm"),
        j_sum=result.count("j_sum"),
        j_max=result.count("j_max"),
        seconds=result.number("seconds"),
        node_of_cell=None if node_of_cell is None else tuple(node_of_cell),
    )
