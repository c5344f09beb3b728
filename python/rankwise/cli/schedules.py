"""``exchange show`` prints a schedule, ``exchange check`` proves one."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwise.api.schedules import DEFAULTS, PROVED, prove, schedule
from rankwise.cli.base import Json, flattened, group, show, tell, verb
from rankwise.errors import EXIT_FAILURE
from rankwise.workloads.exchange import ExchangeOptions

exchange_verbs = group(
    "exchange",
    "Print or prove the message schedule of an algorithm.",
    "rankwise exchange show --algorithm shift --dims 1x8 --cutoff 2",
)

RanksPerNode = Annotated[int | None, typer.Option(help="Ranks on each node, in order, for algorithms that know nodes.")]


def show_schedule(
    asked: ExchangeOptions,
    ranks_per_node: RanksPerNode = None,
    rank: Annotated[int, typer.Option("--rank", help="Whose steps to print.")] = 0,
    as_json: Json = False,
) -> None:
    """Print what one rank does, step by step, and how many messages and bytes every rank sends.

    Offsets say which blocks travel, seen from the rank; after [n] stands for an operation that waits for the n-th of
    its step.
    """
    show(schedule(asked, rank, ranks_per_node), as_json)


verb("show", "rankwise exchange show --algorithm shift --dims 1x8 --cutoff 2", under=exchange_verbs)(
    flattened(show_schedule, ExchangeOptions, **DEFAULTS)
)


def check(asked: ExchangeOptions, ranks_per_node: RanksPerNode = None, as_json: Json = False) -> None:
    """Prove schedules: every block arrives exactly once, there and back, and no ranks wait for each other for ever.

    Exit code 1 when a schedule is wrong, with what is missing or who waits for whom.
    """
    found = prove(asked, ranks_per_node)
    show(found, as_json)
    if found.wrong:
        tell(f"rankwise: {found.wrong} of {len(found.findings)} schedules are wrong")
        raise typer.Exit(EXIT_FAILURE)


verb("check", "rankwise exchange check --algorithm all --mode all --dims 4x3 --cutoff 1:3", under=exchange_verbs)(
    flattened(check, ExchangeOptions, without=("size",), **PROVED)
)
