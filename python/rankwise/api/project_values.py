"""Values that projections take as text: ranges, constants, figures that are varied."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from rankwise.errors import InputError

if TYPE_CHECKING:
    from rankwise.engines.project import FftAnswer
    from rankwise.machine.description import Description
    from rankwise.models.uncertain import Range


def value_words(key: str, value: float) -> str:
    """Write a value of a parameter with its unit."""
    from rankwise.machine.description import QUANTITIES, format_quantity

    return (
        f"{value:,.0f}" if key in ("n", "nodes") else format_quantity(value, QUANTITIES[key].unit if key in QUANTITIES else "1")
    )


def parse_vary(text: str, machine: Description, known: list[str]) -> tuple[str, tuple[float, float]]:
    """Read ``KEY=LOW:HIGH`` for a parameter that has a part in the answer. Raises InputError."""
    from rankwise.machine.description import parse_range

    key, equals, ends = text.partition("=")
    key = key.strip().replace("-", "_")
    if not equals or key not in known:
        raise InputError(
            f"--vary '{text}' varies nothing here: write KEY=LOW:HIGH with KEY one of {', '.join(known)}, "
            "or add a figure with --set first"
        )
    low, high = parse_range(ends, key, f"--vary {key}", machine.get(key))
    if key == "taper" and high > 1:
        raise InputError(f"--vary taper reaches {high:g}: it is a share of the injection bandwidth, at most 1")
    return key, (low, high)


def fft_vary(text: str, machine: Description, answer: FftAnswer) -> tuple[str, tuple[float, float]]:
    """Likewise of an FFT, of which n, nodes and the memory constant can be varied, too."""
    from rankwise.machine.description import parse_range

    key, _, ends = text.partition("=")
    key = key.strip().replace("-", "_")
    if key == "memory_constant":
        constant = _constant_range(ends, "--vary memory_constant")
        return key, (constant.low, constant.high)
    if key not in ("n", "nodes"):
        return parse_vary(text, machine, list(answer.parameters))
    low, high = parse_range(ends, "nodes", f"--vary {key}", answer.parameters[key].value)
    return key, (max(low, 2.0 if key == "n" else 1.0), high)


def constant_of(machine: Description, reading: str | None, given: str | None) -> Range | None:
    """The A of Eq. 2: the given one; of a machine that was built since 2020 the
    range that published runs imply; None: the paper's."""
    from rankwise.models import fft3d
    from rankwise.models.uncertain import Range

    if given is not None:
        return _constant_range(given)
    peak = machine.figures.get("node_peak")
    built = peak is not None and peak.kind != "projected" and machine.year is not None and machine.year >= fft3d.IMPLIED_SINCE
    if reading is not None or not built:
        return None
    low, high = fft3d.IMPLIED_A
    return Range(math.sqrt(low * high), low, high)


def _constant_range(text: str, what: str = "--memory-constant") -> Range:
    from rankwise.models.uncertain import Range

    try:
        ends = [float(part) for part in text.split(":")]
    except ValueError:
        ends = []
    if not 1 <= len(ends) <= 2 or not all(math.isfinite(end) and end > 0 for end in ends) or ends[-1] < ends[0]:
        raise InputError(f"{what} '{text}' is not a constant: give a number above 0, or a range such as 6.3:24")
    return Range(math.sqrt(ends[0] * ends[-1]) if len(ends) == 2 else ends[0], ends[0], ends[-1])


def count_range(text: str, what: str, least: int) -> Range:
    """Read a number or a range of numbers. Raises InputError."""
    from rankwise.models.uncertain import Range

    match = re.fullmatch(r"\s*(\d{1,12})\s*(?::\s*(\d{1,12})\s*)?", text)
    if match is None:
        raise InputError(f"{what} '{text}' is not a number or a range: write it as 4096 or 1024:4096")
    low, high = int(match[1]), int(match[2] or match[1])
    if low < least:
        raise InputError(f"{what} {low} is too small: it must be at least {least}")
    if high < low:
        raise InputError(f"{what} '{text}' is an empty range: write the smaller end first")
    if what == "--nodes" and low < 2 <= high and low < high:
        raise InputError(f"{what} '{text}' starts at one node, which exchanges nothing: start the range at 2")
    return Range(float(low) if low == high else math.sqrt(low * high), float(low), float(high))


def number(value: Range) -> str:
    """Write a number, or both ends of a range."""
    return f"{value.value:,.0f}" if not value.wide else f"{value.low:,.0f} to {value.high:,.0f}"
