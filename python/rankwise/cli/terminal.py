"""Terminals that cannot show every sign: ASCII stands in its place, so that nothing fails and figures stay in line."""

from __future__ import annotations

import codecs
import os
import sys

_IN_ASCII = {
    "–": "-", "—": "-", "−": "-", "±": "+-", "µ": "u", "μ": "u", "×": "x", "·": ".", "…": "...", "→": "->", "←": "<-",
    "↔": "<->", "≤": "<=",
    "≥": ">=", "≠": "!=", "≈": "~", "∞": "inf", "✓": "[ok]", "✗": "[x]", "█": "#", "░": ".", "²": "2", "³": "3", "’": "'",
    "“": '"', "”": '"',
}  # fmt: skip


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(sign) or _letter(sign) for sign in signs), error.end


def _letter(sign: str) -> str:
    """Return a letter without its accent; a question mark for what has none."""
    import unicodedata

    return unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"


def fit_streams() -> None:
    """Let stdout and stderr write what their terminal can show; the C locale, named as such, is taken to show ASCII.

    One that is closed is open to nowhere from here on, or the next file that is opened would take its place.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))
    codecs.register_error("rankwise", _in_ascii)
    plain = os.environ.get("LC_ALL") in ("C", "POSIX") and "PYTHONIOENCODING" not in os.environ
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="ascii" if plain else None, errors="rankwise")


def shown(text: str) -> str:
    """Return a text as stdout can show it: click writes past a stream that is set to ASCII."""
    encoding = sys.stdout.encoding or "ascii"
    return text.encode(encoding, "rankwise").decode(encoding)
