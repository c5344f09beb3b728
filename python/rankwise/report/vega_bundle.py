"""Vega, Vega-Lite and Vega-Embed (BSD-3) as one script, which vl-convert holds: python vega_bundle.py FILE writes it.

Builds do that, so that pages need no engine of JavaScript where rankwise is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path


def bundle() -> str:
    """Return the script, which puts ``vegaEmbed`` into the window; making it takes seconds. Raises ImportError."""
    import vl_convert

    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(bundle(), encoding="utf-8")
