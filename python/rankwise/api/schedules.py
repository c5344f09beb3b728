"""Schedules of a neighbour exchange: the steps of a rank, what every rank sends; and proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rankwise.api.results import Result
from rankwise.errors import InputError
from rankwise.units import format_size
from rankwise.workloads.base import Site
from rankwise.workloads.exchange import WORKLOAD, ExchangeCase, ExchangeOptions, names

if TYPE_CHECKING:
    from rankwise import _core

    Part = Sequence[Sequence[_core.Operation]]  # the operations of each step

DEFAULTS = {"mode": "isend", "dims": "1x8", "cutoff": "1"}  # of a question about schedules
PROVED = {**DEFAULTS, "algorithm": "all", "mode": "all"}
_RANKS = 1  # without a number of ranks: a shape says them
_COUNTED_RANKS = 20_000
_PROVED_SLOTS = 50_000_000


@dataclass(frozen=True)
class Schedule(Result):
    """What one rank does, part by part (import, and reduce where what arrives
    is added on the way back), and what ranks send."""

    case: ExchangeCase
    rank: int
    parts: Mapping[str, Part]
    counts: Sequence[Mapping[str, int]]

    def to_dict(self) -> dict[str, Any]:
        steps = {name: [[_operation(op) for op in step] for step in part] for name, part in self.parts.items()}
        return {**self.case.keys(), "rank": self.rank, **steps, "counts": list(self.counts)}

    def records(self) -> list[dict[str, Any]]:
        return [
            {"part": name, "step": number, **_operation(op)}
            for name, part in self.parts.items() for number, step in enumerate(part) for op in step
        ]  # fmt: skip

    @property
    def conclusion(self) -> str:
        most = max(self.counts, key=lambda count: count["messages"])
        return f"A rank sends at most {most['messages']} messages with {format_size(most['bytes'])}."


@dataclass(frozen=True)
class Proofs(Result):
    """What is wrong with each schedule: nothing, or findings in words."""

    findings: Sequence[tuple[ExchangeCase, Sequence[str]]]

    @property
    def wrong(self) -> int:
        """How many schedules are wrong."""
        return sum(bool(findings) for _, findings in self.findings)

    def to_dict(self) -> dict[str, Any]:
        return {"rows": self.records()}

    def records(self) -> list[dict[str, Any]]:
        return [{**case.keys(), "findings": list(findings)} for case, findings in self.findings]

    @property
    def conclusion(self) -> str:
        many = len(self.findings)
        return f"{self.wrong} of {many} schedules are wrong." if self.wrong else f"All {many} schedules are right."


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
        _require_provable(case)
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
