"""A recorded program on other numbers of ranks: the curve, its knee and cause, and how many nodes to request."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rankwise import _core
from rankwise.api import what_if
from rankwise.api.projecting import WhatIf
from rankwise.api.results import TRUST, Plot, Result, sentence
from rankwise.blocks import BUT, UNCLEAR, YES, Block, Column, Listing, Next, Sentence, Table, labelled
from rankwise.engines.scaled import Check, Curve, checks, priced
from rankwise.engines.what_if import BOUNDS, WhatIfRow, scaled
from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.observe.operations import NoTemplateError
from rankwise.observe.record import Record, read_record
from rankwise.observe.scaling import Scaling
from rankwise.observe.summary import crowded_host
from rankwise.records import key, record
from rankwise.units import format_count, format_number, format_share, format_time, parse_shape

_MOST_COUNTS = 64
_ALONE = "messages alone: what ranks compute is left out"
_MOST_THREADS = 4  # thousands of ranks take hundreds of megabytes each


@record
class OtherRanks(Result):
    """What becomes of a recorded program's step on other numbers of ranks, ascending."""

    question: WhatIf
    machine: str = key("the machine's name, or the profile's file")
    scaling: str = key("strong: the problem stays; weak: the share of a rank stays")
    recorded: Sequence[int] = key("ranks of the recordings")
    recorded_s: float = key("time of the step on the most recorded ranks, on that machine")
    rows: Sequence[WhatIfRow] = key("one entry a number of ranks")
    checks: Sequence[Check] = key("how well recordings predict each other")
    curve: Curve | None = key("what the curve says; null: weak scaling, or one number of ranks")
    assumptions: Sequence[str] = key("what the answer assumes, in words")
    refused: Sequence[str] = key("numbers of ranks that cannot be answered, and why")
    profile: Profile | None = key(TRUST)

    @property
    def best(self) -> WhatIfRow:
        """The row that the conclusion is about: of the fewest ranks within 10 % of the fastest, else the last."""
        wanted = None if self.curve is None else self.curve.within_10_percent
        return next((row for row in self.rows if row.ranks == wanted), self.rows[-1])

    @property
    def conclusion(self) -> str:
        row = self.best
        told = f"{_place(row)}: {format_time(row.time_s or 0.0)} a step{_span(row)}"
        most = self.recorded[-1]
        if row.time_s and row.ranks != most and not self.is_poor:
            ratio = self.recorded_s / row.time_s
            told += f", {what_if.ratio_words(ratio)} on {most} ranks" if self.scaling == "strong" else (
                f", {format_share(ratio)} of the efficiency on {most} ranks"
            )  # fmt: skip
        if self.curve is not None and self.curve.fastest != row.ranks:
            told += f", within 10 % of the fastest, {format_count(self.curve.fastest, 'rank')}"
        return f"{told}."

    def blocks(self) -> Iterator[Block]:
        mark = YES if not self.refused and not self.is_poor and self.best.span is not None else BUT if self.rows else UNCLEAR
        yield Sentence(self.conclusion, mark=mark)
        counts = " and ".join(map(str, self.recorded))
        yield Sentence(f"Recorded on {counts} ranks. Machine: {self.machine}. {self.scaling.capitalize()} scaling.")
        yield Table(_COLUMNS, self.rows, leave=("nodes", "efficiency", "node-hours"), bold=lambda row: row is self.best)
        yield Listing(list(self._why()))
        yield from labelled("note", dict.fromkeys([*self.assumptions, *(note for row in self.rows for note in row.notes)]))
        yield from labelled("left out", self.refused)
        yield Next(list(self._next()))

    def _why(self) -> Iterator[tuple[str, str]]:
        parts = [f"{BOUNDS[share.what]} {format_share(share.share)}" for share in self.best.shares[:3] if share.share >= 0.005]
        if self.is_poor:
            return
        if parts:
            yield "Why", sentence(f"of the step on {format_count(self.best.ranks, 'rank')}: {', '.join(parts)}")
        if self.curve is not None and self.curve.knee is not None:
            cause = "" if self.curve.cause is None else f", held back by {BOUNDS[self.curve.cause]}"
            yield "Knee", sentence(f"from {self.curve.knee} ranks on twice as many save less than a quarter of the time{cause}")
        if self.checks:
            yield "Checked", sentence("; ".join(one.words for one in self.checks))

    def _next(self) -> Iterator[tuple[str, str]]:
        if len(self.recorded) == 1:
            yield f"rankwise observe -o more.comm -- mpiexec -n {2 * self.recorded[0]} ./app", "a second recording narrows it"
        row = self.best
        yield f"rankwise slurm script --nodes {row.nodes} --tasks-per-node {row.ranks_per_node}", "a job of that size"

    @property
    def table(self) -> Table[WhatIfRow]:
        return Table(_COLUMNS, self.rows, name="rows")

    def plot(self) -> Plot:
        """Draw the time over the number of ranks, with its band."""
        from rankwise.report.what_if_page import Point, curve_picture

        title = "Time of a step by number of ranks"
        points = [
            Point(float(row.ranks), str(row.ranks), row.time_s, *(row.span.ends_s if row.span else (row.time_s, row.time_s)))
            for row in self.rows if row.time_s is not None
        ]  # fmt: skip
        return Plot(curve_picture(points, "ranks", title), [self.conclusion.removesuffix(".")])

    def page(self) -> str:
        """Return the page: the curve and its rows."""
        from rankwise.report.what_if_page import render

        told = [words for _, words in self._why()]
        origin = f"recorded on {' and '.join(map(str, self.recorded))} ranks · {self.machine}"
        return render(what_if.page_of(self, self.best, told, origin, self._next()), self.plot().chart, self.best, self.table)


