"""Rows, comparisons and choices of any workload, as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankwise.api.results import sentence
from rankwise.blocks import Block, Column, Sentence, Table, labelled, line_table
from rankwise.decide.ranking import meet, times_as_long
from rankwise.units import format_interval, format_percent, format_size, format_time, format_volume
from rankwise.workloads.base import Row, Workload
from rankwise.workloads.comparison import speed_change

if TYPE_CHECKING:
    from rankwise.decide.choice import Candidate, Choice, Crossover
    from rankwise.workloads.comparison import Paired, Validation

    _Ways = tuple[list[str], Candidate]  # ways of sending that take as long, and the first of them

_VERIFIED = {True: "verified", False: "WRONG", None: "–"}
_LEAVE = ("checked", "engine", "sent", "messages", "at present speed", "ranks", "c", "noise")
_MOST_SHOWN = 12  # candidates


def row_table(lines: Sequence[dict[str, str]], leave: Sequence[str] = _LEAVE) -> Table[Any]:
    """Return lines of the same columns as a table."""
    return line_table(lines, leave=leave)


def notes_of(rows: Sequence[Row]) -> Iterator[Block]:
    """Yield what weakens some rows, each thing once."""
    return labelled("note", (note for row in rows for note in row.notes))


def line(workload: Workload, row: Row) -> dict[str, str]:
    """Return a row as a line of a table, by column."""
    return {
        "engine": row.engine,
        **row.case.cells(),
        "time": format_time(row.time_s),
        "95 %": format_interval(row.interval_s),
        "messages": "–" if row.messages_per_rank is None else str(row.messages_per_rank),
        "sent": "–" if row.bytes_per_rank is None else format_size(row.bytes_per_rank),
        **workload.columns(row),
        "checked": _VERIFIED[row.verified],
    }


def validation_blocks(validation: Validation) -> Iterator[Block]:
    """Yield prediction beside measurement."""
    # What predictions are held against: real runs, or simulations where nothing runs.
    simulated = all(comparison.measured.engine == "simgrid" for comparison in validation.comparisons)
    held_against = "simulated" if simulated else "measured"
    paired = validation.session is not None
    several = len({comparison.predicted.engine for comparison in validation.comparisons}) > 1
    lines = []
    for comparison in validation.comparisons:
        lines.append({
            **({"by": comparison.predicted.engine} if several or not paired else {}),
            **comparison.case.cells(),
            "ranks": str(comparison.case.ranks),
            **(_model_columns(comparison.paired) if paired else {}),
            "predicted": format_time(comparison.predicted.time_s),
            held_against: format_time(comparison.measured.time_s),
            **({} if paired else {"95 %": format_interval(comparison.measured.interval_s)}),
            "off" if paired else "error": format_percent(comparison.error),
            **{name: _signed(error) for name, error in comparison.phase_errors().items()},
            **({} if paired else {"at present speed": _signed(comparison.error_at_present_speed)}),
            "checked": _VERIFIED[comparison.measured.verified],
        })  # fmt: skip
    yield Sentence(validation.headline())
    yield row_table(lines)
    for name, value in validation.comparisons[0].case.settings().to_dict().items():
        yield Sentence(f"{name}: {value}")
    if paired:
        yield from _paired_blocks(validation)
    summary = validation.summary
    noise = "" if summary.noise_floor is None else f" (a second run differs from the first by {_percent(summary.noise_floor)})"
    of_phases = "".join(f", {name} {_percent(error)}" for name, error in summary.phases.items())
    yield Sentence(
        f"Mean absolute error {_percent(summary.mape)}{of_phases}{noise}, mean error {_percent(summary.bias)}; "
        f"{_percent(summary.share_inside)} of the {'simulations' if simulated else 'measurements'} lie in the predicted "
        "interval."
    )
    if summary.drift is not None and not paired:
        yield Sentence(
            f"A ping-pong now takes {summary.drift:.2f}x its time in the profile; without that, the mean absolute error is "
            f"{_percent(summary.mape_at_present_speed)}."
        )
    speed = summary.paired.drift if paired else summary.drift
    # A verdict on the model says so itself.
    if (changed := speed_change(speed)) is not None and (not paired or summary.paired.unclear):
        yield Sentence(
            f"the machine is {changed} now than when the profile was measured (a ping-pong takes {speed:.2f}x its time): "
            "measure again",
            "note",
        )
    yield from notes_of([comparison.predicted for comparison in validation.comparisons])
    yield from notes_of([comparison.measured for comparison in validation.comparisons])


def _paired_blocks(validation: Validation) -> Iterator[Block]:
    """Yield where the error comes from: the machine's speed, buffers and the cost model."""
    summary = validation.summary.paired
    launches = summary.launches + summary.left_out
    left_out = f" {summary.left_out} of {launches} launches were disturbed and left out." if summary.left_out else ""
    cases = sum(group.rows for group in summary.groups)
    yield Sentence(
        f"The cost model is off by {_percent(summary.error)}; measurement noise is {_percent(summary.floor)}. "
        f"{summary.wrong} of {cases} cases differ by more than twice the noise.{left_out}"
    )
    if summary.drift is not None:
        cold = "" if summary.fresh is None else f"; messages in an exchange, with cold buffers, {summary.fresh:.2f}x that"
        yield Sentence(f"A ping-pong now takes {summary.drift:.2f}x its time in the profile{cold}.")
    if summary.half_width is not None:
        yield Sentence(
            f"{_percent(summary.share_inside)} of the cases lie within ± {_percent(summary.half_width)}, the 95 % interval "
            "from the other algorithms and modes."
        )
    if len(summary.groups) > 1:
        yield Table(_GROUPS, summary.groups)


