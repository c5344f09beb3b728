"""The charting library: Vega-Lite specs as static SVG, and the script that makes them live in a page (vl-convert, BSD-3)."""

from __future__ import annotations

import html
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from rankwise.cache import cache_folder
from rankwise.errors import UnusableEnvironmentError

_MARGIN_PX = 12
_END = "\n//whole"


# Draws within addresses of which so many bytes are taken. The engine ends the process where it may not reserve what it wants.
_ATTEMPT = """
import mmap, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
taken = mmap.mmap(-1, int(sys.argv[1]), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0)
import vl_convert
vl_convert.vegalite_to_svg({"data": {"values": [{}]}, "mark": "point"})
"""


@cache
def forbidden() -> str:
    """Return which limit of this process forbids drawing; nothing where none does."""
    limits = {"-v": resource.RLIMIT_AS, "-d": resource.RLIMIT_DATA}
    set_here = {name: soft for name, of in limits.items() if (soft := resource.getrlimit(of)[0]) != resource.RLIM_INFINITY}
    if not set_here:
        return ""
    with open("/proc/self/statm", encoding="ascii") as statm:
        taken = int(statm.read().split()[0]) * resource.getpagesize()
    if subprocess.run([sys.executable, "-c", _ATTEMPT, str(taken)], capture_output=True, check=False).returncode == 0:
        return ""
    return " and ".join(f"'ulimit {name}' of {soft >> 20} MiB" for name, soft in set_here.items()) + " forbids drawing"


def svg_of(spec: Mapping[str, Any], name: str, title: str, description: str) -> str:
    """Draw a Vega-Lite spec as one ``<svg>`` that says what it shows; ``name`` keeps its ids apart from other pictures'.

    Raises UnusableEnvironmentError.
    """
    if forbidden():
        raise UnusableEnvironmentError(f"a picture cannot be drawn, as {forbidden()}: raise it, or leave the picture out")
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
    """Return the library as one script, which puts ``vegaEmbed`` into the window; kept, for making it takes seconds.

    Nothing is returned where it was not kept and cannot be made here.
    """
    from importlib.metadata import version

    import vl_convert

    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        about, text = kept.stat(), kept.read_text(encoding="utf-8")
        # Nobody else may have written what pages run.
        if about.st_uid == os.geteuid() and not about.st_mode & 0o022 and text.endswith(_END):
            return text
    if forbidden():
        return ""
    text = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script") + _END
    with suppress(OSError):  # where it cannot be kept it is made again
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, encoding="utf-8", delete=False) as stream:
            stream.write(text)
        os.replace(stream.name, kept)
    return text
