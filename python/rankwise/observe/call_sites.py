"""Where in the program MPI is called: which sites take the time, and their functions, files and lines.

Ranks leave the address behind each call and its offset in the file that holds the code (src/observe/call_sites.h). Names come
from that file as long as it is the one that ran (by its build id): by the system's symbolizer, all offsets of a file at once.
Of Python (CPython 3.11 to 3.13) ranks leave file, function and line themselves.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.callers import Caller, callers_of, callers_text, line_text, offset_text, short
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record
from rankwise.units import format_time

MAX_CALLS, MAX_SITES, MAX_MODULES = 256, 4096, 256  # and all below as in src/observe/store.h
NO_SITE = 2**16 - 1  # of an event whose site is not known
SITE = np.dtype(
    [(name, "<u8") for name in ("key", "offset", "calls", "timed", "ticks")]
    + [("call", "<u2"), ("module", "<u2"), ("number", "<u2"), ("is_binding", "<u2")]
)
MODULE = np.dtype([("build_id_bytes", "<u4"), ("build_id", "V20"), ("path", "S232")])
# Lines of an ELF file's tables of sections and of symbols.
_SECTION = np.dtype(
    {"names": ["type", "offset", "size"], "formats": ["<u4", "<u8", "<u8"], "offsets": [4, 24, 32], "itemsize": 64}
)
_SYMBOL = np.dtype([("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")])
_SYMBOLIZERS = (
    ("llvm-symbolizer", "--addresses", "--output-style=GNU", "--obj={}"),
    ("addr2line", "-a", "-f", "-i", "-C", "-e", "{}"),
)
_LITTLE_BYTES = 16 << 20
_NAMELESS = dict.fromkeys(("function", "inlined_in", "file", "line"))
_OF_MODULE = re.compile(r"__(.+)_MOD_(.+)|_QM(.+?)P(.+)")
_OPERATOR = re.compile(r"\boperator\b")  # whose name has brackets of its own
_OF_INTELS_MODULE = re.compile(r"(.+)_mp_(.+)_")


@record
class CallSite(JsonRecord):
    """A place in the program that calls a function of MPI."""

    call: str = key("name of the function of MPI")
    function: str | None = key("function of the program that calls it; null: unknown")
    inlined_in: str | None = key("function that the calling one is inlined in; null: none")
    file: str | None = key("source file of the call; null: unknown")
    line: int | None = key("line of the call in its source file; null: unknown")
    module: str | None = key("program or library that holds the code; null: unknown")
    offset: int = key("address behind the call as the module's file has it")
    calls: int = key("how many calls, of all ranks together")
    seconds: float = key("time in these calls, of all ranks together")
    ranks: int = key("how many ranks called from here")
    most_seconds: float = key("time of the rank that spent most in them, where most of it is")
    most_rank: int = key("rank that spent most time in them")
    callers: tuple[Caller, ...] = key("who had called its function, the most frequent first", default=())


def merged_sites(
    tables: Mapping[int, tuple[Array, Array, float]], names: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[int, Array], dict[int, list[int]]]:
    """Return the call sites of all ranks by their time, the modules, and for each rank the site of each number in its events,
    and the place among the modules of each of its own.

    ``tables``: by rank its lines (those of calls first, then those of sites), its modules, and ns per tick. Sites are alike
    where module, offset and call are, wherever the module lies in a rank's memory.
    """
    modules: dict[tuple[str, str | None, str], int] = {}
    sites: dict[tuple[int | None, int, str], dict[str, Any]] = {}
    numbered: dict[int, list[tuple[int, tuple[int | None, int, str]]]] = {}
    places: dict[int, list[int]] = {}
    for rank, (lines, its_modules, ns_per_tick) in tables.items():
        own = places[rank] = [modules.setdefault(_identity(module), len(modules)) for module in its_modules]
        for number in np.flatnonzero((lines["calls"] > 0) & (lines["key"] > 0)).tolist():
            line = lines[number]
            at = int(line["module"])
            where = (own[at - 1] if 0 < at <= len(own) else None, int(line["offset"]), names[line["call"]])
            seconds = float(line["ticks"]) * ns_per_tick * 1e-9 * float(line["calls"]) / max(1.0, float(line["timed"]))
            site = sites.setdefault(
                where,
                {"call": where[2], "module": where[0], "offset": where[1]}
                | {"calls": 0, "seconds": 0.0, "ranks": 0, "most_seconds": 0.0, "most_rank": rank},
            )
            site["calls"] += int(line["calls"])
            site["seconds"] += seconds
            site["ranks"] += 1
            if seconds > site["most_seconds"]:
                site["most_seconds"], site["most_rank"] = seconds, rank
            numbered.setdefault(rank, []).append((int(number), where))
    order = sorted(sites, key=lambda where: (-sites[where]["seconds"], str(where)))
    place = {where: min(i, NO_SITE) for i, where in enumerate(order)}
    of_number = {rank: np.full(MAX_CALLS + MAX_SITES, NO_SITE, "<u2") for rank in tables}
    for rank, known in numbered.items():
        for number, where in known:
            of_number[rank][number] = place[where]
    known_modules = [
        {"path": path, "build_id": build_id} | ({"function": function} if function else {})
        for path, build_id, function in modules
    ]
    return [sites[where] for where in order], known_modules, of_number, places


def _identity(module: Any) -> tuple[str, str | None, str]:
    """Return a module's path, build id, and function, which Python's have."""
    length = int(module["build_id_bytes"])
    path, _, function = os.fsdecode(module["path"]).partition("\n")
    return path, bytes(module["build_id"])[:length].hex() if length else None, function


def named(header: dict[str, Any], limit_s: float) -> None:
    """Give the sites of a record's header their ``function``, ``file``, ``line``, as far as the modules' files are still those
    that ran, and the symbolizer answers within ``limit_s`` seconds for each module. Sites that have names keep them."""
    nameless: dict[int, list[dict[str, Any]]] = {}
    for site in [*header.get("sites", []), *header.get("frames", [])]:
        if site.get("module") is not None and "function" not in site:
            nameless.setdefault(site["module"], []).append(site)
    for module, sites in nameless.items():
        if function := header["modules"][module].get("function"):  # of Python, whose offsets are lines
            for site in sites:
                site.update(
                    function=function, inlined_in=None, file=header["modules"][module]["path"], line=site["offset"] or None
                )
            continue
        # The call lies before the address that it returns to, where another line may begin.
        names = _resolved(header["modules"][module], sorted({site["offset"] - 1 for site in sites}), limit_s)
        for site in sites:
            site.update(names.get(site["offset"] - 1, {}))


def call_sites(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a record's sites, those with most time first, as ``CallSite`` has them; empty where the record has none.

    Calls of one function and line are one site, however many of them the compiler made.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number in range(len(header.get("sites", []))):
        site = numbered_site(header, number)
        place = (site["file"], site["line"]) if site["line"] else (site["module"], site["offset"])
        site["callers"] = list(site.get("callers", ()))
        first = found.setdefault((site["call"], site["function"], *place), site)
        if first is not site:  # the compiler made several of one line
            first["calls"] += site["calls"]
            first["seconds"] += site["seconds"]
            first["ranks"] = max(first["ranks"], site["ranks"])
            first["callers"] += site["callers"]
            if first["most_rank"] == site["most_rank"]:
                first["most_seconds"] += site["most_seconds"]
    for site in found.values():
        site["callers"] = callers_of(header, site["callers"])
    return sorted(found.values(), key=lambda site: -site["seconds"])


def numbered_site(header: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return a site of a record by its number, with its module's path."""
    site: dict[str, Any] = header["sites"][number]
    modules = header.get("modules", [])
    known = site["module"] is not None and site["module"] < len(modules)
    return _NAMELESS | site | {"module": modules[site["module"]]["path"] if known else None}


