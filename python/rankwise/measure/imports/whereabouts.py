"""Between whom a foreign file was measured, where a launcher or a program wrote down which rank was where.

Read are Open MPI's job map (``--display map``) and bindings (``--report-bindings``), Intel MPI's table of pins
(``I_MPI_DEBUG=4``), the devices of nccl-tests, and lines that name a rank and its host.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rankwise.machine.hosts import node_name

_NODE = re.compile(r"\s*Data for node:\s+(\S+)")
_PROC = re.compile(r"\s*(?:Data for proc:\s+\[\S+?,(\d{1,9})\]|Process OMPI jobid: .*? Process rank: (\d{1,9}))")
_BINDING = re.compile(r"\s*(?:Binding|.*Bound): (.*)")
_PLACE = re.compile(r"(?:package|socket) ?\[?(\d{1,9})\]?\[ ?core ?:?L?(\d{1,9})")
_REPORTED = re.compile(r"\[([\w.-]+):\d+\] (?:MCW )?[Rr]ank (\d{1,9}) (?:is )?bound to (.*)")
_INTEL = re.compile(r"\[\d+\] MPI startup\(\):\s+(\d{1,9})\s+\d+\s+([\w.-]+)\s+\S.*")
DEVICE = re.compile(r"#\s+Rank\s+(\d+)\s.*\bPid\s+\d+ on\s+(\S+) device\s.*")
_SAID = re.compile(
    r".*\b(?:rank|process|task) (\d{1,9})\b(?: of \d+)? (?:is |runs |running )?on "
    r"(?:host |node |processor )?([A-Za-z][\w.-]*)\b.*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Whereabouts:
    """Where a rank was: its node, and the socket and core that it was bound to (None: not said)."""

    host: str
    socket: int | None = None
    core: int | None = None


def find_ranks(lines: Sequence[str]) -> dict[int, Whereabouts]:
    """Return where each rank was that the lines tell of."""
    found: dict[int, Whereabouts] = {}
    node, rank = "", None
    for line in lines:
        if match := _NODE.match(line):
            node, rank = match[1], None
        elif node and (match := _PROC.match(line)):
            rank = int(match[1] or match[2])
            found[rank] = Whereabouts(node, *_bound(line))
        elif node and rank is not None and (match := _BINDING.fullmatch(line)):
            found[rank] = Whereabouts(node, *_bound(match[1]))
        elif match := _REPORTED.match(line):
            found[int(match[2])] = Whereabouts(match[1], *_bound(match[3]))
        elif (match := _INTEL.fullmatch(line) or DEVICE.fullmatch(line) or _SAID.fullmatch(line)) and len(match[1]) < 10:
            found.setdefault(int(match[1]), Whereabouts(match[2]))
    return found


def _bound(text: str) -> tuple[int | None, int | None]:
    places = _PLACE.findall(text)
    return (int(places[0][0]), int(places[0][1])) if len(places) == 1 else (None, None)


def link_between(ranks: dict[int, Whereabouts], neighbours: bool) -> str | None:
    """Return the link class of the first pair: ranks 0 and 1 (``neighbours``),
    or 0 and the first of the other half; or None."""
    first, second = ranks.get(0), ranks.get(1 if neighbours else max(1, len(ranks) // 2))
    if first is None or second is None:
        return None
    if node_name(first.host) != node_name(second.host):
        return "other-node"
    if first.socket is None or second.socket is None:
        return None
    if first.socket != second.socket:
        return "other-socket"
    return "same-core" if first.core == second.core else "same-socket"
