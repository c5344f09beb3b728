"""The Fortran modules as a page: of each what it makes public, by itself or from what is made of rankwise.h, with the comment
before it and its arguments."""

from __future__ import annotations

import re
from pathlib import Path

from rankwise.header import Header, fortran

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "fortran"
_PROCEDURE = re.compile(r"^ *(?:[\w()]+ +)*(subroutine|function) (\w+)\b.*", re.IGNORECASE)
_ENDS = re.compile(r"^ *end (subroutine|function|type)\b", re.IGNORECASE)
_ARGUMENT = re.compile(r"^ *(integer|logical|type|real|character|class|complex)\b.*(::)", re.IGNORECASE)


def fortran_modules() -> str:
    """Return all modules as MyST."""
    made = fortran(Header(ROOT / "include" / "rankwise" / "rankwise.h"))
    return "\n".join(_module(path.read_text(encoding="utf-8"), made) for path in sorted(SOURCES.glob("*.f90")))


def _module(text: str, made: str) -> str:
    lines = re.sub(r"&\n +", "", text + made).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("module "))
    name = lines[start].split()[1]
    public = set(
        re.findall(r"\w+", " ".join(line.partition("::")[2] for line in lines if line.strip().startswith("public ::")))
    )
    contains = lines.index("contains")
    found = [f"## Module {name}", "", _comment(lines[:start]), ""]
    constants = [line for line in lines if re.match(r"integer\(c_int\), parameter :: ", line) and line.split()[3] in public]
    types = [
        i for i, line in enumerate(lines) if re.match(r" *type, ", line) and ("public ::" in line or line.split()[-1] in public)
    ]
    if constants:
        found += ["### Constants", "", "```fortran", *constants, "```", ""]
    for at in types:
        found += _shown(lines, at, "type " + lines[at].split()[-1])
    for at in range(contains, len(lines)):
        procedure = _PROCEDURE.match(lines[at])
        if procedure and procedure[2] in public and not _ENDS.match(lines[at]):
            found += _shown(lines, at, procedure[2])
    return "\n".join(found)


def _shown(lines: list[str], at: int, title: str) -> list[str]:
    """Return a type, or a procedure's head and arguments, with the comment before it."""
    before = at
    while lines[before - 1].strip().startswith("!"):
        before -= 1
    end = next(i for i in range(at, len(lines)) if _ENDS.match(lines[i]))
    body = lines[at : end + 1] if title.startswith("type ") else [lines[at], *_arguments(lines[at + 1 : end])]
    shift = len(lines[at]) - len(lines[at].lstrip())
    code = [line[shift:] if line.startswith(" " * shift) else line for line in body]
    return [f"### {title}", "", "```fortran", *code, "```", "", _comment(lines[before:at]), ""]


def _arguments(body: list[str]) -> list[str]:
    return [line for line in body if _ARGUMENT.match(line) and re.search(r"intent|optional|value", line)]


def _comment(lines: list[str]) -> str:
    """Return comment lines as MyST: those that are indented as they stand."""
    text, inside = [], False
    for line in (re.sub(r"^ *! ?", "", line) for line in lines):
        shown = line.startswith("    ")
        if shown != inside:
            text.append("```fortran" if shown else "```")
            inside = shown
        text.append(line[4:] if shown else re.sub(r"([\\*_<>\[\]|#$])", r"\\\1", line))
    return "\n".join([*text, "```"] if inside else text)
