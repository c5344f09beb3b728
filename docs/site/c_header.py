"""The C header as a page: its sections, each comment with the declarations that follow it."""

from __future__ import annotations

import re
from pathlib import Path

HEADER = Path(__file__).parents[2] / "include" / "rankwise" / "rankwise.h"
_SECTION = re.compile(r"^/\* (.+?) -{20,} \*/$")
_NAME = re.compile(r"\b(rankwise_\w+|MPIX_\w+)\b")


def c_header() -> str:
    """Return the header as MyST: functions by the C domain, so that the index and the search know them."""
    text = HEADER.read_text(encoding="utf-8")
    head, _, body = text.partition("#ifndef RANKWISE_RANKWISE_H")
    body = body.rpartition("#ifdef __cplusplus")[0].partition('extern "C" {\n#endif\n')[2]
    known = set(re.findall(r"\b(rankwise_\w+|MPIX_\w+)\(", body.replace("(*", "")))
    lines = [_words(_comment(head), known), "", "## Handles", ""]
    for block in re.split(r"\n\n+", body.strip()):
        if section := _SECTION.match(block):
            lines += [f"## {section[1]}", ""]
            continue
        lines += [_entry(block, known), ""]
    return "\n".join(lines)


def _entry(block: str, known: set[str]) -> str:
    """Return one comment and its declarations."""
    comment, code = "", block
    if block.startswith("/*"):
        comment, _, code = block.partition("*/")
        comment = _comment(comment)
    functions = _functions(code)
    rest = re.sub(r"RANKWISE_API [^;]*;( /\*.*\*/)?\n?", "", code).strip()
    lines = []
    if rest:
        title = re.search(r"#define (\w+)|\} (\w+);|(?:typedef .*\b)(\w+);", rest)
        lines += [f"### {next(filter(None, title.groups()))}", ""] if title and not functions else []
        lines += ["```c", rest, "```", ""]
    if functions:
        lines += [f"````{{c:function}} {functions[0]}", *functions[1:], "", _words(comment, known), "````"]
    else:
        lines.append(_words(comment, known))
    return "\n".join(lines)


def _functions(code: str) -> list[str]:
    found = re.findall(r"RANKWISE_API ([^;]*);", code)
    return [" ".join(one.split()) for one in found]


def _comment(text: str) -> str:
    """Return a comment's words without its stars; blank lines stay."""
    lines = [re.sub(r"^ ?/?\*+ ?", "", line) for line in text.strip().removesuffix("*/").splitlines()]
    return "\n".join(lines).strip()


def _words(comment: str, known: set[str]) -> str:
    """Return a comment as MyST: indented lines as they stand, names of functions as links."""
    lines, inside = [], False
    for line in comment.splitlines():
        shown = line.startswith("    ")
        if shown != inside:
            lines.append("```text" if shown else "```")
            inside = shown
        lines.append(line[4:] if shown else _linked(line, known))
    return "\n".join([*lines, "```"] if inside else lines)


def _linked(line: str, known: set[str]) -> str:
    line = re.sub(r"([\\*<>\[\]|#$])", r"\\\1", line)
    line = re.sub(r"docs/([\w-]+)\.md", r"[\1](../\1.md)", line)
    line = re.sub(r"^(\d+)\.", r"\1\\.", line)
    return _NAME.sub(lambda name: f"{{c:func}}`{name[1]}`" if name[1] in known else f"`{name[1]}`", line)
