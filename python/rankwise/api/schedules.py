"""Schedules of a neighbour exchange: the steps of a rank, what every rank sends; and proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankwise import _core
from rankwise.api.results import Result
from rankwise.blocks import NO, YES, Block, Lines, Sentence
from rankwise.errors import InputError
from rankwise.records import Record, computed, key, record
from rankwise.units import format_ranges, format_size
from rankwise.workloads.base import Site
from rankwise.workloads.exchange import WORKLOAD, ExchangeCase, ExchangeOptions, names

if TYPE_CHECKING:
    Part = Sequence[Sequence[_core.Operation]]  # the operations of each step

DEFAULTS = {"mode": "isend", "dims": "1x8", "cutoff": "1"}  # of a question about schedules
PROVED = {**DEFAULTS, "algorithm": "all", "mode": "all"}
_RANKS = 1  # without a number of ranks: a shape says them
_COUNTED_RANKS = 20_000
_PROVED_SLOTS = 50_000_000


@record
class Operation(Record):
    """A message, or a block that is passed on."""

    op: _core.Operation
    kind = computed("send, recv, copy or visit", str, lambda of: of.op.kind)
    peer = computed("the other rank", int, lambda of: of.op.peer)
    tag = computed("tag of the message", int, lambda of: of.op.tag)
    slots = computed("places in the window, first and count", list[list[int]], lambda of: of.op.slots)
    origins = computed("whose block each slot holds", list[int], lambda of: of.op.origins)
    offsets = computed(
        "place of each slot from the rank, or of a visit from the visiting team; empty: a block is passed on", list[list[int]],
        lambda of: of.op.offsets,
    )  # fmt: skip
    after = computed("operations of the step that it waits for", list[int], lambda of: of.op.after)


@record
class Count(Record):
    """Ranks that send as much."""

    ranks: int = key("how many ranks")
    messages: int = key("messages that each of these ranks sends")
    blocks: int = key("blocks that each of these ranks sends")
    bytes: int = key("bytes that each of these ranks sends")


@record
class Parts(Record):
    """What a rank does, part by part."""

    imported: list[list[Operation]] = key("operations of each step", name="import")
    reduce: list[list[Operation]] = key("operations of each step on the way back", optional=True)


@record
class Proof(Record):
    """What is wrong with the schedules of an exchange."""

    case: ExchangeCase = key("the exchange", inline=True)
    findings: Sequence[str] = key("what is wrong, in words; empty: the schedules are proved right")


@record
class Schedule(Result):
    """What one rank does, part by part (import, and reduce where what arrives
    is added on the way back), and what ranks send."""

    case: ExchangeCase = key("the exchange", inline=True)
    rank: int = key("number of the rank")
    parts: Mapping[str, Part] = key(
        "by part",
        inline=True,
        shape="Parts",
        write=lambda parts: {name: [list(map(Operation, step)) for step in part] for name, part in parts.items()},
    )
    counts: Sequence[Count] = key("how many ranks send how much")

    def records(self) -> list[dict[str, Any]]:
        return [
            {"part": name, "step": number, **Operation(op).to_dict()}
            for name, part in self.parts.items() for number, step in enumerate(part) for op in step
        ]  # fmt: skip

    @property
    def conclusion(self) -> str:
        most = max(self.counts, key=lambda count: count.messages)
        return f"A rank sends at most {most.messages} messages with {format_size(most.bytes)}."

    def blocks(self) -> Iterator[Block]:
        yield Lines(list(_step_lines(self)))


def _step_lines(found: Schedule) -> Iterator[str]:
    case, parts = found.case, found.parts
    grid = "x".join(map(str, case.grid))
    yield f"{case.algorithm}, {case.mode}, grid {grid}, {case.ranks} ranks: what rank {found.rank} does"
    for name, part in parts.items():
        if len(parts) > 1:
            yield "import:" if name == "import" else "way back, what arrives is added:"
        for number, step in enumerate(part):
            for i, op in enumerate(step):
                head = f"step {number}:" if i == 0 else ""
                yield f"  {head:9s} {f'[{i}] ' if any(o.after for o in step) else ''}{_line(op, case)}"
        if not any(part):
            yield "  nothing"
    for count in found.counts:
        whose = f"each of {count.ranks} ranks" if count.ranks > 1 else "1 rank"
        sent = f"{count.messages} messages, {count.blocks} blocks, {format_size(count.bytes)}"
        yield f"{whose} sends {sent} with blocks of {format_size(case.message_bytes)}"


def _line(op: _core.Operation, case: ExchangeCase) -> str:
    what = {
        "send": f"send to {op.peer}", "recv": f"receive from {op.peer}", "copy": "copy to", "visit": "interact with",
    }[op.kind]  # fmt: skip
    if case.algorithm == "team-shift":
        blocks = "blocks of " + format_ranges(op.origins, "–")
        if op.kind == "visit":
            blocks += f", team at offset {_coordinates(op.offsets[0])}"
    else:
        offsets = list(_stretches(op))
        passing = [origin for origin, offset in zip(op.origins, op.offsets, strict=True) if not offset]
        blocks = "offsets " + ", ".join(offsets) if offsets else ""
        if passing:
            blocks += f"{' and ' if blocks else ''}blocks of {format_ranges(passing, '–')}, passed on"
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


def _coordinates(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"({','.join(map(str, values))})"


@record
class Proofs(Result):
    """What is wrong with each schedule: nothing, or findings in words."""

    findings: Sequence[tuple[ExchangeCase, Sequence[str]]] = key(
        "one entry an exchange", name="rows", kind=list[Proof], get=lambda of: of.records()
    )

    @property
    def wrong(self) -> int:
        """How many schedules are wrong."""
        return sum(bool(findings) for _, findings in self.findings)

    def records(self) -> list[dict[str, Any]]:
        return [Proof(*found).to_dict() for found in self.findings]

    def blocks(self) -> Iterator[Block]:
        yield Sentence(self.conclusion, mark=NO if self.wrong else YES)
        for case, findings in self.findings:
            title = f"{case.algorithm} {case.mode} {case.shell} k={case.cutoff} c={case.replication}"
            yield Lines([f"{title}: {'WRONG' if findings else 'right'}", *(f"  {finding}" for finding in findings)])

    @property
    def conclusion(self) -> str:
        many = len(self.findings)
        if self.wrong:
            return f"{self.wrong} of {many} schedules are wrong."
        return f"All {many} schedules are right: each rank receives its blocks, each once, without a deadlock."


def schedule(asked: ExchangeOptions, rank: int = 0, ranks_per_node: int | None = None) -> Schedule:
    """Return what a rank does step by step, and how many messages and bytes every rank sends. Raises InputError."""
    cases = WORKLOAD.cases(asked.left(**DEFAULTS), Site("show", _RANKS))
    if len(cases) != 1:
        raise InputError(f"{len(cases)} exchanges are asked for, but one is shown at a time: give one of each option")
    case = cases[0]
    if not 0 <= rank < case.ranks:
        raise InputError(f"--rank {rank} does not exist: the {case.ranks} ranks count from 0")
    exchange = _schedules(case, ranks_per_node)
    parts = {"import": exchange.steps(rank, False)}
    if exchange.includes_reduce:
        parts["reduce"] = exchange.steps(rank, True)
    return Schedule(case, rank, parts, _counts(exchange, rank, case))


def prove(asked: ExchangeOptions, ranks_per_node: int | None = None) -> Proofs:
    """Prove that every block arrives once, there and back, and that no ranks
    wait for each other for ever. Raises InputError."""
    cases = WORKLOAD.cases(
        replace(asked.left(**PROVED), size="0"), Site("check", _RANKS, shares_nodes=ranks_per_node is not None)
    )
    found = []
    for case in cases:
        slots = case.ranks * (2 * case.cutoff + 1 if case.cutoff else max(case.grid)) ** len(case.grid)
        if slots > _PROVED_SLOTS:
            raise InputError(
                f"{case.ranks} ranks with a cutoff of {case.cutoff} have {slots} slots to prove: give at most {_PROVED_SLOTS}"
            )
        found.append((case, _schedules(case, ranks_per_node).check()))
    return Proofs(found)


def _schedules(case: ExchangeCase, ranks_per_node: int | None) -> _core.Exchange:
    """Return the schedules of a case, its ranks on nodes of so many where that is said. Raises InputError."""
    knows_nodes = case.algorithm in names().node_aware
    if ranks_per_node is not None and ranks_per_node < 1:
        raise InputError(f"--ranks-per-node {ranks_per_node} is too small: it must be at least 1")
    if knows_nodes and ranks_per_node is None:
        raise InputError(f"{case.algorithm} needs to know which ranks share a node: say how many do with --ranks-per-node")
    exchange = case.schedules()
    return exchange.on_nodes([rank // ranks_per_node for rank in range(case.ranks)]) if ranks_per_node else exchange


def _counts(exchange: _core.Exchange, rank: int, case: ExchangeCase) -> list[Count]:
    """Return messages, blocks and bytes, with how many ranks send so much; of one rank where there are very many."""
    ranks = range(case.ranks) if case.ranks <= _COUNTED_RANKS else [rank]
    found = Counter(exchange.counts(r) for r in ranks)
    return [Count(many, *each, each[1] * case.message_bytes) for each, many in sorted(found.items())]
