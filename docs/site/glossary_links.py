"""Link the first use of each term on a page to the glossary, whose headings are the terms."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes

GLOSSARY = "glossary"
_EVERYDAY = {"card", "direct", "gap", "launch", "shift", "step"}  # words that most often mean something else
_NOT_IN = (nodes.reference, nodes.literal, nodes.title, nodes.literal_block, nodes.term, nodes.raw)


def terms(text: str) -> dict[str, str]:
    """Return the anchor of every term of a glossary's source."""
    headings = re.findall(r"^### (.+)$", text, re.MULTILINE)
    return {name.strip(): nodes.make_id(heading) for heading in headings for name in heading.split(",")}


def _pattern(names: list[str]) -> re.Pattern[str]:
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])({words})(?:s|es)?(?![\w-])", re.IGNORECASE)


def _link(app: Any, doctree: nodes.document, page: str) -> None:
    if page == GLOSSARY or page.startswith("reference/"):
        return
    anchors = terms((Path(app.srcdir) / f"{GLOSSARY}.md").read_text(encoding="utf-8"))
    known = {name.lower(): anchor for name, anchor in anchors.items() if name not in _EVERYDAY}
    pattern, linked = _pattern(list(known)), set[str]()
    target = app.builder.get_relative_uri(page, GLOSSARY)
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, _NOT_IN) or any(isinstance(above, _NOT_IN) for above in _above(text)):
            continue
        parts, at = [], 0
        for found in pattern.finditer(text):
            anchor = known[found[1].lower()]
            if anchor in linked:
                continue
            linked.add(anchor)
            parts += [nodes.Text(text[at : found.start()])]
            parts += [nodes.reference("", found[0], refuri=f"{target}#{anchor}", internal=True, classes=["term"])]
            at = found.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[at:])])


def _above(node: nodes.Node) -> list[nodes.Node]:
    above = []
    while node.parent is not None:
        node = node.parent
        above.append(node)
    return above


def setup(app: Any) -> dict[str, bool]:
    """Take part in a build by Sphinx."""
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
