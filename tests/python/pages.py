"""Pages of the documentation as the tests read them: their blocks of code, by language, and what is said of them.

A comment of HTML before a block, which readers do not see, may say ``not run: WHY`` (nothing is done with it, and it is
counted), ``file: NAME`` (it is written to that file, where later commands find it) or ``from: PATH`` (it stands in that file of
ours).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md"] + [  # those of verbs are written while the site is built
    str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("**/*.md")) if path.parent.name != "verbs"
]
_MARK = re.compile(r"<!-- (not run|file|from): (.+?) -->")


@dataclass(frozen=True)
class Block:
    """One block: the page's file, the line that it begins at, its language ("" for an indented one) and its text."""

    page: str
    line: int
    language: str
    text: str
    before: str = ""  # the comment before it

    def said(self, what: str) -> str | None:
        """Return what the comment before it says of ``not run``, ``file`` or ``from``."""
        mark = _MARK.fullmatch(self.before.strip())
        return mark[2] if mark and mark[1] == what else None

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The lines of a shell's block, continued ones joined."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def blocks(page: str, *languages: str) -> list[Block]:
    """Return the blocks of a page, or those of the languages named; directives of the site are none."""
    found, before = [], ""
    for token in MarkdownIt("commonmark").parse((ROOT / page).read_text(encoding="utf-8")):
        last, before = before, token.content if token.type == "html_block" else ""
        if token.type not in ("fence", "code_block") or token.info.startswith("{"):
            continue
        if not languages or token.info in languages:
            found.append(Block(page, token.map[0] + 1 if token.map else 0, token.info.strip(), token.content, last))
    return found
