"""Who called the functions that call MPI: MPI is often called by a wrapper, whose name says little.

While calls run, ranks note at each of about 500 instants a second which functions had called the one that calls MPI
(src/observe/call_sites.h), so that a caller's share of these instants is about its share of a call site's time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record
from rankwise.units import format_share

MAX_CHAINS = 1024  # and below as in src/observe/store.h
CHAIN = np.dtype([("key", "<u8"), ("samples", "<u4"), ("site", "<u2"), ("callers", "<u2"), ("caller", "<u8", 6)])
_OFFSET_BITS = 48
_MAINS = ("main", "MAIN__", "_start", "<module>")
_MOST, _LEAST_SHARE, _SAME = 3, 0.05, 0.95  # callers on a screen, the least of them; share of what is the same caller
_MOST_KEPT = 10  # in JSON
_LONGEST = 30  # characters of a function on a screen
_TEMPLATE = re.compile(r"<[^<>]*>")


@record
class Caller(JsonRecord):
    """Functions that had called each other when the call site's function was called."""

    share: float = key("share of the instants at which calls from the site were sampled; all 0: at none", least=0, most=1)
    functions: tuple[str | None, ...] = key("the function that called the site's, the one that called that, ...; null: unknown")
    places: tuple[str, ...] = key("of each function file:line of its call, or the module and the offset in it")


def add_callers(
    sites: Sequence[dict[str, Any]], paths: Sequence[str], tables: Mapping[int, tuple[Array, Sequence[int], Array]]
) -> list[dict[str, Any]]:
    """Give a record's sites their ``callers``, and return the frames, each a module and an offset, that these refer to.

    ``paths``: of the record's modules; ``tables``: by rank its chains, the place among these of each of its modules, and the
    site of each number.
    """
    frames: dict[tuple[int | None, int], int] = {}
    samples: dict[int, dict[tuple[int, ...], int]] = {}
    beyond = {i for i, path in enumerate(paths) if Path(path).name.startswith("libc.so")}  # which calls main
    for chains, modules, of_number in tables.values():
        own = dict(enumerate(modules, 1))
        for chain in chains[chains["site"] < len(of_number)]:  # damaged ones are left out
            places = chain["caller"][: chain["callers"]].tolist()
            callers = [(own.get(at >> _OFFSET_BITS), at & (1 << _OFFSET_BITS) - 1) for at in places]
            outside = next((i for i, (module, _) in enumerate(callers) if module in beyond), len(callers))
            numbers = tuple(frames.setdefault(where, len(frames)) for where in callers[:outside])
            of_site = samples.setdefault(int(of_number[chain["site"]]), {})
            of_site[numbers] = of_site.get(numbers, 0) + int(chain["samples"])
    for number, site in enumerate(sites):
        ordered = sorted(samples.get(number, {}).items(), key=lambda item: (-item[1], item[0]))
        site["callers"] = [{"samples": count, "frames": list(chain)} for chain, count in ordered]
    return [{"module": module, "offset": offset} for module, offset in frames]


def callers_of(header: Mapping[str, Any], chains: Sequence[Mapping[str, Any]]) -> list[Caller]:
    """Return the callers of a site, up to the program's main function, by their share of the instants that were sampled."""
    shares: dict[tuple[tuple[str | None, str], ...], float] = {}
    whole = sum(chain["samples"] for chain in chains)
    for chain in chains:
        named = []
        for frame in (header["frames"][number] for number in chain["frames"]):
            path = header["modules"][frame["module"]]["path"] if frame["module"] is not None else "unknown code"
            named.append((frame.get("function"), line_text(frame) or offset_text(path, frame["offset"])))
            if named[-1][0] in _MAINS:
                break
        share = chain["samples"] / max(1, whole)
        shares[tuple(named)] = shares.get(tuple(named), 0.0) + share
    ordered = sorted(shares.items(), key=lambda item: -item[1])[:_MOST_KEPT]
    return [Caller(share, *map(tuple, zip(*chain, strict=True))) for chain, share in ordered if chain]


def short(function: str) -> str:
    """Return a function's name that fits a line: where it is longer, without arguments of templates and outer scopes."""
    if len(function) > _LONGEST:
        function = _without_arguments(function)
    while len(function) > _LONGEST and "::" in function:
        function = function.partition("::")[2]
    return function if len(function) <= _LONGEST else f"{function[: _LONGEST - 3]}..."


def _without_arguments(function: str) -> str:
    """Return a function's name without arguments of templates."""
    while (plain := _TEMPLATE.sub("", function)) != function:
        function = plain
    return function


def line_text(frame: Mapping[str, Any]) -> str:
    """Return file:line of a frame or a site; '' where it is not known."""
    return f"{Path(frame['file']).name}:{frame['line']}" if frame.get("file") and frame.get("line") else ""


def offset_text(module: str | None, offset: int) -> str:
    """Return a place in a module's file."""
    return f"{Path(module).name}+{offset:#x}" if module else "unknown code"


def callers_text(callers: Sequence[Caller]) -> str:
    """Return who calls: ``called by VecMDot 57 %, VecNorm 43 %``, the nearest callers that differ, with their shares; where all
    are the same, the nearest two; where no call was sampled, who called first; of main alone, ''.

    Functions whose names are not known, such as those of stripped files, are passed over.
    """
    same, shares = _nearest(callers)
    if shares and not any(share for _, share in shares):
        return f"first called by {', '.join(name for name, _ in shares)}"
    told = [f"{name} {format_share(share)}" for name, share in shares if share >= _LEAST_SHARE]
    words = ", ".join(told) or ", itself by ".join(same[:2])
    return f"called by {words}" if words else ""


def telling_caller(function: str | None, callers: Sequence[Caller]) -> str:
    """Return who tells more of a call than the function that makes it: of several callers the most frequent, for they call a
    wrapper, and the nearest where the function is not known; else ''."""
    same, shares = _nearest(callers)
    if function is None and same:
        return same[0]
    return shares[0][0] if shares and (len(shares) > 1 and shares[0][1] > 0 or function is None) else ""


def _nearest(callers: Sequence[Caller]) -> tuple[list[str], list[tuple[str, float]]]:
    """Return the callers that all have in common, the nearest first, and the next ones with their shares, the greatest first:
    none where there is no other."""
    chains = [
        ([short(_without_arguments(name)) for name in caller.functions if name and name not in _MAINS], caller.share)
        for caller in callers
    ]
    same: list[str] = []
    while True:
        shares: dict[str, float] = {}
        for names, share in chains:
            if len(names) > len(same):
                shares[names[len(same)]] = shares.get(names[len(same)], 0.0) + share
        most = sorted(shares.items(), key=lambda item: -item[1])[:_MOST]
        if len(most) == 1 and most[0][1] >= _SAME:
            same.append(most[0][0])
        else:
            return same, most if len(most) > 1 or not same else []
