"""``rankwise measure all-pairs`` and ``rankwise doctor --nodes``: streams between all nodes, and which are slow."""

from __future__ import annotations

import shlex
from pathlib import Path

from rankwise.api.all_pairs import Streams, StreamTimes
from rankwise.cli.base import print_json, tell
from rankwise.errors import InputError
from rankwise.units import format_size, format_time


def show_streams(found: StreamTimes, as_json: bool) -> None:
    """Print what each size took between all pairs of nodes; what is slow is the doctor's to say."""
    if as_json:
        print_json(found.to_dict())
    else:
        print(found.conclusion)
        for row in found.records():
            size, middle = row["size_bytes"], row["median_s"]
            rate = f", {size / middle / 1e6:.4g} MB/s" if size > 8192 else ""
            print(f"{format_size(size)}, {row['messages']} in a stream: each takes {format_time(middle)}{rate} one way "
                  f"between most, {format_time(row['p05_s'])} to {format_time(row['p95_s'])} between 90 % of the "
                  "pairs")  # fmt: skip
    tell(f"samples: {found.samples}; next: rankwise doctor --nodes --from {shlex.quote(str(found.samples))}")


def doctor_nodes(asked: Streams, present: Path | None, plot: Path | None, as_json: bool) -> int:
    """Name slow nodes, directions and pairs, measured now or (``present``) kept in a file; return the exit code."""
    from rankwise.api.slow_nodes import slow_nodes

    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise InputError(f"--plot {plot} is no picture that can be drawn: give it the ending .svg or .html")
    found = slow_nodes(asked, present)
    if plot is not None:
        found.plot().save(plot)
        tell(f"picture: {plot}")
    if as_json:
        print_json(found.to_dict())
    else:
        print("\n".join(found.words))
    return found.exit_code
