"""``rankwise fit``: every link model from raw samples, tested on sizes that it has not seen, and one chosen."""

from __future__ import annotations

from rankwise.api.profiles import Fitting
from rankwise.cli.base import Json, show, tell, verb


@verb("fit", "rankwise fit machine.samples.jsonl --statistic smallest-20 -o machine.json")
def fit(asked: Fitting, as_json: Json = False) -> None:
    """Fit all link models to raw samples, with 95 % intervals, and choose what predicts by its error on sizes not seen.

    Everything is recomputed from the samples: of each kind of campaign in the file the newest is taken. With auto the table
    itself predicts, joined smoothly, unless a model does better on ranges of sizes that it has not seen.
    """
    from rankwise.api.profiles import fit as ask

    found = ask(asked)
    for line in found.profile.warnings:
        tell(f"warning: {line}")
    tell(f"profile {found.path}: {found.profile.trust.line()}")
    show(found, as_json)
