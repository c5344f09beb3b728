"""Blocks as HTML, for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from rankwise.blocks import Block, Lines, Listing, Next, Picture, Sentence, Table
from rankwise.errors import UnusableEnvironmentError

_MOST_ROWS = 40  # of a table in a notebook


def html(blocks: Iterable[Block]) -> str:
    """Return blocks as HTML; the first sentence stands out, as it is the answer."""
    parts, answered = [], False
    for block in blocks:
        if isinstance(block, Sentence):
            text = escape(str(block))
            bold = not answered and not block.label
            parts.append(f"<p><b>{text}</b></p>" if bold else f"<p>{text}</p>" if text else "")
            answered |= bold
        elif isinstance(block, Lines):
            parts.append(f"<pre>{escape(chr(10).join(block.lines))}</pre>")
        elif isinstance(block, Listing):
            items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in block.items)
            parts.append(f"<dl>{items}</dl>")
        elif isinstance(block, Next):
            parts.append("".join(f"<p><code>{escape(command)}</code> {escape(what)}</p>" for command, what in block.commands))
        elif isinstance(block, Picture):
            parts.append(f"<figure>{_drawn(block)}<figcaption>{escape(block.caption)}</figcaption></figure>")
        else:
            parts.append(_table(block))
    return "".join(parts)


def _drawn(picture: Picture) -> str:
    try:
        return str(picture.draw().file())
    except UnusableEnvironmentError as error:
        return f"<p>{escape(str(error))}</p>"


def _table(table: Table[Any]) -> str:
    head = "".join(f"<th>{escape(head)}</th>" for head in table.heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.texts[:_MOST_ROWS])
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    more = f"<p>and {len(table.items) - _MOST_ROWS} more rows</p>" if len(table.items) > _MOST_ROWS else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
