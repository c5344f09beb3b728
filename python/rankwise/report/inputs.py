"""What the report reads beside the profile: comparisons of prediction and measurement, and mappings.

``validate.json`` is what ``rankwise validate exchange --json`` prints; ``map.json`` holds what ``rankwise map --json
--with-mapping`` prints, once or several times under ``instances``. Every complaint names the file and the key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rankwise.errors import InputError
from rankwise.files import read_json
from rankwise.machine.link import Interval, finite, interval

SCHEMA = 1
VALIDATION_COMMAND = "rankwise validate exchange --cutoff 1:4 --bytes 1000 --profile machine.json -o validate.json"
MAPPING_COMMAND = (
    "rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor --json --with-mapping > map.json"
)


@dataclass(frozen=True)
class Timing:
    """A time in seconds with its 95 % interval (None: not known)."""

    time_s: float
    interval_s: Interval | None


@dataclass(frozen=True)
class Comparison:
    """One exchange, predicted and measured; inside tells whether the measured time lies in the predicted interval.

    ``drift``: a ping-pong beside the exchange took so many times what the profile says (None: none was run).
    """

    algorithm: str
    mode: str
    dims: int
    grid: tuple[int, ...]
    cutoff: int
    replication: int
    ranks: int
    message_bytes: int
    predicted: Timing
    measured: Timing
    inside_interval: bool
    messages_per_rank: int
    bytes_per_rank: int
    verified: bool
    repetitions: int
    oversubscribed: bool
    drift: float | None
    notes: tuple[str, ...]

    @property
    def error(self) -> float:
        """Relative error of the prediction: predicted / measured - 1."""
        return self.predicted.time_s / self.measured.time_s - 1

    @property
    def error_at_present_speed(self) -> float | None:
        """The error that is left when the prediction is scaled by the drift: the model's own share."""
        return None if self.drift is None else self.predicted.time_s * self.drift / self.measured.time_s - 1


@dataclass(frozen=True)
class Validation:
    """All comparisons of one ``rankwise validate``; never empty."""

    rows: tuple[Comparison, ...]

    @property
    def mean_error(self) -> float:
        """Mean of the absolute relative errors."""
        return fmean(abs(row.error) for row in self.rows)

    @property
    def drift(self) -> float | None:
        """Median drift of the machine since its profile was measured; None where no ping-pong was run."""
        drifts = [row.drift for row in self.rows if row.drift is not None]
        return median(drifts) if drifts else None

    @property
    def mean_error_at_present_speed(self) -> float | None:
        """Mean of the absolute relative errors that are left when predictions are scaled by the drift."""
        errors = [abs(error) for row in self.rows if (error := row.error_at_present_speed) is not None]
        return fmean(errors) if errors else None

    @staticmethod
    def from_record(record: Any, where: str) -> Validation:
        """Build from the JSON value; ``where`` names it in the InputError of a bad one."""
        top = _Record.top(record, f"validation {where}", f"write a new one with '{VALIDATION_COMMAND}'")
        return Validation(tuple(_comparison(row) for row in top.records("rows")))

    @staticmethod
    def load(path: Path) -> Validation:
        """Read ``validate.json``. Raises InputError when it is missing, half-written or of another structure."""
        mend = f"write a new one with '{VALIDATION_COMMAND}'"
        return Validation.from_record(read_json(path, "validation", mend), str(path))


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
    """All mappings of one process grid with one stencil; ``nodes`` holds the ranks of each node."""

    grid: tuple[int, ...]
    nodes: tuple[int, ...]
    stencil: str
    results: tuple[MappingResult, ...]
    skipped: tuple[tuple[str, str], ...]
    recommended: str | None = None

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
    top = _Record.top(record, f"mappings {where}", f"write new ones with '{MAPPING_COMMAND}'")
    return [_instance(item) for item in (top.records("instances") if "instances" in top.value else [top])]


def load_mappings(path: Path) -> list[MappingInstance]:
    """Read ``map.json``. Raises InputError when it is missing, half-written or of another structure."""
    mend = f"write new ones with '{MAPPING_COMMAND}'"
    return mappings_from_record(read_json(path, "mappings", mend), str(path))