def site_text(site: Mapping[str, Any]) -> str:
    """Return a site in few words: the function and file:line, as far as they are known."""
    place = line_text(site)
    if function := site["function"]:
        module = Path(site["module"]).name if site["module"] else "unknown code"
        return f"{short(function)}, {place}" if place else f"{short(function)} ({module})"
    return place or offset_text(site["module"], site.get("offset", 0))


def site_lines(header: Mapping[str, Any], total_s: float, most: int) -> list[str]:
    """Return the ``most`` sites that took longest, each with at least 1 % of ``total_s``.

    Each has the share, the call, the place, of several ranks the one that spent most, and in a further line its callers.
    """
    sites = [site for site in call_sites(header)[:most] if site["seconds"] >= 0.01 * total_s]
    lines = []
    for site in sites:
        longest = f", {format_time(site['most_seconds'])} on rank {site['most_rank']}" if site["ranks"] > 1 else ""
        lines.append(f"{site['seconds'] / total_s:>4.0%}  {site['call']}: {site_text(site)}{longest}")
        if callers := callers_text(site["callers"]):
            lines.append(f"      {callers}")
    return lines


def _resolved(module: Mapping[str, Any], addresses: Sequence[int], limit_s: float) -> dict[int, dict[str, Any]]:
    """Return function, file and line of addresses in a module's file."""
    path = Path(module["path"])
    if not path.is_file() or (module["build_id"] and build_id_of(path) != module["build_id"]):
        return {}
    # For little to read the one that starts first is the quicker one.
    for program, *options in _SYMBOLIZERS[:: -1 if path.stat().st_size < _LITTLE_BYTES else 1]:
        if found := shutil.which(program):
            frames = _frames(_output([found, *(option.format(path) for option in options)], addresses, limit_s))
            # Without debug information a name is that of the symbol before, which may end before the address.
            guessed = [address for address, frame in frames.items() if frame["file"] is None]
            return frames if not guessed else {at: frames[at] for at in frames.keys() - _outside_functions(path, guessed)}
    return {}


