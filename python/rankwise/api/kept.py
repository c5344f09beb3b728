"""What is kept between commands: predictions and how far they have held, and what can be made again (the cache)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise import cache
from rankwise.api.results import Result
from rankwise.blocks import Block, Column, Sentence, Table
from rankwise.errors import InputError
from rankwise.progress import tell
from rankwise.records import computed, key, record
from rankwise.units import format_size, format_volume

if TYPE_CHECKING:
    from rankwise.engines.ledger import Held


@record
class Ledger(Result):
    """How predictions held: ``groups`` by what they are grouped by, of all together first."""

    schema = computed("version of this document", int, lambda of: 1)
    path: Path = key("path of the ledger", name="ledger")
    groups: Mapping[str, Sequence[Held]] = key(
        "how predictions held, of all together first", kind="list[Held]", get=lambda of: of.records(), after="damaged"
    )
    damaged: Sequence[int] = key("numbers of lines that are no records and were left out", default=(), name="damaged_lines")

    def records(self) -> list[dict[str, Any]]:
        return [one.to_dict() for ones in self.groups.values() for one in ones]

    def blocks(self) -> Iterator[Block]:
        whole = next(iter(self.groups.values()))[0]
        inside = "" if whole.inside is None else f"; {whole.inside:.0%} of {whole.with_interval} lay within their interval"
        regret = (
            ""
            if whole.regret is None
            else f"; choosing by them lost {whole.regret:.1%} in the mean of {whole.questions} questions"
        )
        yield Sentence(f"{whole.predictions} predictions were off by {whole.median_error:.1%} in the median{inside}{regret}.")
        for name, ones in self.groups.items():
            group = Column["Held"](name, "group", _size if name == "size" else str)
            yield Table([group, *_HELD], ones[1:], leave=("questions", "predictions"))


_HELD: Sequence[Column[Held]] = (
    Column("predictions", "predictions"),
    Column("median error", "median_error", "{:.1%}".format),
    Column("inside the interval", "inside", "{:.0%}".format),
    Column("mean regret", "regret", "{:.1%}".format),
    Column("questions", "questions"),
)


def _size(group: str) -> str:
    return format_size(int(group)) if re.fullmatch(r"\d{1,18}", group, re.ASCII) else group


def ledger(path: Path | str | None = None, by: Sequence[str] = ("algorithm", "mode", "size", "machine")) -> Ledger:
    """Read a ledger (None: what RANKWISE_LEDGER names) and group what it holds. Raises InputError."""
    from rankwise.engines.ledger import BY, FILE, held, read

    named = path or os.environ.get(FILE)
    if not named:
        raise InputError(f"no predictions are logged: export {FILE}=ledger.jsonl, then predict or validate; or name the file")
    for name in by:
        if name not in BY:
            raise InputError(f"--by '{name}' is unknown: choose one of {', '.join(BY)}")
    pairs, damaged = read(Path(named))
    if damaged:
        lines = f"line {damaged[0]}" if len(damaged) == 1 else f"{len(damaged)} lines, the first line {damaged[0]}"
        tell(f"warning: ledger {named}: left out what is no record of a ledger: {lines}")
    if not pairs:
        raise InputError(
            f"ledger {named} has no prediction with its outcome: 'rankwise validate' makes some, or 'predict' and 'simulate' "
            "of the same cases by the same profile"
        )
    return Ledger(Path(named), {name: held(pairs, name) for name in by}, tuple(damaged))


@record
class Cached(Result):
    """What lies in the cache, or lay there before it was ``cleared``."""

    schema = computed("version of this document", int, lambda of: 1)
    folder = computed("the folder in which it lies", Path, lambda of: cache.cache_folder(), name="cache")
    entries: Sequence[cache.Kept] = key("what lies there, the largest first", after="size_bytes")
    cleared: bool = key("whether these entries were removed", after="folder")
    size_bytes = computed(
        "size of all that lies there", int, lambda of: sum(entry.size_bytes for entry in of.entries), after="cleared"
    )

    def blocks(self) -> Iterator[Block]:
        entries = f"{len(self.entries)} entr{'y' if len(self.entries) == 1 else 'ies'} of {format_volume(self.size_bytes)}"
        yield Sentence(f"{entries} {'removed from' if self.cleared else 'in'} {cache.cache_folder()}.")
        stale = sum(entry.stale for entry in self.entries)
        if stale and not self.cleared:
            yield Sentence(f"{stale} of them {'is' if stale == 1 else 'are'} stale: 'rankwise cache --stale' removes them.")
        if self.entries:
            yield Table(_ENTRIES, self.entries, leave=("days unused", "size"))


_ENTRIES: Sequence[Column[cache.Kept]] = (
    Column("what", "kind"),
    Column("for", "about"),
    Column("size", "size_bytes", format_volume),
    Column("stale", lambda entry: "yes" if entry.stale else "", key="stale"),
    Column("days unused", "unused_s", lambda unused_s: f"{unused_s / 86400:.1f}"),
)
