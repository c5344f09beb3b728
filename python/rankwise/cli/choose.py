"""``choose exchange``: which exchange is fastest on a machine, why, and from where on another one is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.questions import CHOOSING, Ranks
from rankwise.cli.base import Json, flattened, print_json, tell, verb, writable
from rankwise.cli.table import Table
from rankwise.cli.workloads import GROUPS, ProfileFile
from rankwise.units import format_interval, format_size, format_time, format_volume
from rankwise.workloads.exchange import ExchangeOptions

if TYPE_CHECKING:
    from rankwise.decide.choice import Candidate, Choice, Crossover

_MOST_SHOWN = 12
_EXAMPLE = """rankwise choose exchange --dims 3 --cutoff 2 --bytes 4096 --ranks 512 --profile machine.json
    rankwise choose --dims 3 --cutoff 2 --bytes 4096 --ranks 512 --profile machine.json --plot map.svg"""


def choose(
    asked: ExchangeOptions,
    ranks: Ranks,
    profile: ProfileFile = Path("machine.json"),
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write a map of sizes and cutoffs, coloured by what is fastest, to this SVG file.", callback=writable
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank all ways to exchange with neighbours, say which term decides, and where another way takes over.

    Without --ranks the grid has 64 ranks. Teams of team-shift have 2, 4 and 8 ranks where they fit unless --replication
    says otherwise. 'auto' of the C API makes the same decision from the same profile. 'rankwise choose stencil', 'choose
    alltoall' and 'choose fft3d' choose for the other workloads.
    """
    from rankwise.api.asking import Chosen
    from rankwise.api.asking import choose as ask

    found = ask(asked, profile, ranks)
    assert isinstance(found, Chosen)
    if plot is not None:
        from rankwise.files import write_whole

        write_whole(plot, found.plot().svg())
        tell(f"map of sizes and cutoffs written to {plot}")
    if as_json:
        print_json(found.to_dict())
    else:
        _show(found.choice)


verb("exchange", _EXAMPLE, under=GROUPS["choose"])(flattened(choose, ExchangeOptions, without=("team_boxes",), **CHOOSING))


def _show(choice: Choice) -> None:
    from rankwise.api.results import sentence
    from rankwise.decide.ranking import meet, times_as_long

    # What anybody can use comes first, unless it was asked which of some others.
    best, usable = choice.best, choice.auto
    if usable is None or choice.question.algorithms:
        usable = best
    print(*([sentence(choice.doubt)] if choice.doubt else []), f"{choice.reason_of(usable)}.", sep="\n")  # begins with an id
    if usable is not best:
        print(f"Faster {choice.needs}: {best.name}, {format_time(best.time_s)}{choice.met}.")
    elif choice.otherwise:
        print(sentence(choice.otherwise))
    grid = "x".join(map(str, choice.question.grid))
    print(f"On grid {grid}, cutoff {choice.question.cutoff}, {format_size(choice.question.block_bytes)} a block:")
    heads = ("algorithm", "sends", "time", "95 %", "times as long", "messages", "of it at 0 B", "sent")
    table = Table(*heads, leave=("of it at 0 B", "sent"))
    rows = _rows(choice.candidates)
    for modes, candidate in rows[:_MOST_SHOWN]:
        ratio = f"{times_as_long(candidate.time_s, best.time_s):.2f}"
        table.add_row(
            candidate.case.algorithm + (f" c={candidate.case.replication}" if candidate.case.replication > 1 else ""),
            ", ".join(modes),
            format_time(candidate.time_s),
            format_interval(candidate.interval_s),
            "best" if candidate is best else f"{ratio} ?" if meet(best.interval_s, candidate.interval_s) else ratio,
            str(candidate.messages_per_rank),
            format_time(candidate.empty_s),
            format_size(candidate.bytes_per_rank),
            bold=candidate is usable,
        )
    table.show()
    if any(meet(best.interval_s, candidate.interval_s) for _, candidate in rows[1:_MOST_SHOWN]):
        print("?: cannot be told apart from the best with this profile")
    if (more := len(rows) - _MOST_SHOWN) > 0:
        print(f"and {more} slower ones (--json has them)")
    are_placed = False
    for axis, what in (("bytes", f"at cutoff {choice.question.cutoff}"),
                       ("cutoff", f"for blocks of {format_size(choice.question.block_bytes)}")):  # fmt: skip
        found = [crossover for crossover in choice.crossovers if crossover.axis == axis]
        changes = [change for change in found if change.low is not None or change.high is not None]
        if found and not changes:
            print(f"fastest {what}: no border can be placed, for with this profile no two neighbours can be told apart")
        if not changes:
            continue
        text = changes[0].before
        for change in changes:
            where = f"{format_size(change.at) if axis == 'bytes' else f'cutoff {change.at}'}{_band(change)}"
            text += f"; from {where} on {change.after}{' (extrapolated)' if change.extrapolated else ''}"
        print(f"fastest {what}: {text}")
        if len(changes) < len(found):
            print(f"and {len(found) - len(changes)} borders between ways that cannot be told apart anywhere (--json has them)")
        are_placed = True
    if are_placed:
        print("in brackets: where the two cannot be told apart with this profile")
    for note in dict.fromkeys(note for candidate in choice.candidates for note in candidate.notes):
        tell(f"note: {note}")


def _band(change: Crossover) -> str:
    """Say where two candidates cannot be told apart around the place where one takes over."""
    write = format_volume if change.axis == "bytes" else str
    low, high = (None if end is None else write(end) for end in (change.low, change.high))
    if change.low == change.high == change.at:
        return ""
    return f" (up to {high})" if low is None else f" ({low} or more)" if high is None else f" ({low} to {high})"


def _rows(candidates: Sequence[Candidate]) -> list[tuple[list[str], Candidate]]:
    """Return the rows of the table: ways of sending that take as long by the same algorithm share one."""
    rows: dict[tuple[str, int, int], tuple[list[str], Candidate]] = {}
    for candidate in candidates:
        key = (candidate.case.algorithm, candidate.case.replication, round(1e12 * candidate.time_s))
        rows.setdefault(key, ([], candidate))[0].append(candidate.case.mode)
    return list(rows.values())