def _outside_functions(path: Path, addresses: Sequence[int]) -> set[int]:
    """Return those of the addresses that no symbol of an ELF file of 64 bits covers."""
    content = np.memmap(path, np.uint8, "r")
    at, count = (int(content[a:b].view(kind)[0]) for a, b, kind in ((40, 48, "<u8"), (60, 62, "<u2")))
    inside = np.zeros(len(addresses), bool)
    for section in content[at : at + 64 * count].view(_SECTION):
        if section["type"] in (2, 11):  # SHT_SYMTAB, SHT_DYNSYM
            symbols = content[section["offset"] : section["offset"] + section["size"]].view(_SYMBOL)
            symbols = symbols[(symbols["info"] & 15 == 2) & (symbols["section"] > 0)]  # functions that are defined here
            for i, address in enumerate(addresses):
                inside[i] |= bool(((symbols["value"] <= address) & (address - symbols["value"] < symbols["size"])).any())
    return {address for address, known in zip(addresses, inside, strict=True) if not known}


def _output(command: Sequence[str], addresses: Sequence[int], limit_s: float) -> list[str]:
    """Return the lines of a symbolizer's answer; none where it fails or takes longer than ``limit_s``."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "DEBUGINFOD_URLS")}
    asked = "".join(f"{address:#x}\n" for address in addresses)
    try:
        run = subprocess.run(
            command, input=asked, capture_output=True, text=True, errors="replace", timeout=limit_s, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return run.stdout.splitlines()


def _frames(lines: Iterable[str]) -> dict[int, dict[str, Any]]:
    """Return what is known of each address: a line with the address, then a function and its file:line for each frame, the
    innermost first."""
    frames: dict[int, list[str]] = {}
    own: list[str] = []
    for line in filter(None, lines):
        if line.startswith("0x"):
            own = frames.setdefault(int(line, 16), [])
        else:
            own.append(line)
    return {address: _frame(own) for address, own in frames.items() if own and own[0] != "??"}


def _frame(lines: Sequence[str]) -> dict[str, Any]:
    file, _, line = lines[1].partition(" (discriminator")[0].rpartition(":") if len(lines) > 1 else ("", "", "")
    return {
        "function": _function(lines[0], file),
        "inlined_in": _function(lines[-2], file) if len(lines) > 2 else None,
        "file": file if file not in ("", "??") else None,
        "line": int(line) if line.isdecimal() and int(line) > 0 else None,
    }


def _function(name: str, file: str) -> str:
    """Return a function's name without its parameters and the type that it returns; one of Fortran's without what compilers add
    (gfortran, flang, Intel), behind its module's."""
    fortran = Path(file).suffix.lower().startswith(".f")
    if found := _OF_MODULE.fullmatch(name) or (_OF_INTELS_MODULE.fullmatch(name) if fortran else None):
        return "::".join(filter(None, found.groups()))
    if fortran:
        return name.rstrip("_")
    # Of a lambda the function that it is in.
    name = name.replace("(anonymous namespace)::", "").partition("::{lambda")[0]
    if _OPERATOR.search(name):
        return name.partition("(")[0] or name
    depth = begin = 0
    for i, letter in enumerate(name):
        if letter == "(" and depth == 0:
            return name[begin:i] or name
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == " " and depth == 0:
            begin = i + 1
    return name[begin:]


def build_id_of(path: Path) -> str | None:
    """Return the build id of an ELF file of 64 bits in hexadecimal digits; None where there is none."""
    try:
        with path.open("rb") as stream:
            head = stream.read(64)
            if head[:5] != b"\x7fELF\x02":
                return None
            at, size, count = (int.from_bytes(head[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
            for i in range(min(count, 256)):
                stream.seek(at + i * size)
                part = stream.read(size)
                if int.from_bytes(part[:4], "little") == 4:  # PT_NOTE
                    offset, length = int.from_bytes(part[8:16], "little"), int.from_bytes(part[32:40], "little")
                    stream.seek(offset)
                    if found := _build_id_in(stream.read(min(length, 1 << 16))):
                        return found
    except (OSError, ValueError):
        return None
    return None


def _build_id_in(notes: bytes) -> str | None:
    at = 0
    while at + 12 <= len(notes):
        name, content, kind = (int.from_bytes(notes[at + i : at + i + 4], "little") for i in (0, 4, 8))
        begin = at + 12 + (name + 3) // 4 * 4
        if kind == 3 and notes[at + 12 : at + 16] == b"GNU\0":
            return notes[begin : begin + content].hex()
        at = begin + (content + 3) // 4 * 4
    return None