def _model_columns(paired: Paired | None) -> dict[str, str]:
    if paired is None:
        return {"model error": "–", "noise": "–", "model": "–"}
    return {"model error": _signed(paired.error), "noise": _percent(paired.floor), "model": paired.verdict}


def choice_blocks(choice: Choice) -> Iterator[Block]:
    """Yield which exchange is fastest, why, and where another one takes over."""
    # What anybody can use comes first, unless it was asked which of some others.
    best, usable = choice.best, choice.auto
    if usable is None or choice.question.algorithms:
        usable = best
    if choice.doubt:
        yield Sentence(sentence(choice.doubt))
    yield Sentence(f"{choice.reason_of(usable)}.")  # begins with an id
    if usable is not best:
        yield Sentence(f"Faster {choice.needs}: {best.name}, {format_time(best.time_s)}{choice.met}.")
    elif choice.otherwise:
        yield Sentence(sentence(choice.otherwise))
    grid = "x".join(map(str, choice.question.grid))
    yield Sentence(f"On grid {grid}, cutoff {choice.question.cutoff}, {format_size(choice.question.block_bytes)} a block:")
    rows = _candidate_rows(choice.candidates)

    def ratio(of: _Ways) -> str:
        times = f"{times_as_long(of[1].time_s, best.time_s):.2f}"
        return "best" if of[1] is best else f"{times} ?" if meet(best.interval_s, of[1].interval_s) else times

    columns: Sequence[Column[_Ways]] = (
        Column(
            "algorithm",
            lambda of: of[1].case.algorithm + (f" c={of[1].case.replication}" if of[1].case.replication > 1 else ""),
        ),
        Column("sends", lambda of: ", ".join(of[0])),
        Column("time", lambda of: format_time(of[1].time_s)),
        Column("95 %", lambda of: format_interval(of[1].interval_s)),
        Column("times as long", ratio),
        Column("messages", lambda of: of[1].messages_per_rank),
        Column("of it at 0 B", lambda of: format_time(of[1].empty_s)),
        Column("sent", lambda of: format_size(of[1].bytes_per_rank)),
    )
    shown = rows[:_MOST_SHOWN]
    yield Table(columns, shown, leave=("of it at 0 B", "sent"), bold=lambda of: of[1] is usable)
    if any(meet(best.interval_s, candidate.interval_s) for _, candidate in rows[1:_MOST_SHOWN]):
        yield Sentence("?: the interval overlaps that of the best")
    if (more := len(rows) - _MOST_SHOWN) > 0:
        yield Sentence(f"and {more} slower ones (--json has them)")
    are_placed = False
    for axis, what in (("bytes", f"at cutoff {choice.question.cutoff}"),
                       ("cutoff", f"for blocks of {format_size(choice.question.block_bytes)}")):  # fmt: skip
        found = [crossover for crossover in choice.crossovers if crossover.axis == axis]
        changes = [change for change in found if change.low is not None or change.high is not None]
        if found and not changes:
            yield Sentence(f"fastest {what}: no crossover can be given: the intervals of all algorithms overlap")
        if not changes:
            continue
        text = changes[0].before
        for change in changes:
            where = f"{format_size(change.at) if axis == 'bytes' else f'cutoff {change.at}'}{_band(change)}"
            text += f"; from {where} on {change.after}{' (extrapolated)' if change.extrapolated else ''}"
        yield Sentence(f"fastest {what}: {text}")
        if len(changes) < len(found):
            yield Sentence(f"{len(found) - len(changes)} further crossovers lie where all intervals overlap (--json has them)")
        are_placed = True
    if are_placed:
        yield Sentence("in brackets: where the intervals of the two overlap")
    yield from labelled("note", (note for candidate in choice.candidates for note in candidate.notes))


def _band(change: Crossover) -> str:
    """Say where the intervals of two candidates overlap around the place where one takes over."""
    write = format_volume if change.axis == "bytes" else str
    low, high = (None if end is None else write(end) for end in (change.low, change.high))
    if change.low == change.high == change.at:
        return ""
    return f" (up to {high})" if low is None else f" ({low} or more)" if high is None else f" ({low} to {high})"


def _candidate_rows(candidates: Sequence[Candidate]) -> list[_Ways]:
    """Return the rows of the table: ways of sending that take as long by the same algorithm share one."""
    rows: dict[tuple[str, int, int], _Ways] = {}
    for candidate in candidates:
        key = (candidate.case.algorithm, candidate.case.replication, round(1e12 * candidate.time_s))
        rows.setdefault(key, ([], candidate))[0].append(candidate.case.mode)
    return list(rows.values())


def _signed(fraction: float | None) -> str:
    return "–" if fraction is None else format_percent(fraction)


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.1f} %"


_GROUPS: Sequence[Column[Any]] = (
    Column("algorithm, mode", "group"),
    Column("cases", "rows"),
    Column("model error", "error", _percent),
    Column("noise", "floor", _percent),
    Column("wrong", "wrong"),
)