@dataclass(frozen=True)
class _Record:
    """A JSON object inside a file: ``where`` is its place, ``mend`` ends every complaint about it."""

    value: Mapping[str, Any]
    where: str
    mend: str

    @staticmethod
    def top(value: Any, where: str, mend: str) -> _Record:
        if not isinstance(value, dict):
            raise InputError(f"{where} is not a JSON object: {mend}")
        record = _Record(value, where, mend)
        schema = value.get("schema", SCHEMA)
        if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
            raise record.complaint("schema", "is not a whole number of at least 1")
        if schema > SCHEMA:
            raise InputError(
                f"{where} has schema {schema}, newer than this program's {SCHEMA}: update rankwise to read it"
            )
        return record

    def complaint(self, key: str, why: str) -> InputError:
        return InputError(f"{self.where}: {key} {why}: {self.mend}")

    def get(self, key: str) -> Any:
        if key not in self.value:
            raise self.complaint(key, "is missing")
        return self.value[key]

    def records(self, key: str, empty: bool = False) -> list[_Record]:
        values = self.get(key)
        if not isinstance(values, list) or not (values or empty):
            raise self.complaint(key, "is not a list with entries")
        records = []
        for i, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.complaint(f"{key}[{i}]", "is not a JSON object")
            records.append(_Record(value, f"{self.where}: {key}[{i}]", self.mend))
        return records

    def name(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
            raise self.complaint(key, "is not a name in printable ASCII")
        return value

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str):
            raise self.complaint(key, "is not a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.get(key)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.complaint(key, "is not a list of texts")
        return tuple(values)

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if not isinstance(value, bool):
            raise self.complaint(key, "is neither true nor false")
        return value

    def count(self, key: str, least: int = 0) -> int:
        value = self.get(key)
        if not _is_count(value, least):
            raise self.complaint(key, f"is not a whole number of at least {least}")
        return int(value)

    def counts(self, key: str, least: int = 0) -> tuple[int, ...]:
        values = self.get(key)
        if not isinstance(values, list) or not values or not all(_is_count(value, least) for value in values):
            raise self.complaint(key, f"is not a list of whole numbers of at least {least}")
        return tuple(values)

    def number(self, key: str) -> float:
        try:
            return finite(self.get(key), key)
        except ValueError:
            raise self.complaint(key, "is not a finite number") from None

    def timing(self, prefix: str) -> Timing:
        key = f"{prefix}_time_s"
        time_s = self.number(key)
        if time_s <= 0:
            raise self.complaint(key, "is not a time above 0")
        ends = [self.value.get(f"{prefix}_time_{end}_s") for end in ("lo", "hi")]
        if ends == [None, None]:
            return Timing(time_s, None)
        try:
            return Timing(time_s, interval(ends, key))
        except ValueError:
            raise self.complaint(f"{prefix}_time_lo_s and {prefix}_time_hi_s", "are not an interval") from None


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _comparison(row: _Record) -> Comparison:
    return Comparison(
        algorithm=row.name("algorithm"),
        mode=row.name("mode"),
        dims=row.count("dims", least=1),
        grid=row.counts("grid", least=1),
        cutoff=row.count("cutoff", least=1),
        replication=row.count("replication", least=1),
        ranks=row.count("ranks", least=1),
        message_bytes=row.count("message_bytes"),
        predicted=row.timing("predicted"),
        measured=row.timing("measured"),
        inside_interval=row.flag("inside_interval"),
        messages_per_rank=row.count("messages_per_rank"),
        bytes_per_rank=row.count("bytes_per_rank"),
        verified=row.flag("verified"),
        repetitions=row.count("repetitions"),
        oversubscribed=row.flag("oversubscribed"),
        drift=row.number("drift") if row.value.get("drift") is not None else None,
        notes=row.texts("notes") if "notes" in row.value else (),
    )


def _instance(item: _Record) -> MappingInstance:
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
    )


def _result(result: _Record, cells: int, nodes: int) -> MappingResult:
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
