"""``rankwise try``: a program under two placements by turns, and how sure the gain is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.advising import Trying, trial_words
from rankwise.cli.base import Json, print_json, verb
from rankwise.units import format_percent, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.trial.judgement import Judgement
    from rankwise.trial.session import Trial


@verb(
    "try",
    example="""
    rankwise try app.comm -- mpiexec -n 16 ./app
    rankwise try app.comm --hosts "n[1-4]" --pairs 16 -- mpirun -n 16 ./app
    """,
)
def try_placements(
    observed: Annotated[Path, typer.Argument(help="What 'rankwise observe' recorded of the program.")],
    command: Annotated[list[str], typer.Argument(help="The command, after --: a launcher and the program.")],
    asked: Trying,
    as_json: Json = False,
) -> None:
    """Run a program as it was placed and as it should be, by turns, until it is known which is faster.

    Runs come in pairs, in random order; after 10, 16, 24 and 40 pairs the ratio of times and its interval are looked at, such
    that at most one in twenty trials of equal placements claims a difference. Both placements are told to the launcher by the
    same words, and ranks are asked where they are. "no gain" and "cannot tell" are answers; the exit code is 0 for all of them.
    """
    from rankwise.api.advising import try_placements

    found = try_placements(observed, command, asked)
    if as_json:
        print_json(found.to_dict())
    elif found.trial is not None and found.judgement is not None:
        _show(found.trial, found.judgement)
    else:
        print(found.why)


def _show(trial: Trial, judgement: Judgement) -> None:
    print(trial_words(trial, judgement))
    record = trial.to_dict(judgement)
    for way, links in zip(record["placements"], record["link_bytes"], strict=True):
        counted, promised = links["counted"], links["promised"]
        sent = "the cards' counters are not known" if counted is None else f"{format_volume(counted)} counted on the links"
        if counted is not None and promised:
            sent += f", {format_volume(promised)} promised ({format_percent(counted / promised - 1)})"
        print(f"  {way['name']:10} {format_time(way['time_s'])} a run; {sent}")
    found = judgement.could_find
    finds = (
        f"so many find {100 * found:.2g} % in nine of ten trials" if math.isfinite(found) else "so few find no gain for sure"
    )
    print(f"These pairs scatter by {100 * judgement.scatter:.2g} %: {finds}.")
    if judgement.verdict == "faster":
        print(f"Keep it: {record['placements'][1]['command']}")
