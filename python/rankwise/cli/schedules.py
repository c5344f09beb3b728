"""``exchange show`` prints a schedule, ``exchange check`` proves one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.base import Json, flattened, group, print_json, tell, verb
from rankwise.errors import EXIT_FAILURE, InputError
from rankwise.units import format_size
from rankwise.workloads.base import Site
from rankwise.workloads.exchange import WORKLOAD, ExchangeCase, ExchangeOptions, names

if TYPE_CHECKING:
    from rankwise import _core

exchange_verbs = group("exchange", "Look at the schedules of a neighbour exchange: printed, counted, proved.")

_RANKS = 1  # without --ranks: a shape says them
_DEFAULTS = {"mode": "isend", "dims": "1x8", "cutoff": "1"}
_COUNTED_RANKS = 20_000
_PROVED_SLOTS = 50_000_000


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
    case = _one(WORKLOAD.cases(asked, Site("show", _RANKS)))
    if not 0 <= rank < case.ranks:
        raise InputError(f"--rank {rank} does not exist: the {case.ranks} ranks count from 0")
    exchange = _schedules(case, ranks_per_node)
    parts = {"import": exchange.steps(rank, False)}
    if exchange.includes_reduce:
        parts["reduce"] = exchange.steps(rank, True)
    counts = _counts(exchange, rank, case)
    if as_json:
        steps = {name: [[_operation(op) for op in step] for step in part] for name, part in parts.items()}
        print_json({**case.keys(), "rank": rank, **steps, "counts": counts})
        return
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
    for count in counts:
        whose = f"each of {count['ranks']} ranks" if count["ranks"] > 1 else "1 rank"
        print(
            f"{whose} sends {count['messages']} messages, {count['blocks']} blocks, "
            f"{format_size(count['bytes'])} with blocks of {format_size(case.message_bytes)}"
        )


verb("show", "rankwise exchange show --algorithm shift --dims 1x8 --cutoff 2", under=exchange_verbs)(
    flattened(show, ExchangeOptions, **_DEFAULTS)
)


def check(asked: ExchangeOptions, ranks_per_node: RanksPerNode = None, as_json: Json = False) -> None:
    """Prove schedules: every block arrives exactly once, there and back, and no ranks wait for each other for ever.

    Exit code 1 when a schedule is wrong, with what is missing or who waits for whom.
    """
    cases = WORKLOAD.cases(replace(asked, size="0"), Site("check", _RANKS, shares_nodes=ranks_per_node is not None))
    results = []
    for case in cases:
        _require_provable(case)
        findings = _schedules(case, ranks_per_node).check()
        results.append({**case.keys(), "findings": findings})
        if as_json:
            continue
        title = f"{case.algorithm} {case.mode} {case.shell} k={case.cutoff} c={case.replication}"
        print(f"{title}: {'right' if not findings else 'WRONG'}")
        for finding in findings:
            print(f"  {finding}")
    if as_json:
        print_json({"rows": results})
    wrong = sum(bool(result["findings"]) for result in results)
    if wrong:
        tell(f"rankwise: {wrong} of {len(results)} schedules are wrong")
        raise typer.Exit(EXIT_FAILURE)


verb("check", "rankwise exchange check --algorithm all --mode all --dims 4x3 --cutoff 1:3", under=exchange_verbs)(
    flattened(check, ExchangeOptions, without=("size",), **{**_DEFAULTS, "algorithm": "all", "mode": "all"})
)


def _schedules(case: ExchangeCase, ranks_per_node: int | None) -> _core.Exchange:
    """Return the schedules of a case, its ranks on nodes of so many where that is said. Raises InputError."""
    knows_nodes = case.algorithm in names().node_aware
    if ranks_per_node is not None and ranks_per_node < 1:
        raise InputError(f"--ranks-per-node {ranks_per_node} is too small: it must be at least 1")
    if knows_nodes and ranks_per_node is None:
        raise InputError(f"{case.algorithm} needs to know which ranks share a node: say how many do with --ranks-per-node")
    exchange = case.schedules()
    return exchange.on_nodes([rank // ranks_per_node for rank in range(case.ranks)]) if ranks_per_node else exchange


def _one(cases: Sequence[ExchangeCase]) -> ExchangeCase:
    if len(cases) != 1:
        raise InputError(f"{len(cases)} exchanges are asked for, but one is shown at a time: give one of each option")
    return cases[0]


def _require_provable(case: ExchangeCase) -> None:
    slots = case.ranks * (2 * case.cutoff + 1 if case.cutoff else max(case.grid)) ** len(case.grid)
    if slots > _PROVED_SLOTS:
        raise InputError(
            f"{case.ranks} ranks with a cutoff of {case.cutoff} have {slots} slots to prove: stay below {_PROVED_SLOTS}"
        )


def _counts(exchange: _core.Exchange, rank: int, case: ExchangeCase) -> list[dict[str, int]]:
    """Return messages, blocks and bytes, with how many ranks send so much; of one rank where there are very many."""
    ranks = range(case.ranks) if case.ranks <= _COUNTED_RANKS else [rank]
    found = Counter(exchange.counts(r) for r in ranks)
    return [
        {"ranks": many, "messages": messages, "blocks": blocks, "bytes": blocks * case.message_bytes}
        for (messages, blocks), many in sorted(found.items())
    ]


def _operation(op: _core.Operation) -> dict[str, Any]:
    return {
        "kind": op.kind,
        "peer": op.peer,
        "tag": op.tag,
        "slots": [list(piece) for piece in op.slots],
        "origins": list(op.origins),
        "offsets": [list(offset) for offset in op.offsets],
        "after": list(op.after),
    }


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
