"""Two observed runs of a program compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rankwise.api.results import Result
from rankwise.blocks import NO, UNCLEAR, YES, Block, Column, Next, Sentence, Table
from rankwise.errors import InputError
from rankwise.records import computed, key, record
from rankwise.units import format_number, format_percent, format_time

if TYPE_CHECKING:
    from rankwise.advise.evidence import Evidence
    from rankwise.observe.changes import Ratio, RunChange

_SITES, _RANKS = 6, 4  # on a screen
_MARKS = {"slower": NO, "unclear": UNCLEAR}


@record
class ComparedRuns(Result):
    """What changed from run A to run B."""

    _rows: ClassVar[str] = "changes"
    a: Path = key("record of run A")
    b: Path = key("record of run B")
    verdict: str = key("slower, faster, same or unclear: of B's step")
    why: str | None = key("why it is unclear; null: it is not, or by the interval")
    of: Ratio = key("how many times as long a step of B takes", inline=True)
    changes: list[RunChange] = key(
        "times of both runs: of the step, then of its parts, call sites and ranks, the largest change first"
    )
    step_a_s = computed("median step of run A; null: no step was found", "float | None", lambda of: of.step_s("a_s"))
    step_b_s = computed("median step of run B", "float | None", lambda of: of.step_s("b_s"))

    def step_s(self, run: str) -> float | None:
        """Return the time of a run's step."""
        return next((float(getattr(one, run)) for one in self.changes if one.of == "step"), None)

    @property
    def conclusion(self) -> str:
        step_a_s, step_b_s = self.step_a_s, self.step_b_s
        if (
            self.of.ratio is None
            or self.of.ratio_lo is None
            or self.of.ratio_hi is None
            or step_a_s is None
            or step_b_s is None
        ):
            return f"Unclear: {self.why}."
        ends = f"{format_number(self.of.ratio_lo)}–{format_number(self.of.ratio_hi)}"
        of_a = f"{format_number(self.of.ratio)} times ({ends}) the {format_time(step_a_s)} of A"
        times = f"a step takes {format_time(step_b_s)}, {of_a}"
        unclear = f" {self.why[:1].upper()}{self.why[1:]}." if self.why else ""
        if step_a_s == step_b_s:
            times = f"a step takes {format_time(step_b_s)} in both"
        said = {"unclear": "Unclear", "same": "B is as fast as A"}.get(self.verdict, f"B is {self.verdict}")
        return f"{said}: {times}.{unclear}"

    def blocks(self) -> Iterator[Block]:
        yield Sentence(self.conclusion, mark=_MARKS.get(self.verdict, YES))
        yield Sentence(f"A: {self.a}. B: {self.b}. Interval: scatter of steps within each run, not from run to run.")
        most = {"step": 1, "part": 3, "site": _SITES, "rank": _RANKS}
        rows = [one for of, count in most.items() for one in [each for each in self.changes if each.of == of][:count]]
        yield Table(_CHANGES, rows)
        yield Sentence(
            "Of a step, the mean over ranks; of a rank: its time outside MPI. Sites and ranks: those that change most."
        )
        yield Next([(f"rankwise observe show {self.b}", "where its time goes")])


_CHANGES: tuple[Column[RunChange], ...] = (
    Column("of", "of"), Column("what", "what"), Column("A", "a_s", format_time), Column("B", "b_s", format_time),
    Column("B less A", lambda row: row.b_s - row.a_s, format_time),
    Column("change", lambda row: row.b_s / row.a_s - 1 if row.a_s > 0 else None, format_percent),
)  # fmt: skip


def compare_runs(a: Path | str, b: Path | str) -> ComparedRuns:
    """Say what changed from one observed run of a program to another. Raises InputError."""
    from rankwise.api.observing import load_record
    from rankwise.observe.changes import changed, ratio_of

    one, other = (load_record(path).evidence for path in (a, b))
    if one.record.ranks != other.record.ranks:
        raise InputError(f"{a} has {one.record.ranks} ranks and {b} {other.record.ranks}: observe the program with as many")
    ratio = ratio_of(one.steps, other.steps)
    changes = (
        [] if one.steps is None or other.steps is None else changed("step", {"median": one.time_s}, {"median": other.time_s})
    )
    for of, times in (("part", _parts_s), ("site", _sites_s), ("rank", _ranks_s)):
        changes += changed(of, times(one), times(other)) if one.steps is not None and other.steps is not None else []
    why = one.crowded or other.crowded
    if ratio.ratio is None:
        why = "a run has no step that repeats on all ranks, or few"
    return ComparedRuns(Path(a), Path(b), "unclear" if why else ratio.verdict, why, ratio, changes)


def _parts_s(evidence: Evidence) -> dict[str, float]:
    shares = evidence.shares
    parts = {"compute": shares.computing_s, "transfer and other MPI": shares.moving_s, "wait": shares.waiting_s}
    return {name: float(part.mean()) for name, part in parts.items()}


def _sites_s(evidence: Evidence) -> dict[str, float]:
    from rankwise.observe.changes import site_times_s

    return {} if evidence.steps is None else site_times_s(evidence.record, evidence.steps, evidence.events)


def _ranks_s(evidence: Evidence) -> dict[str, float]:
    return {f"rank {rank}": float(compute_s) for rank, compute_s in enumerate(evidence.shares.computing_s)}
