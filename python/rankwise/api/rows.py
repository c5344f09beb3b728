"""Rows, comparisons and choices of any workload, as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rankwise.api.results import sentence
from rankwise.blocks import BUT, NO, UNCLEAR, YES, Block, Column, Listing, Next, Sentence, Table, labelled
from rankwise.decide.ranking import NOTHING_SENT, meet, times_as_long
from rankwise.units import format_interval, format_percent, format_size, format_time, format_volume
from rankwise.workloads.base import Row, Workload
from rankwise.workloads.comparison import speed_change

if TYPE_CHECKING:
    from rankwise.decide.choice import Candidate, Choice, Crossover
    from rankwise.workloads.comparison import Paired, Validation

    _Modes = tuple[list[str], Candidate]  # modes that take as long, and the first of them

_VERIFIED = {True: "verified", False: "WRONG", None: "–"}
_LEAVE = ("checked", "source", "sent", "messages", "at present speed", "ranks", "c", "noise")
MOST_CROSSOVERS = 5  # on a screen


def row_table(lines: Sequence[dict[str, str]], leave: Sequence[str] = _LEAVE) -> Table[Any]:
    """Return lines of the same columns as a table."""
    return Table([Column(head, itemgetter(head), key=head) for head in lines[0]], lines, leave=leave)


def notes_of(rows: Sequence[Row]) -> Iterator[Block]:
    """Yield what weakens some rows, each thing once."""
    return labelled("note", (note for row in rows for note in row.notes))


def line(workload: Workload, row: Row) -> dict[str, str]:
    """Return a row as a line of a table, by column."""
    return {
        **row.case.cells(),
        "time": format_time(row.time_s),
        "95 %": format_interval(row.interval_s),
        "messages": "–" if row.messages_per_rank is None else str(row.messages_per_rank),
        "sent": "–" if not row.bytes_per_rank else format_size(row.bytes_per_rank),
        **workload.columns(row),
        "source": row.engine,
        "checked": _VERIFIED[row.verified],
    }


def validation_blocks(validation: Validation) -> Iterator[Block]:
    """Yield predictions with measurements."""
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
    yield Sentence(validation.headline(), mark=_mark(validation))
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


def _mark(validation: Validation) -> str:
    """Return whether predictions hold: not where cases are wrong, unknown where launches were disturbed."""
    session = validation.session
    if any(comparison.measured.verified is False for comparison in validation.comparisons):
        return NO
    if session is None:
        return ""
    if session.unclear or not session.rows:
        return UNCLEAR
    return BUT if session.wrong or speed_change(session.drift) is not None else YES


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
    # What anybody can use comes first, unless it was asked which of some others, or nothing is advised.
    best, usable = choice.best, choice.auto
    if usable is None or choice.question.algorithms or choice.doubt:
        usable = best
    if choice.doubt:
        yield Sentence(sentence(choice.doubt), mark=UNCLEAR)
    elif not usable.time_s:
        yield Sentence(sentence(NOTHING_SENT), mark=YES)
    else:
        yield Sentence(f"Use {usable.name}: {format_time(usable.time_s)} ({format_interval(usable.interval_s)}).", mark=YES)
    rows = _candidate_rows(choice.candidates)
    needs_more = [one for one in choice.candidates if one.time_s < usable.time_s and not one.auto]

    def ratio(of: _Modes) -> str:
        times = f"{times_as_long(of[1].time_s, usable.time_s):.2f}"
        return "best" if of[1] is usable else f"{times} ~" if meet(usable.interval_s, of[1].interval_s) else times

    columns: Sequence[Column[_Modes]] = (
        Column(
            "algorithm",
            lambda of: (
                of[1].case.algorithm
                + (f" c={of[1].case.replication}" if of[1].case.replication > 1 else "")
                + " *" * (of[1] in needs_more)
            ),
        ),
        Column("mode", lambda of: ", ".join(of[0])),
        Column("time", lambda of: format_time(of[1].time_s)),
        Column("95 %", lambda of: format_interval(of[1].interval_s)),
        Column("x best", ratio),
        Column("messages", lambda of: of[1].messages_per_rank),
        Column("latency part", lambda of: format_time(of[1].empty_s)),
        Column("sent", lambda of: format_size(of[1].bytes_per_rank)),
    )
    yield Table(columns, rows, leave=("latency part", "sent"), bold=lambda of: of[1] is usable)
    question = choice.question
    grid = "x".join(map(str, question.grid))
    yield Sentence(
        f"grid {grid}, cutoff {question.cutoff}, {format_size(question.block_bytes)} a block; ~: overlaps the best's interval"
        + "; *: see Also" * bool(needs_more)
    )
    told = [] if choice.doubt or not usable.time_s else [("Why", f"{choice.reason_of(usable)}.")]  # begins with an id
    if usable is not best and not choice.doubt:
        told.append(("Also", f"{best.name} takes {format_time(best.time_s)} {choice.needs}{choice.met}."))
    if not choice.doubt:
        yield Listing([*told, *_crossovers(choice)])
    yield from labelled("note", (note for candidate in choice.candidates for note in candidate.notes))
    asked = f"--dims {grid} --cutoff {question.cutoff} --bytes {question.block_bytes} {choice.trust.option}"
    yield Next([(f"rankwise validate choose {asked}".rstrip(), "run them all")])


def _crossovers(choice: Choice) -> Iterator[tuple[str, str]]:
    """Yield which candidate is fastest up to which size and cutoff: crossovers around which the intervals part again."""
    for axis, name in (("bytes", "Size"), ("cutoff", "Cutoff")):
        sure = [one for one in choice.crossovers
                if one.axis == axis and one.low is not None and one.high is not None and not one.extrapolated]  # fmt: skip
        if sure:
            parts = [f"{one.before} up to {_at(one)}" for one in sure[:MOST_CROSSOVERS]]
            parts += [f"{sure[-1].after} above" if len(sure) <= MOST_CROSSOVERS else "others above (--json)"]
            yield name, "; ".join(parts) + "."


def _at(crossover: Crossover) -> str:
    """Write between which sizes or cutoffs another candidate takes over."""
    write = format_volume if crossover.axis == "bytes" else str
    low, high = (write(end or 0) for end in (crossover.low, crossover.high))
    return low if low == high else f"{low} to {high}"


def _candidate_rows(candidates: Sequence[Candidate]) -> list[_Modes]:
    """Return the rows of the table: modes that take as long by the same algorithm share one."""
    rows: dict[tuple[str, int, int], _Modes] = {}
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
