"""How right the judge is: against simulations of questions drawn afresh at every run, by itself, and against the clock.

    python benchmarks/judge.py [--rows 400] [--seed N]   # needs SimGrid; some minutes

The simulator knows links and what they share, no more: the judge is asked for the same machine (Machine.alone(): every way of
sending costs a plain send, and a rank's own messages leave without a gap). Bars stand beside the figures; exit 1 where one is
missed. Real nodes: predicted_on_nodes.py.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import Table, options, percentile
from judge_draw import (
    MACHINES,
    Drawn,
    box_question,
    draw_exchange,
    draw_large,
    draw_stencils,
    draw_tapered,
    exchange_of,
    node_aware_table,
)  # fmt: skip

from rankwise import _core
from rankwise.engines.judge import judge
from rankwise.engines.placement import Placement
from rankwise.engines.platform import Platform, parse_network
from rankwise.engines.simulate import Simulator
from rankwise.launch.smpi import find_simgrid
from rankwise.progress import meter
from rankwise.workloads.base import Case
from rankwise.workloads.exchange import ExchangeCase, names

NODE_AWARE = ("striped", "leader", "two-step")


@dataclass(frozen=True)
class Simulated:
    """A case of a question: what the simulator says and what the judge does, as verbs answer and by few ranks."""

    question: Drawn
    case: Case
    time_s: float
    answer: Any  # _core.Cost
    few: Any = None

    @property
    def way(self) -> str:
        return f"{self.case.algorithm} {self.case.mode}"

    @property
    def kind(self) -> str:
        """The kind of schedule, as intervals know it."""
        return str(exchange_of(self.case).of_representatives(self.question.placement).kind)

    def cost(self, few: bool) -> Any:
        return self.few if few else self.answer

    def error(self, few: bool = False) -> float:
        return float(self.cost(few).time_s / self.time_s - 1)

    def inside(self, few: bool) -> bool:
        cost = self.cost(few)
        return bool(cost.low_s * (1 - 1e-9) <= self.time_s <= cost.high_s * (1 + 1e-9))


def simulated(simulator: Simulator, question: Drawn, topology: str = "crossbar") -> list[Simulated]:
    """Simulate the cases of a question and ask the judge for the same."""
    placement, machine = question.placement, question.machine
    platform = Platform("drawn", parse_network(topology, None, placement.nodes), 1, machine)
    rows = simulator.rows(question.cases, platform, Placement(lambda ranks: placement, lambda nodes: placement))
    alone = machine.alone()
    found = []
    for case, row in zip(question.cases, rows, strict=True):
        assert case.block_bytes is not None
        answer = judge(case.program(), case.block_bytes, placement, alone)
        few = None
        if isinstance(case, ExchangeCase):
            few = exchange_of(case).of_representatives(placement).cost(case.block_bytes, alone)
        found.append(Simulated(question, case, row.time_s, answer, few))
    return found


def regrets(rows: Sequence[Simulated], few: bool = False) -> list[float]:
    """Return for each question how much longer what the judge ranks first takes than the fastest."""
    questions: dict[int, list[Simulated]] = defaultdict(list)
    for row in rows:
        questions[id(row.question)].append(row)
    return [
        min(one, key=lambda row: row.cost(few).time_s).time_s / min(row.time_s for row in one) - 1 for one in questions.values()
    ]


def exchanges(table: Table, rows: Sequence[Simulated]) -> None:
    questions = len({id(row.question) for row in rows})
    for few, who in ((False, "as verbs answer"), (True, "few ranks standing for all")):
        table.title(f"exchanges, {who}: {len(rows)} rows of {questions} questions, absolute error")
        errors = [row.error(few) for row in rows]
        isend = [row.error(few) for row in rows if row.case.mode == "isend"]
        direct = [row.error(few) for row in rows if row.way == "direct isend"]
        bars = (1, 18, 23, 14, 2, 2, 30) if few else (1, 1, 3, 1, 2, 1, 30)
        table.errors(errors, (50, bars[0]), (90, bars[1]), (95, bars[2]))
        table.row(f"isend alone ({len(isend)}), 90th percentile", percentile(isend, 90), bars[3])
        table.row(f"isend direct ({len(direct)}), worst", percentile(direct, 100), bars[4])
        regret = regrets(rows, few)
        table.row("regret of choosing by it, mean", 100 * float(np.mean(regret)), bars[5])
        table.row("regret, worst", 100 * max(regret), bars[6])
        for per, borders in ((True, "periodic"), (False, "open")):
            some = [row.error(few) for row in rows if row.case.periodic[0] == per]
            table.row(f"{borders} ({len(some)}), 90th percentile", percentile(some, 90))
        for mode in ("ssend", "send"):
            some = [row.error(few) for row in rows if row.way == f"shift {mode}"]
            table.row(f"shift {mode} ({len(some)}), 90th percentile", percentile(some, 90))
    gap = []
    for row in rows:
        cost = judge(row.case.program(), row.case.block_bytes, row.question.placement, row.question.machine)
        gap.append(cost.time_s / row.time_s - 1)
    table.title("the machine as predict has it, a sender's gap of its bytes included, against the same simulations")
    table.errors(gap, (50, None), (95, None))


def intervals(table: Table, rows: Sequence[Simulated], few: bool) -> None:
    who = "few ranks standing for all" if few else "as verbs answer"
    table.title(f"intervals [low, high], {who}: simulated times inside (rows that were not used for them)")
    table.row(f"all {len(rows)} rows", 100 * float(np.mean([row.inside(few) for row in rows])), 97 if few else None, least=93)
    table.row("of zero width", sum(row.cost(few).low_s >= row.cost(few).high_s for row in rows), 0, unit="")
    print(f"  {'simulated / the judge of':<30}{'rows':>6}{'2.5th':>8}{'median':>8}{'97.5th':>8}{'inside':>8}")
    kinds: dict[str, list[Simulated]] = defaultdict(list)
    ways: dict[str, list[Simulated]] = defaultdict(list)
    for row in rows:
        kinds[row.kind].append(row)
        ways[row.way].append(row)
    for name, some in (*sorted(kinds.items()), *sorted(ways.items())):
        low, middle, high = np.percentile([row.time_s / row.cost(few).time_s for row in some], [2.5, 50, 97.5])
        print(
            f"  {name:<30}{len(some):>6}{low:>8.2f}{middle:>8.2f}{high:>8.2f}{np.mean([row.inside(few) for row in some]):>8.0%}"
        )


def loads(table: Table, rng: random.Random, count: int = 300) -> None:
    """Compare what the busiest resource is held for, by the few and by all ranks."""
    ratios = []
    while len(ratios) < count:
        question = draw_exchange(rng, periodic=True)
        for case in question.cases:
            if case.mode != "isend" or case.algorithm == "team-shift":
                continue
            exchange, alone = exchange_of(case), question.machine.alone()
            every = exchange.of_all(question.placement).cost(case.message_bytes, alone).busiest[2]
            if every > 0:
                few = exchange.of_representatives(question.placement).cost(case.message_bytes, alone)
                ratios.append(few.busiest[2] / every)
    table.title(f"the busiest resource of {len(ratios)} schedules on periodic grids: seconds by the few / by all ranks")
    table.row("least", min(ratios), least=1 - 1e-9, unit="")
    table.row("median", float(np.median(ratios)), unit="")
    table.row("largest", max(ratios), 1.12, unit="")


def large(table: Table, simulator: Simulator, rng: random.Random, count: int) -> None:
    """Exchanges of more ranks than are followed: tiles of periodic grids, and shorter grids in place of open ones."""
    for periodic, borders, bar in ((True, "periodic", 1), (False, "open", 15)):
        rows: list[Simulated] = []
        with meter(f"large {borders} grids", count) as progress:
            while len(rows) < count:
                question = draw_large(rng, periodic)
                rows += simulated(simulator, question)
                progress.advance(len(question.cases))
        for few, who in ((False, "as verbs answer"), (True, "few ranks standing for all")):
            table.title(f"{borders} grids of 256 to 600 ranks, {who}: {len(rows)} rows")
            table.errors([row.error(few) for row in rows], (50, None), (90, None if few else bar), (95, None))
            table.row("inside intervals", 100 * float(np.mean([row.inside(few) for row in rows])), least=None if few else 93)
            table.row("regret, mean", 100 * float(np.mean(regrets(rows, few))))
        for blocking in (False, True):
            some = [row.time_s / row.cost(False).time_s for row in rows if (row.case.mode in ("ssend", "send")) == blocking]
            low, middle, high = np.percentile(some, [2.5, 50, 97.5])
            print(f"  simulated / the judge, {'blocking' if blocking else 'in flight'}: {low:.2f} {middle:.2f} {high:.2f}")


def stencils(table: Table, simulator: Simulator, rng: random.Random, count: int) -> None:
    rows: list[Simulated] = []
    with meter("stencil maps", count) as bar:
        for question in draw_stencils(rng, count):
            rows += simulated(simulator, question)
            bar.advance(len(question.cases))
    table.title(f"stencil maps: {len(rows)} drawn")
    table.errors([row.error() for row in rows], (95, None), (100, 2))


def tapered(table: Table, simulator: Simulator, rng: random.Random, count: int) -> None:
    rows: list[Simulated] = []
    with meter("tapered fat tree", count) as bar:
        while len(rows) < count:
            rows += simulated(simulator, draw_tapered(rng), "fat-tree:4x4:2")
            bar.advance(10)
    table.title(f"four leaves of four nodes, half as many links up: {len(rows)} rows")
    table.errors([row.error() for row in rows], (50, None), (90, None), (95, 15))
    table.row("regret, mean", 100 * float(np.mean(regrets(rows))))
    table.row("regret, worst", 100 * max(regrets(rows)))


def node_aware(table: Table, simulator: Simulator, rng: random.Random, count: int) -> None:
    rows: list[Simulated] = []
    with meter("node-aware exchanges", count) as bar:
        for _ in range(count):
            rows += simulated(simulator, box_question(rng))
            bar.advance()
    table.title(f"exchanges that know nodes, 8 nodes or more of boxes of ranks: {count} questions")
    for algorithm in NODE_AWARE:
        errors = [row.error() for row in rows if row.case.algorithm == algorithm]
        table.row(f"{algorithm} ({len(errors)}), median", percentile(errors, 50))
        table.row(f"{algorithm}, worst", percentile(errors, 100), 15 if algorithm == "striped" else None)
    lost = []
    for question in {id(row.question): row.question for row in rows}.values():
        some = [row for row in rows if row.question is question]
        first = min(some, key=lambda row: row.answer.time_s)
        if first.case.algorithm in NODE_AWARE:
            others = min(row.time_s for row in some if row.case.algorithm not in NODE_AWARE)
            lost.append(first.time_s / others - 1)
    table.row("questions where one of them is chosen", len(lost), unit="")
    table.row("where chosen, the most it loses to the best other", 100 * max([0.0, *lost]), 5)


def spec_table(table: Table) -> None:
    """Ask which of four wins on three machines: where messages, where bytes, and where neither decides."""
    wrong = 0
    table.title("which wins on machines A, B and C, 27 nodes of boxes of ranks (us)")
    head = ("direct", "comb", "leader", "striped")
    print(f"  {'machine':<9}{'a node':>7}{'bytes':>7}" + "".join(f"{name:>9}" for name in head) + f"{'two-step':>10}  wanted")
    for name, machine, question, wanted in node_aware_table():
        times_s = {
            algorithm: exchange_of(replace(question.cases[0], algorithm=algorithm))
            .judged(question.placement).cost(question.cases[0].message_bytes, machine).time_s
            for algorithm in (*head, "two-step")
        }  # fmt: skip
        first = min(head, key=lambda algorithm: times_s[algorithm])
        wrong += first not in wanted
        print(
            f"  {name:<9}{question.placement.most_on_a_node:>7}{question.cases[0].message_bytes:>7}"
            + "".join(f"{1e6 * times_s[algorithm]:>9.1f}" for algorithm in head)
            + f"{1e6 * times_s['two-step']:>10.1f}  {' or '.join(wanted)}{'' if first in wanted else ' NOT'}"
        )
    table.row("winners that are not those of the table", wrong, 0, unit="")


def seconds(work: Any, times: int) -> float:
    """Return the median of the processor's time that work takes."""
    taken = []
    for _ in range(times):
        start_s = time.process_time()
        work()
        taken.append(time.process_time() - start_s)
    return float(np.median(taken))