_COLUMNS: Sequence[Column[WhatIfRow]] = (
    Column("ranks", "ranks"),
    Column("nodes", "nodes"),
    Column("grid", lambda row: None if row.grid is None else "x".join(map(str, row.grid)), key="grid"),
    *what_if.OF_STEPS,
    Column("node-hours", "node_hours", format_number),
)


def _place(row: WhatIfRow) -> str:
    return f"{format_count(row.ranks, 'rank')} on {format_count(row.nodes, 'node')}"


def _span(row: WhatIfRow) -> str:
    return "" if row.span is None else f" ({' to '.join(map(format_time, row.span.ends_s))})"


def counts_of(text: str) -> list[int]:
    """Read numbers of ranks: ``64``, ``12,18,24``, or ``16:1024``, each twice the one before. Raises InputError."""
    found: set[int] = set()
    for part in text.split(","):
        ends = part.split(":")
        if not 1 <= len(ends) <= 2 or not all(end.strip().isdecimal() and len(end.strip()) < 10 for end in ends):
            raise InputError(f"--ranks '{text}' is no number of ranks: write it as 64, 12,18,24 or 16:1024")
        first, last = int(ends[0]), int(ends[-1])
        if first < 2 or last < first:
            raise InputError(f"--ranks '{part}' is out of range: write numbers from 2 on, of a range the smaller one first")
        found.update(count for turn in range(40) if (count := first << turn) <= last)
        found.add(last)
    if len(found) > _MOST_COUNTS:
        raise InputError(f"--ranks '{text}' has {len(found)} numbers: ask for at most {_MOST_COUNTS}")
    return sorted(found)


def other_ranks(question: WhatIf) -> OtherRanks:
    """Say how long the step of a recorded program takes on other numbers of ranks. Raises InputError, and NoTemplateError where
    what ranks do cannot be carried over."""
    records: list[Record] = [read_record(path) for path in question.records]
    for path, found in zip(question.records, records, strict=True):
        if question.compute and (crowded := crowded_host(found)) is not None:
            host, ranks, cores = crowded
            raise InputError(
                f"{path}: {ranks} ranks shared {cores} cores of {host}, so what they compute was not measured: "
                "give --no-compute, or record with a core for each rank"
            )
    grid = None if question.grid is None else tuple(parse_shape(question.grid, "--grid"))
    scaling = Scaling.of(records, question.scaling == "weak", grid, question.compute)
    on, name, profile = what_if.machine_of(question)
    there = what_if.with_machine(on, scaled(on.machine, *what_if.factors_of(question, on.machine)))
    base = scaling.base
    each = question.ranks_per_node or int(
        np.bincount(base.record.node_of_rank[base.record.node_of_rank >= 0], minlength=1).max()
    )

    def where(ranks: int) -> _core.Placement:
        return what_if.blocked(ranks, max(1, each), profile, there)

    counts = counts_of(question.ranks or "")
    if grid is not None and math.prod(grid) not in counts:
        raise InputError(
            f"--grid {question.grid} is of {math.prod(grid)} ranks, which --ranks {question.ranks} does not ask for: give "
            f"the grid that the program has on {counts[-1]}"
        )
    count = base.steps.in_run(float(base.record.header.get("seconds", 0.0))) if question.compute else None
    tried = checks(scaling, where, there)
    what_if.require_nodes(question, counts[-1], -(-counts[-1] // max(1, each)))

    def answered(ranks: int) -> WhatIfRow | str:
        try:
            return priced(scaling, ranks, where, there, tried, count)
        except NoTemplateError as error:
            return f"{ranks} ranks: {error}"

    with ThreadPoolExecutor(min(_MOST_THREADS, len(os.sched_getaffinity(0)))) as pool:
        answers = list(pool.map(answered, counts[::-1]))[::-1]  # those that take longest first
    rows = [answer for answer in answers if not isinstance(answer, str)]
    refused = [answer for answer in answers if isinstance(answer, str)]
    if not rows:
        raise NoTemplateError(refused[0])
    return OtherRanks(
        question, name, question.scaling, [one.ranks for one in scaling.recordings],
        priced(scaling, base.ranks, where, there).time_s or 0.0, rows, tried,
        None if profile is not None and profile.trust.is_poor else Curve.of(rows, scaling.weak),
        [*what_if.assumed(base.record, question), *(() if question.compute else [_ALONE])], refused, profile,
    )  # fmt: skip
