"""What of a machine's figures follows from others, recomputed and compared; and the JSON schema of machine files."""

from __future__ import annotations

import math
from typing import Any

from rankwise.machine.description import KINDS, PROCESSORS, QUANTITIES, TOPOLOGIES, UNITS, Description
from rankwise.records import Record, record
from rankwise.records import key as declared

CLOSE = 0.02  # by which rounded figures may differ
# A figure, and the factors whose product it is.
PRODUCTS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("machine_peak", ("nodes", "node_peak"), 1.0),
    ("node_peak", ("devices", "device_peak"), 1.0),
    ("memory", ("devices", "device_memory"), 1.0),
    ("injection_bandwidth", ("links", "link_bandwidth"), 1.0),
    ("bisection_bandwidth", ("nodes", "links", "link_bandwidth", "taper"), 0.5),
)
_AT_MOST = (("injection_bandwidth", ("links", "link_bandwidth")),)  # a card may carry less than its links
_ORDERED = (
    ("leaf_nodes", "group_nodes"),
    ("group_nodes", "nodes"),
    ("devices", "scale_up_devices"),
    ("latency_inside", "latency"),
    ("shared_memory_bandwidth", "memory_bandwidth"),
)


@record
class Finding(Record):
    """A figure that follows from others: how, what is written, what follows (its range), and whether the two meet."""

    machine: str = declared("name of the machine")
    key: str = declared("key of the figure", name="figure")
    rule: str = declared("what it follows from")
    written: float = declared("what is written")
    follows: tuple[float, float] = declared("range of what follows")
    agrees: bool = declared("whether the two meet")


def check(machine: Description) -> list[Finding]:
    """Recompute every figure that follows from others of the description."""
    found = []
    figures = machine.figures
    for key, factors, scale in PRODUCTS:
        if key not in figures or not all(factor in figures for factor in factors):
            continue
        low, high = (scale * math.prod(getattr(figures[factor], end) for factor in factors) for end in ("low", "high"))
        least = (key, factors) in _AT_MOST
        written = figures[key]
        agrees = written.high >= low * (1 - CLOSE) * (0 if least else 1) and written.low <= high * (1 + CLOSE)
        half = "half of " if scale == 0.5 else ""
        rule = f"{'at most ' if least else ''}{half}{' x '.join(factors)}"
        found.append(Finding(machine.name, key, rule, written.value, (low, high), agrees))
    for less, more in _ORDERED:
        if less in figures and more in figures:
            high_end = figures[more].high
            rule = f"at most {more}"
            found.append(Finding(machine.name, less, rule, figures[less].value, (0.0, high_end), figures[less].low <= high_end))
    return found


def schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of machine files, read as TOML."""
    text = {"type": "string", "minLength": 1}
    number = {"type": "number", "exclusiveMinimum": 0}

    def figure(key: str) -> dict[str, Any]:
        quantity = QUANTITIES[key]
        units = {"type": "string", "enum": list(UNITS[quantity.unit])}
        return {
            "description": quantity.meaning,
            "type": "object",
            "properties": {"value": number, "low": number, "high": number, "unit": units, "kind": {"enum": list(KINDS)},
                           "source": text, "date": text, "note": {"type": "string"}},
            "required": ["value", "unit", "kind", "source", "date"],
            "additionalProperties": False,
        }  # fmt: skip

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A machine of rankwise",
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]*$"},
            "title": text,
            "year": {"type": "integer"},
            "processor": {"enum": list(PROCESSORS)},
            "notes": {"type": "array", "items": {"type": "string"}},
            "topology": {
                "type": "object",
                "properties": {"name": {"enum": list(TOPOLOGIES)},
                    "dimensions": {"type": "integer", "minimum": 1, "maximum": 12},
                               "kind": {"enum": list(KINDS)}, "source": text, "date": text},
                "required": ["name", "kind", "source", "date"],
                "additionalProperties": False,
            },
            "figures": {
                "type": "object",
                "properties": {key: figure(key) for key in QUANTITIES},
                "minProperties": 1,
                "additionalProperties": False,
            },
        },
        "required": ["name", "figures"],
        "additionalProperties": False,
    }  # fmt: skip
