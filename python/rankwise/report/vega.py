"""The charting library: the script that draws Vega-Lite specs in pages, and static SVG by vl-convert, an extra."""

from __future__ import annotations

import html
import re
import resource
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rankwise.errors import UnusableEnvironmentError, memory_limits
from rankwise.report.vega_bundle import bundle

SCRIPT = Path(__file__).parent / "templates" / "vega.js"  # of the build
_MARGIN_PX = 12


# Draws within addresses of which so many bytes are taken. The engine ends the process where it may not reserve what it wants.
_ATTEMPT = """
import mmap, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
taken = mmap.mmap(-1, int(sys.argv[1]), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0)
import vl_convert
vl_convert.vegalite_to_svg({"data": {"values": [{}]}, "mark": "point"})
"""


@cache
def unable() -> str:
    """Return why no static picture can be drawn here, and what to do; nothing where it can."""
    if find_spec("vl_convert") is None:
        return "vl-convert is not installed: pip install 'rankwise[pictures]'"
    if not (limits := memory_limits()):
        return ""
    with open("/proc/self/statm", encoding="ascii") as statm:
        taken = int(statm.read().split()[0]) * resource.getpagesize()
    if subprocess.run([sys.executable, "-c", _ATTEMPT, str(taken)], capture_output=True, check=False).returncode == 0:
        return ""
    return f"{limits} forbids drawing: raise it"


def svg_of(spec: Mapping[str, Any], name: str, title: str, description: str) -> str:
    """Draw a Vega-Lite spec as one ``<svg>`` that says what it shows; ``name`` keeps its ids apart from other pictures'.

    Raises UnusableEnvironmentError.
    """
    if unable():
        raise UnusableEnvironmentError(f"a picture cannot be drawn, as {unable()}, or write a page (.html)")
    import vl_convert

    text = vl_convert.vegalite_to_svg(dict(spec), allowed_base_urls=[])
    attributes, body = text[: text.index(">")], text[text.index(">") + 1 : text.rindex("</svg>")]
    width, height = (re.search(rf'\b{side}="([\d.]+)"', attributes) for side in ("width", "height"))
    assert width is not None and height is not None
    # Groups of plots begin with empty paths for frames that are not drawn.
    body = re.sub(
        r'<path class="(?:background|foreground)"[^>]*(?:d=""|d="M0(?:\.5)?,0(?:\.5)?h0v0h0Z")[^>]*/?>(?:</path>)?', "", body
    )
    body = re.sub(r' (?:aria-\w+|role|class|pointer-events|display)="[^"]*"', "", body)
    # The library counts on from picture to picture: here ids follow each other from 0.
    known = {old: f"{name}-{number}" for number, old in enumerate(dict.fromkeys(re.findall(r' id="([\w.-]+)"', body)))}
    body = re.sub(r'( id="|url\(#|href="#)([\w.-]+)', lambda found: found[1] + known.get(found[2], found[2]), body)
    # The reader's font may be wider than the one that was measured.
    box = f"-{_MARGIN_PX} 0 {float(width[1]) + 2 * _MARGIN_PX:g} {height[1]}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'width="{float(width[1]) + 2 * _MARGIN_PX:g}" height="{height[1]}" viewBox="{box}">'
        f'<title id="{name}-title">{html.escape(title)}</title><desc id="{name}-desc">{html.escape(description)}</desc>'
        f"{body}</svg>"
    )


@cache
def script() -> str:
    """Return the library as one script, which puts ``vegaEmbed`` into the window: the build's, or made here, where that is not
    there (a tree that was not built); nothing where it cannot be."""
    if SCRIPT.is_file():
        return SCRIPT.read_text(encoding="utf-8")
    return "" if unable() else bundle()
