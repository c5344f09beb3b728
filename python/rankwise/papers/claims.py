"""What a paper says, sentence by sentence, held against figures.

A claim is data: where the paper says it, a few words of it, which figures it allows, and the function that finds ours in the
paper's tables or computes it::

    Claim("Table 1", "constant up to 16 B", exactly(16), lambda of: constant_up_to(of.one), "up to {:.0f} B")

Its verdict follows: reproduced where our figure is one of those, differs where it is not. What the paper leaves to future work
allows ANY figure and is done here. A claim without a function says why no figure can be given.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rankwise.blocks import Column, Lines, Table
from rankwise.records import Record, computed, key, record
from rankwise.report.reproduction import Section

Data = TypeVar("Data", contravariant=True)
Judged = TypeVar("Judged")
Allowed = tuple[float, float]
Found = float | tuple[float, str]  # the figure that decides, and what else is to be said of it

REPRODUCED, DIFFERS, CANNOT, DONE = "reproduced", "differs", "cannot be done", "done here"
ANY: Allowed = (-math.inf, math.inf)
NONE: Allowed = (0, 0)  # of what is counted against a sentence
_SCREEN, _WIDTH = 22, 80  # lines and columns of a terminal, less the lines that say what to do next
ROUNDED = 0.15  # by which an "up to" that was rounded may miss the largest figure


def exactly(value: float) -> Allowed:
    return value, value


def about(value: float, share: float = 0.05) -> Allowed:
    """Allow what is off by at most so large a share."""
    return min(value * (1 - share), value * (1 + share)), max(value * (1 - share), value * (1 + share))


def up_to(value: float) -> Allowed:
    return about(value, ROUNDED)


def at_most(value: float) -> Allowed:
    return -math.inf, value


def at_least(value: float) -> Allowed:
    return value, math.inf


def above(value: float) -> Allowed:
    return math.nextafter(value, math.inf), math.inf


def below(value: float) -> Allowed:
    return -math.inf, math.nextafter(value, -math.inf)


@record
class Verdict(Record):
    """A sentence of a paper, held against figures."""

    where: str = key("section, equation, table or figure of the paper")
    says: str = key("what the paper says, in few words")
    command: str = key("command that gives the figures; empty: none does")
    figures: str = key("what the paper's tables or ours give, or why nothing can be given")
    ours: float | None = key("the figure that decides; null: none can be given")
    low: float | None = key("least figure that the sentence allows; null: any")
    high: float | None = key("largest figure that the sentence allows; null: any")

    @property
    def holds(self) -> bool | None:
        """Whether the sentence is so; None: nothing can be said of it, or it leaves something to future work."""
        if self.ours is None or (self.low is None and self.high is None):
            return None
        return (self.low is None or self.low <= self.ours) and (self.high is None or self.ours <= self.high)

    verdict = computed(
        "reproduced, differs, done here (future work of the paper) or cannot be done", str,
        lambda of: CANNOT if of.ours is None else {True: REPRODUCED, False: DIFFERS, None: DONE}[of.holds],
    )  # fmt: skip


@dataclass(frozen=True)
class Claim(Generic[Data]):
    """A sentence: ``ours`` finds the figure that decides; ``show`` (a format or a function) writes it; what is said of it
    stands as ``{words}`` or behind it.

    ``command``: what gives the figure, where it is not the paper's own.
    """

    where: str
    says: str
    allowed: Allowed
    ours: Callable[[Data], Found] | None
    show: str | Callable[[float], str] = "{:.3g}"
    command: str = ""

    def judged(self, data: Data, command: str) -> Verdict:
        """Hold it against data."""
        if self.ours is None:
            return Verdict(self.where, self.says, "", str(self.show), None, None, None)
        found = self.ours(data)
        value, words = found if isinstance(found, tuple) else (found, "")
        shown = self.show.format(value, words=words) if isinstance(self.show, str) else self.show(value)
        shown += f": {words}" if words and "{words}" not in str(self.show) else ""
        low, high = (None if math.isinf(end) else float(end) for end in self.allowed)
        return Verdict(self.where, self.says, self.command or command, shown, float(value), low, high)


def cannot(where: str, says: str, why: str) -> Claim[object]:
    """Return a sentence that no figure can be held against."""
    return Claim(where, says, ANY, None, why)


def judge(claims: Sequence[Claim[Data]], data: Data, command: str) -> list[Verdict]:
    """Hold the sentences of a paper against its data."""
    return [claim.judged(data, command) for claim in claims]


def counted(against: Sequence[object]) -> tuple[float, str]:
    """Return how many there are, and which."""
    return len(against), ", ".join(map(str, against))


@dataclass(frozen=True)
class Tally(Generic[Judged]):
    """Claims of one kind; ``whether`` is the name of what says whether one holds (None: nothing can be said of it)."""

    every: Sequence[Judged]
    whether: str = "holds"

    def _of(self, *outcomes: bool) -> list[Judged]:
        return [claim for claim in self.every if getattr(claim, self.whether) in outcomes]

    @property
    def claims(self) -> list[Judged]:
        """Those that something can be said of."""
        return self._of(True, False)

    @property
    def wrong(self) -> list[Judged]:
        return self._of(False)

    @property
    def held(self) -> int:
        return len(self._of(True))

    def __str__(self) -> str:
        return f"{self.held} of {len(self.claims)}"


def summary(verdicts: Sequence[Verdict]) -> str:
    """Say how many sentences hold."""
    told, kinds = Tally(verdicts), [verdict.verdict for verdict in verdicts]
    rest = {CANNOT: "cannot be computed", DONE: "of future work, done here"}
    more = (f"; {kinds.count(kind)} {words}" for kind, words in rest.items() if kind in kinds)
    return f"{told} sentences with a figure hold{''.join(more)}."


def in_order(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return them, those first that do not hold."""
    return sorted(verdicts, key=lambda verdict: (DIFFERS, REPRODUCED, DONE, CANNOT).index(verdict.verdict))


def screen(verdicts: Sequence[Verdict], answer: Sequence[str]) -> Lines:
    """Return what a screen has room for: how many sentences hold, those that do not, then what matters most."""
    lines = _wrapped(summary(verdicts))
    wrong = Tally(verdicts).wrong
    for i, one in enumerate(wrong):
        more = _wrapped(f"✗ {one.where}: {one.says}. Here {one.figures.partition(': ')[0]}.")
        if len(lines) + len(more) > _SCREEN - 1:
            lines.append(f"✗ {len(wrong) - i} more do not hold: all are on the page (-o FOLDER)")
            break
        lines += more
    for sentence in answer:
        more = _wrapped(sentence)
        if len(lines) + len(more) > _SCREEN:
            break
        lines += more
    return Lines(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


COLUMNS: Sequence[Column[Verdict]] = (
    Column("where", "where"),
    Column("the paper says", "says"),
    Column("verdict", "verdict"),
    Column("figures", "figures"),
    Column(None, "ours"),
    Column(None, "low"),
    Column(None, "high"),
    Column(None, "command"),
)


def claims_section(verdicts: Sequence[Verdict]) -> Section:
    """The part of the page: every sentence, those that do not hold first."""
    table = Table(
        COLUMNS, in_order(verdicts), name="claims", caption="Every sentence with a figure, a comparison or a behaviour."
    )
    return Section.of("claims", "What the paper says", summary(verdicts), table)
