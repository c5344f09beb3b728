"""``exchange show`` prints a schedule, ``exchange check`` proves one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.schedules import DEFAULTS, PROVED
from rankwise.cli.base import Json, flattened, group, print_json, tell, verb
from rankwise.errors import EXIT_FAILURE
from rankwise.units import format_size
from rankwise.workloads.exchange import ExchangeCase, ExchangeOptions

if TYPE_CHECKING:
    from rankwise import _core

exchange_verbs = group("exchange", "Look at the schedules of a neighbour exchange: printed, counted, proved.")

RanksPerNode = Annotated[int | None, typer.Option(help="Ranks on each node, in order, for algorithms that know nodes.")]


def show(
    asked: ExchangeOptions,
    ranks_per_node: RanksPerNode = None,
    rank: Annotated[int, typer.Option("--rank", help="Whose steps to print.")] = 0,
    as_json: Json = False,
) -> None:
    """Print what one rank does, step by step, and how many messages and bytes every rank sends.

    Offsets say which blocks travel, seen from the rank; after [n] stands for an operation that waits for the n-th of
    its step.
    """
    from rankwise.api.schedules import schedule

    found = schedule(asked, rank, ranks_per_node)
    if as_json:
        print_json(found.to_dict())
        return
    case, parts = found.case, found.parts
    print(f"{case.algorithm}, {case.mode}, grid {'x'.join(map(str, case.grid))}, {case.ranks} ranks: what rank {rank} does")
    for name, part in parts.items():
        if len(parts) > 1:
            print("import:" if name == "import" else "way back, what arrives is added:")
        for number, step in enumerate(part):
            for i, op in enumerate(step):
                head = f"step {number}:" if i == 0 else ""
                print(f"  {head:9s} {f'[{i}] ' if any(o.after for o in step) else ''}{_line(op, case)}")
        if not any(part):
            print("  nothing")
    for count in found.counts:
        whose = f"each of {count['ranks']} ranks" if count["ranks"] > 1 else "1 rank"
        print(
            f"{whose} sends {count['messages']} messages, {count['blocks']} blocks, "
            f"{format_size(count['bytes'])} with blocks of {format_size(case.message_bytes)}"
        )


verb("show", "rankwise exchange show --algorithm shift --dims 1x8 --cutoff 2", under=exchange_verbs)(
    flattened(show, ExchangeOptions, **DEFAULTS)
)


def check(asked: ExchangeOptions, ranks_per_node: RanksPerNode = None, as_json: Json = False) -> None:
    """Prove schedules: every block arrives exactly once, there and back, and no ranks wait for each other for ever.

    Exit code 1 when a schedule is wrong, with what is missing or who waits for whom.
    """
    from rankwise.api.schedules import prove

    found = prove(asked, ranks_per_node)
    if as_json:
        print_json(found.to_dict())
    else:
        for case, findings in found.findings:
            title = f"{case.algorithm} {case.mode} {case.shell} k={case.cutoff} c={case.replication}"
            print(f"{title}: {'right' if not findings else 'WRONG'}")
            for finding in findings:
                print(f"  {finding}")
    if found.wrong:
        tell(f"rankwise: {found.wrong} of {len(found.findings)} schedules are wrong")
        raise typer.Exit(EXIT_FAILURE)


verb("check", "rankwise exchange check --algorithm all --mode all --dims 4x3 --cutoff 1:3", under=exchange_verbs)(
    flattened(check, ExchangeOptions, without=("size",), **PROVED)
)


def _line(op: _core.Operation, case: ExchangeCase) -> str:
    what = {
        "send": f"send to {op.peer}", "recv": f"receive from {op.peer}", "copy": "copy to", "visit": "interact with",
    }[op.kind]  # fmt: skip
    if case.algorithm == "team-shift":
        blocks = "blocks of " + ", ".join(_ranges(op.origins))
        if op.kind == "visit":
            blocks += f", team at offset {_coordinates(op.offsets[0])}"
    else:
        offsets = list(_stretches(op))
        passing = [origin for origin, offset in zip(op.origins, op.offsets, strict=True) if not offset]
        blocks = "offsets " + ", ".join(offsets) if offsets else ""
        if passing:
            blocks += f"{' and ' if blocks else ''}blocks of {', '.join(_ranges(passing))}, passed on"
    after = f" after {', '.join(f'[{i}]' for i in op.after)}" if op.after else ""
    return f"{what}: {blocks}{after}"


def _stretches(op: _core.Operation) -> Iterator[str]:
    """Yield each range of slots of the window as its first and last offset."""
    at = 0
    for _, count in op.slots:
        offsets = [offset for offset in op.offsets[at : at + count] if offset]
        if offsets:
            first, last = offsets[0], offsets[-1]
            yield _coordinates(first) if len(offsets) == 1 else f"{_coordinates(first)} to {_coordinates(last)}"
        at += count


def _ranges(values: Sequence[int]) -> Iterator[str]:
    start = 0
    for i in range(1, len(values) + 1):
        if i < len(values) and values[i] == values[i - 1] + 1:
            continue
        yield str(values[start]) if i - start == 1 else f"{values[start]}–{values[i - 1]}"
        start = i


def _coordinates(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"({','.join(map(str, values))})"
