"""A program that runs, or hangs: which rank waits where, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rankwise.api.results import Result
from rankwise.blocks import BUT, NO, YES, Block, Column, Next, Sentence, Table
from rankwise.records import key, record
from rankwise.units import format_count, format_ranges, format_time

if TYPE_CHECKING:
    from rankwise.observe.live import Hang, LiveRank


@record
class Live(Result):
    """Where the ranks of a program are at this moment."""

    _rows: ClassVar[str] = "ranks"
    path: Path = key("record that is going to be written")
    seconds: float = key("time since MPI_Init when a rank last looked")
    deadlock: Hang | None = key("ranks that wait for ever; null: none was found")
    ranks: list[LiveRank] = key("each rank")

    @property
    def conclusion(self) -> str:
        if self.deadlock is not None:
            return f"Deadlock: {self.deadlock.why}."
        waiting = [one for one in self.ranks if one.state == "waits"]
        if not waiting:
            return "No rank has waited in MPI for half a second."
        longest = max(waiting, key=lambda one: one.seconds)
        longest_s = format_time(longest.seconds)
        return f"{len(waiting)} of {format_count(len(self.ranks), 'rank')} wait in MPI, rank {longest.rank} for {longest_s}."

    def blocks(self) -> Iterator[Block]:
        is_waiting = any(one.state == "waits" for one in self.ranks)
        yield Sentence(self.conclusion, mark=NO if self.deadlock is not None else BUT if is_waiting else YES)
        yield Sentence(
            f"Live: {format_count(len(self.ranks), 'rank')}, {format_time(self.seconds)} after MPI_Init ({self.path})."
        )
        yield Table(_OF_GROUPS, _groups(self.ranks))
        yield Next([(f"rankwise observe show --live {self.path}", "again")])


Group = tuple["list[LiveRank]", float]  # ranks that are at one place, and the longest time there


def _groups(ranks: list[LiveRank]) -> list[Group]:
    """Return the ranks by what they do, those that wait longest first."""
    found: dict[tuple[str | None, ...], list[LiveRank]] = {}
    for one in ranks:
        found.setdefault((one.state, one.call, one.text, one.whom), []).append(one)
    return sorted(((group, max(one.seconds for one in group)) for group in found.values()), key=lambda of: -of[1])


_OF_GROUPS: tuple[Column[Group], ...] = (
    Column("ranks", lambda of: format_ranges(one.rank for one in of[0])),
    Column("in", lambda of: of[0][0].call or of[0][0].state),
    Column("for", lambda of: format_time(of[1]) if of[1] else None), Column("where", lambda of: of[0][0].text or None),
    Column("waits", lambda of: of[0][0].whom or None),
)  # fmt: skip


def live(path: Path | str = Path("observed.comm")) -> Live:
    """Say where the ranks of a program are that 'rankwise observe -o PATH' has started. Raises InputError where none runs."""
    from rankwise.observe.live import hang_of, live_ranks

    ranks, ran_s = live_ranks(Path(path))
    return Live(Path(path), ran_s, hang_of(ranks), ranks)
