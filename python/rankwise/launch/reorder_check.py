"""Whether a program is safe under reordering, by test runs: twice as it is, once with its ranks in the cells of others.

A program that uses ranks of the Cartesian communicator in another one hangs then, fails, or prints other figures. What it
prints alike in both plain runs (times differ) it must print in the third.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rankwise.launch.process import Child

SAFE, UNSAFE, UNCLEAR = "safe", "unsafe", "unclear"
_LEAST_S, _TIMES_LONGER = 20.0, 10.0
_NOTHING_S = 1e6


@dataclass(frozen=True)
class Finding:
    """What the runs show, in words."""

    verdict: str
    why: str


@dataclass(frozen=True)
class _Run:
    code: int | None  # None: it was still running when its time was up
    lines: Counter[str]
    seconds: float
    told: str  # the last line on stderr


def check_reordering(command: Sequence[str], plain: Mapping[str, str], reordered: Mapping[str, str]) -> Finding:
    """Run a command in both environments and compare what it does. Raises UnusableEnvironmentError where it cannot start."""
    first = _run(command, plain, _NOTHING_S)
    if first.code != 0:
        return Finding(UNCLEAR, f"the program fails as it is (exit code {first.code}): {first.told}")
    again = _run(command, plain, _NOTHING_S)
    limit_s = max(_LEAST_S, _TIMES_LONGER * max(first.seconds, again.seconds))
    moved = _run(command, reordered, limit_s)
    if moved.code != 0:
        return _unsafe(moved, limit_s)
    if " placed" not in moved.told or " 0 placed" in moved.told or "nothing was placed" in moved.told:
        return Finding(UNCLEAR, f"no rank was moved: {moved.told.removeprefix('rankwise: ') or 'the library was not heard'}")
    alike = first.lines & again.lines
    if not alike:
        return Finding(
            UNCLEAR, "the program ends well with its ranks moved, but prints nothing alike in two plain runs to compare by"
        )
    if missing := alike - moved.lines:
        return Finding(
            UNSAFE, f"with its ranks moved it does not print '{next(iter(missing))[:80].strip()}' as it does in plain runs"
        )
    return Finding(SAFE, f"with its ranks moved it ends well and prints the same {alike.total()} lines as in plain runs")


def _unsafe(moved: _Run, limit_s: float) -> Finding:
    if moved.code is None:
        return Finding(
            UNSAFE, f"with its ranks moved it had not ended after {limit_s:.0f} s, ten times as long as in plain runs"
        )
    return Finding(UNSAFE, f"with its ranks moved it fails (exit code {moved.code}): {moved.told}")


def _run(command: Sequence[str], environment: Mapping[str, str], limit_s: float) -> _Run:
    begun_s = time.monotonic()
    lines: Counter[str] = Counter()

    def out_of_time(quiet_s: float) -> None:
        if time.monotonic() - begun_s > limit_s:
            raise TimeoutError

    with Child(command, environment) as child:
        try:
            lines.update(line for line in child.lines(_NOTHING_S, out_of_time) if line.strip())
        except TimeoutError:
            return _Run(None, lines, limit_s, "")
        code = child.wait()
        parts = child.complaint().split(" / ")
        told = next((part for part in parts if part.startswith("rankwise: ") and "warning:" not in part), child.error_line())
        return _Run(code, lines, time.monotonic() - begun_s, told)