def clock(table: Table) -> None:
    table.title("10^6 ranks, 48 a node, 3-D, k = 1: the processor's time, median")
    dims, machine = [100, 100, 100], MACHINES["werner"]
    placement = _core.Placement.blocked(10**6, 48)

    def contest(where: Any = placement) -> Any:
        return _core.Contest(dims, [True] * 3, [1] * 3, "full", list(names().auto), [], [], where)

    made = contest()
    table.row("a contest of direct, shift and comb is made", 1e3 * seconds(contest, 11), 4, unit="ms")
    answered_s = seconds(lambda: [made.ranked(4096, machine) for _ in range(20)], 11) / 20
    table.row("a question is answered", 1e3 * answered_s, 0.2, unit="ms")
    nodes = np.random.default_rng(1).permutation(np.arange(10**6, dtype=np.int32) // 48).astype(np.int32)
    one_by_one_s = seconds(lambda: contest(_core.Placement.on_nodes(nodes)), 3)
    table.row("a contest of ranks placed one by one is made", one_by_one_s, 0.3, unit="s")


def drawn(rng: random.Random, count: int) -> Iterator[Drawn]:
    """Yield questions until they have so many cases."""
    while count > 0:
        question = draw_exchange(rng)
        yield question
        count -= len(question.cases)


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=400, help="simulated exchanges")
    parser.add_argument("--seed", type=int, default=None, help="of what is drawn; default: another one at each run")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else time.time_ns() % 10**6
    table = Table()

    def rng(section: str) -> random.Random:
        return random.Random(f"{seed} {section}")

    print(f"seed {seed}")
    clock(table)
    loads(table, rng("loads"))
    spec_table(table)
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(find_simgrid(), Path(folder))
        rows: list[Simulated] = []
        with meter("exchanges", given.rows) as bar:
            for question in drawn(rng("exchanges"), given.rows):
                rows += simulated(simulator, question)
                bar.advance(len(question.cases))
        exchanges(table, rows)
        for few in (False, True):
            intervals(table, rows, few)
        large(table, simulator, rng("large"), given.rows // 8)
        stencils(table, simulator, rng("stencils"), 100)
        tapered(table, simulator, rng("tapered"), math.ceil(given.rows / 4))
        node_aware(table, simulator, rng("node-aware"), 12)
    print(f"\n{table.missed} bars missed" if table.missed else "\nall bars reached")
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
