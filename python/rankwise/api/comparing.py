"""Two profiles side by side; several in one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.api.results import Result, sentence
from rankwise.blocks import NO, UNCLEAR, YES, Block, Column, Next, Sentence, Table, labelled
from rankwise.errors import InputError
from rankwise.machine.compare import Compared as Found
from rankwise.machine.compare import Comparison, in_words
from rankwise.machine.compare import compare as compared
from rankwise.machine.profile import Profile, open_profile
from rankwise.records import computed, key, record
from rankwise.units import format_ends, format_inverse, format_size, format_time, parse_share

if TYPE_CHECKING:
    from rankwise.report.before_after import History


@record
class Compared(Result, rows="comparisons"):
    """How many times as long B takes as A: ``found`` has all of it,
    ``tolerance`` is the share that still counts as the same."""

    a: Path = key("path of profile A")
    b: Path = key("path of profile B")
    tolerance: float = key("share that counts as the same")
    found: Found
    verdict = computed("what was found, in a sentence", str, lambda of: in_words(of.found, of.tolerance))
    outcome = computed("slower, faster, same, unclear or unusable", str, lambda of: of.found.outcome)
    slower = computed("whether B is slower for certain", bool, lambda of: of.outcome == "slower")
    notes = computed("what weakens the figures, in words", list[str], lambda of: of.found.notes)
    comparisons = computed(
        "each figure that both profiles have", "list[rankwise.machine.compare.Comparison]", lambda of: of.found.comparisons
    )

    @property
    def conclusion(self) -> str:
        return sentence(self.verdict)

    def blocks(self, every_size: bool = False) -> Iterator[Block]:
        """Yield what was compared, of the sizes the one that differs most; or (``every_size``) all of them."""
        mark = {"slower": NO, "unclear": UNCLEAR, "unusable": UNCLEAR}.get(self.outcome, YES)
        yield Sentence(self.conclusion, mark=mark)
        farthest: dict[tuple[str, str], Comparison] = {}
        for c in self.found.comparisons:
            if c.size_bytes is not None and _distance(c) > _distance(farthest.setdefault((c.link, c.sending), c)):
                farthest[c.link, c.sending] = c
        shown = [c for c in self.found.comparisons if every_size or c.size_bytes is None or farthest[c.link, c.sending] is c]
        yield Table(_COMPARED, shown, leave=("A", "B"))
        if not every_size:
            yield Sentence("Of the sizes the one that differs most is shown; --all shows every one.")
        yield Sentence("B / A is a ratio of times, for 1/beta too: above 1, B is slower.")
        yield from labelled("note", self.found.notes)
        doctor = [("rankwise doctor", "what disturbs")] if mark != YES else []
        yield Next([*doctor, (f"rankwise report {self.a} {self.b}", "both on one page")])


_FIGURES = {"alpha": "alpha", "beta": "1/beta", "both-ways": "both ways", "message": "a message every"}
_COMPARED: Sequence[Column[Comparison]] = (
    Column("link", "where"),
    Column("mode", "sending"),
    Column("figure", lambda c: _FIGURES.get(c.quantity) or format_size(c.size_bytes or 0)),
    Column("A", lambda c: _figure(c, c.a)),
    Column("B", lambda c: _figure(c, c.b)),
    Column("B / A", "ratio", "{:.3f}".format),
    Column("95 %", lambda c: format_ends(c.ratio_ci, "{:.3f}".format)),
    Column("verdict", "verdict"),
)


def _figure(of: Comparison, value: float) -> str:
    return format_inverse(value) if of.quantity in ("beta", "both-ways") else format_time(value)


def _distance(comparison: Comparison) -> float:
    return abs(log(comparison.ratio))


def compare(a: Path | str, b: Path | str, tolerance: float | str = 0.1) -> Compared:
    """Hold profile B against A: ``tolerance`` as a share, or as in "20%".
    Raises InputError where they have no link in common."""
    share = parse_share(str(tolerance), "--tolerance")
    a, b = Path(a), Path(b)
    return Compared(a, b, share, compared(Profile.load(a), Profile.load(b), share))


@record
class BeforeAfter(Result, rows="comparisons"):
    """Profiles of one machine, the oldest first; the last is held against the first."""

    history: History = key("all of it", inline=True)

    @property
    def conclusion(self) -> str:
        return sentence(in_words(self.history.found, self.history.tolerance))

    def blocks(self) -> Iterator[Block]:
        yield Sentence(self.conclusion)
        yield Table(_COMPARED, self.history.found.comparisons)

    def page(self) -> str:
        """Return the page."""
        from rankwise.report.before_after import render

        return render(self.history)


def before_after(paths: Sequence[Path | str]) -> BeforeAfter:
    """Set profiles side by side, the oldest first. Raises InputError for less than two."""
    from rankwise.report.before_after import History

    if len(paths) < 2:
        alone = paths[0] if paths else "no profile"
        raise InputError(f"{alone} stands alone: give two profiles or more, the oldest first, or --profile {alone}")
    return BeforeAfter(History([(str(path), open_profile(Path(path))) for path in paths]))
