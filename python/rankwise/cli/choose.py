"""``choose exchange``: which exchange is fastest on a machine, why, and from where on another one is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.questions import CHOOSING, Ranks
from rankwise.cli.base import Json, console, flattened, print_json, tell, verb
from rankwise.cli.workloads import GROUPS, ProfileFile
from rankwise.units import format_interval, format_size, format_time
from rankwise.workloads.exchange import ExchangeOptions, names

if TYPE_CHECKING:
    from rankwise.decide.choice import Candidate, Choice

_MOST_SHOWN = 12
_EXAMPLE = """rankwise choose exchange --dims 3 --cutoff 2 --bytes 4096 --ranks 512 --profile machine.json
    rankwise choose --dims 3 --cutoff 2 --bytes 4096 --ranks 512 --profile machine.json --plot map.svg"""


def choose(
    asked: ExchangeOptions,
    ranks: Ranks,
    profile: ProfileFile = Path("machine.json"),
    plot: Annotated[
        Path | None, typer.Option(help="Write a map of sizes and cutoffs, coloured by what is fastest, to this SVG file.")
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


verb("exchange", _EXAMPLE, under=GROUPS["choose"])(
    flattened(choose, ExchangeOptions, without=("team_boxes",), **CHOOSING)
)


def _show(choice: Choice) -> None:
    from rich.table import Table

    if choice.doubt is not None:
        print(f"{choice.doubt}.")
    print(f"{choice.reason}.")
    if choice.auto is not None and choice.auto is not choice.best:
        algorithm = choice.best.case.algorithm
        why = (
            f"{algorithm} is taken by programs that name it"
            if algorithm in names().filling
            else f"{algorithm} fills no window (rankwise_exchange_visit)"
        )
        print(
            f"{why}; of those that 'auto' of the C API takes {choice.auto.name} is fastest: {format_time(choice.auto.time_s)}."
        )
    table = Table("", "algorithm", "mode", "c", "time", "95 % interval", "of it at 0 B", "messages", "sent")
    rows = _rows(choice.candidates)
    for place, (modes, candidate) in enumerate(rows[:_MOST_SHOWN], 1):
        table.add_row(
            str(place),
            candidate.case.algorithm,
            ", ".join(modes),
            str(candidate.case.replication),
            format_time(candidate.time_s),
            format_interval(candidate.interval_s),
            format_time(candidate.empty_s),
            str(candidate.messages_per_rank),
            format_size(candidate.bytes_per_rank),
        )
    console().print(table)
    if (more := len(rows) - _MOST_SHOWN) > 0:
        print(f"and {more} slower ones (--json has them)")
    for axis, what in (("bytes", f"at cutoff {choice.question.cutoff}"),
                       ("cutoff", f"for blocks of {format_size(choice.question.block_bytes)}")):  # fmt: skip
        changes = [crossover for crossover in choice.crossovers if crossover.axis == axis]
        if not changes:
            continue
        text = changes[0].before
        for change in changes:
            where = format_size(change.at) if axis == "bytes" else f"cutoff {change.at}"
            text += f"; from {where} on {change.after}{' (extrapolated)' if change.extrapolated else ''}"
        print(f"fastest {what}: {text}")
    for note in dict.fromkeys(note for candidate in choice.candidates for note in candidate.notes):
        tell(f"note: {note}")


def _rows(candidates: Sequence[Candidate]) -> list[tuple[list[str], Candidate]]:
    """Return the rows of the table: ways of sending that take as long by the same algorithm share one."""
    rows: dict[tuple[str, int, int], tuple[list[str], Candidate]] = {}
    for candidate in candidates:
        key = (candidate.case.algorithm, candidate.case.replication, round(1e12 * candidate.time_s))
        rows.setdefault(key, ([], candidate))[0].append(candidate.case.mode)
    return list(rows.values())
