"""Reading the JSON of our own verbs back: every complaint names the file and the key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankwise.errors import InputError
from rankwise.records import finite, interval

SCHEMA = 1


@dataclass(frozen=True)
class JsonObject:
    """A JSON object inside a file: ``where`` is its place, ``mend`` ends every complaint about it."""

    value: Mapping[str, Any]
    where: str
    mend: str

    @staticmethod
    def top(value: Any, where: str, mend: str) -> JsonObject:
        if not isinstance(value, dict):
            raise InputError(f"{where} is not a JSON object: {mend}")
        record = JsonObject(value, where, mend)
        schema = value.get("schema", SCHEMA)
        if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
            raise record.complaint("schema", "is not a whole number of at least 1")
        if schema > SCHEMA:
            raise InputError(f"{where} has schema {schema}, newer than this program's {SCHEMA}: update rankwise to read it")
        return record

    def complaint(self, key: str, why: str) -> InputError:
        return InputError(f"{self.where}: {key} {why}: {self.mend}")

    def get(self, key: str) -> Any:
        if key not in self.value:
            raise self.complaint(key, "is missing")
        return self.value[key]

    def records(self, key: str, empty: bool = False) -> list[JsonObject]:
        values = self.get(key)
        if not isinstance(values, list) or not (values or empty):
            raise self.complaint(key, "is not a list with entries")
        records = []
        for i, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.complaint(f"{key}[{i}]", "is not a JSON object")
            records.append(JsonObject(value, f"{self.where}: {key}[{i}]", self.mend))
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

    def flags(self, key: str) -> tuple[bool, ...]:
        values = self.get(key)
        if not isinstance(values, list) or not all(isinstance(value, bool) for value in values):
            raise self.complaint(key, "is not a list of true and false")
        return tuple(values)

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

    def span(self, prefix: str) -> tuple[float, float | None, float | None]:
        """Return a time above 0 with its interval, both ends null where there is none: ``PREFIX_time_s``,
        ``PREFIX_time_lo_s``, ``PREFIX_time_hi_s``."""
        key = f"{prefix}_time_s"
        time_s = self.number(key)
        if time_s <= 0:
            raise self.complaint(key, "is not a time above 0")
        given = [self.value.get(f"{prefix}_time_{end}_s") for end in ("lo", "hi")]
        if given == [None, None]:
            return time_s, None, None
        try:
            ends = interval(given, key)
        except ValueError:
            raise self.complaint(f"{prefix}_time_lo_s and {prefix}_time_hi_s", "are not an interval") from None
        assert ends is not None
        return time_s, *ends


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
