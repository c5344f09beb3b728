"""What every reader of a foreign file gives, and the strict reading of numbers and rows that they share.

Between whom a foreign file was measured, where a launcher or a program wrote down which rank was where.

Read are Open MPI's job map (``--display map``) and bindings (``--report-bindings``), Intel MPI's table of pins
(``I_MPI_DEBUG=4``), the devices of nccl-tests, and lines that name a rank and its host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise.errors import InputError
from rankwise.machine.hosts import node_name
from rankwise.machine.link import LEAST_SIZES, Point
from rankwise.machine.profile import Imported

SEND = "send"
_DECIMAL = re.compile(r"(\d{1,15})\.(\d{1,12})")
_SIZE = re.compile(r"\d{1,15}")
_NONE = "(?!)"  # a pattern of no line


@dataclass(frozen=True)
class Table:
    """One table of a foreign file.

    ``keeps_as`` is ``send`` for a ping-pong, the name of a variant for what is no ping-pong but has a place in a
    profile; ``what`` says in words what was counted; ``line`` is where the table's header stands.
    """

    path: Path
    line: int
    program: str
    keeps_as: str
    what: str
    statistic: str
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()
    link: str | None = None  # where the file itself says it
    told: str | None = None  # the link class that follows from where a launcher says that the ranks were

    def to_dict(self, link: str) -> dict[str, Any]:
        """Return where the table came from; ``link`` is its link class where the file does not say it."""
        name, place = self.path.name, self.link or link
        return Imported(name, self.line, self.program, place, self.keeps_as, self.statistic).to_dict()


@dataclass(frozen=True)
class Printed:
    """A number as it was printed: the true value lies within half a unit of its last decimal."""

    value: float
    half_step: float

    @property
    def low(self) -> float:
        return max(0.0, self.value - self.half_step)

    @property
    def high(self) -> float:
        return self.value + self.half_step


class Column:
    """A column of printed decimals. All have as many decimals: one with fewer was cut off."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._decimals: int | None = None

    def read(self, text: str, where: str) -> Printed:
        """Return a cell's number. Raises InputError."""
        match = _DECIMAL.fullmatch(text)
        if match is None:
            raise InputError(f"{where}: {self.name} '{text}' is not a number as the benchmark prints it: {RERUN}")
        if self._decimals not in (None, len(match[2])):
            raise InputError(
                f"{where}: {self.name} '{text}' has {len(match[2])} decimals, the rows above {self._decimals}: the line "
                f"is cut off or edited: {RERUN}"
            )
        self._decimals = len(match[2])
        return Printed(float(text), 0.5 * 10.0**-self._decimals)


RERUN = "correct the line, or write the file again"


class Rows:
    """Collects the rows of one table; their sizes must ascend."""

    def __init__(self) -> None:
        self._points: list[Point] = []

    def add(self, size_bytes: int, time_s: float, low_s: float | None, high_s: float | None, samples: int, where: str) -> None:
        """Add a row, without ends where the file says nothing of the spread:
        how finely it prints is none. Raises InputError."""
        if time_s <= 0:
            raise InputError(f"{where}: the time at {size_bytes} B is not above 0: {RERUN}")
        if self._points and size_bytes <= self._points[-1].size_bytes:
            how = "stands there twice" if size_bytes == self._points[-1].size_bytes else "is out of order"
            raise InputError(f"{where}: size {size_bytes} B {how}: is the file edited, or two runs in one? {RERUN}")
        self._points.append(Point(size_bytes, time_s, low_s, high_s, samples))

    def finish(self, where: str, least: int = LEAST_SIZES) -> tuple[Point, ...]:
        """Return all rows. Raises InputError for too few."""
        if len(self._points) < least:
            raise InputError(f"{where}: the table has {len(self._points)} size(s), at least {least} are needed: {RERUN}")
        return tuple(self._points)


def read_size(text: str, where: str) -> int:
    """Return a size in bytes as benchmarks print it. Raises InputError."""
    if _SIZE.fullmatch(text) is None:
        raise InputError(f"{where}: size '{text}' is not a number of bytes: {RERUN}")
    return int(text)


def read_count(text: str, what: str, where: str) -> int:
    """Return how many ranks, pairs, groups or messages there are. Raises InputError."""
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{where}: {what} '{text:.40}' is not a number: {RERUN}")
    return int(text)


def is_other_text(line: str) -> bool:
    """Tell whether a line inside a table is a launcher's word rather than a damaged row.

    A row starts with its size and ends with a decimal number; what does either is held to be a row.
    """
    words = line.split()
    return not (words[0][0].isdecimal() or words[0][0] in "+-." or _DECIMAL.search(words[-1]))


def have(lines: Sequence[str], signs: Sequence[re.Pattern[str]]) -> bool:
    """Tell whether one of the lines is one by which a program's output is recognised."""
    return any(sign.fullmatch(line.strip()) for line in lines for sign in signs)


class Lines:
    """The lines of a file, read one after the other: what stands above a table, and its rows."""

    def __init__(self, path: Path, lines: Sequence[str]) -> None:
        self.path, self.number = path, 0  # of the line that was read last, from 1
        self._lines = [line.strip() for line in lines]

    def __iter__(self) -> Iterator[str]:
        while self.number < len(self._lines):
            self.number += 1
            yield self._lines[self.number - 1]

    def at(self, number: int) -> str:
        """Name the file and a line of it."""
        return f"{self.path}, line {number}"

    @property
    def where(self) -> str:
        """The file, and the line that was read last."""
        return self.at(self.number)

    @property
    def below(self) -> Iterator[str]:
        """The lines that are still to be read, without empty ones."""
        return filter(None, self._lines[self.number :])

    def note(self, words: str) -> str:
        """Say something of the line that was read last."""
        return f"{self.path.name}, line {self.number}: {words}"

    def rows(
        self, columns: int, notes: list[str], is_other: Callable[[str], bool] = is_other_text, empty: str = _NONE,
        units: str = _NONE,
    ) -> Iterator[list[str]]:  # fmt: skip
        """Yield the cells of each row of a table, up to a line of ``#`` other than ``units``. Other text is noted, and rows
        without a figure: they begin like ``empty``, whose group is the reason.

        Raises InputError for a row that has not so many columns.
        """
        skipped: list[int] = []
        for line in self:
            if line.startswith("#") and not re.match(units, line):
                self.number -= 1
                break
            if not line or line.startswith("#"):
                continue
            if without := re.match(empty, line, re.IGNORECASE):
                notes.append(self.note(f"no figure at {line.split()[0]} B ({without[1]}): row left out"))
            elif is_other(line):
                skipped.append(self.number)
            elif len(cells := line.split()) == columns:
                yield cells
            else:
                raise InputError(
                    f"{self.where}: {len(cells)} columns where the header has {columns}: the line is cut off, or two programs "
                    f"wrote into it: {RERUN}"
                )
        if skipped:
            notes.append(f"{self.path.name}, line {skipped[0]}: {len(skipped)} line(s) of other text inside the table skipped")

    def missing(self, what: str) -> InputError:
        """Return the complaint about a table that is not there."""
        return InputError(f"{self.at(len(self._lines))}: the file ends before {what} begins: {RERUN}")


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
