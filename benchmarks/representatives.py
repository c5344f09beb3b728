"""Few ranks that stand for all, against all ranks: random exchanges of any algorithm, grid, cutoff, way of sending and node.

    python benchmarks/representatives.py [--seconds 120] [--seed N]

Prints, by what was walked, the time of all ranks / that of those that stand for them, and the farthest; exit 1 where one
of the two takes no time, or in flight the median is off by more than 5 %.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections import defaultdict

import numpy as np
from harness import Table, ended, options
from judge_draw import MACHINES

from rankwise import _core

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 30, 40, 64, 100)
MOST_SLOTS = 400_000  # of all ranks' windows, so that all of them are walked in a moment


def drawn(rng: random.Random) -> tuple[str, _core.Exchange, _core.Placement] | None:
    """Draw an exchange, and where its ranks are; None where there is none like it, or too large a one."""
    algorithm = rng.choice(_core.exchange_algorithms())
    dims = [rng.choice(LENGTHS[: (16, 12, 9)[axes - 1]]) for axes in [rng.randint(1, 3)] for _ in range(axes)]
    periodic = [rng.random() < 0.5 for _ in dims]
    cutoff = [rng.randint(1, rng.choice((2, 3, 20))) for _ in dims]
    slots = math.prod(dims) * math.prod(min(2 * k + 1, length) for k, length in zip(cutoff, dims, strict=True))
    if not 10_000 <= slots <= MOST_SLOTS:
        return None
    mode, shell = rng.choice(algorithm.modes or _core.send_modes()), rng.choice(algorithm.shells or _core.shells())
    teams = rng.choice((2, 4, 8)) if algorithm.has_teams else 1
    ranks_per_node = rng.choice((1, 2, 3, 4, 6, 8, 12, 24, 48))
    try:
        exchange = _core.Exchange(algorithm.id, mode, dims, periodic, cutoff, shell, teams)
        placement = _core.Placement.blocked(exchange.ranks, ranks_per_node)
        if algorithm.needs_nodes:
            exchange = exchange.on_nodes([placement.node(rank) for rank in range(exchange.ranks)])
        exchange.judged(placement)
    except ValueError:
        return None
    shape = "x".join(f"{length}{'p' if ring else 'o'}" for length, ring in zip(dims, periodic, strict=True))
    return f"{algorithm.id} c={teams} {mode} {shell} {shape} k={cutoff}, {ranks_per_node} a node", exchange, placement


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=120, help="how long to draw")
    parser.add_argument("--seed", type=int, help="of what is drawn; default: another one at each run")
    given = parser.parse_args()
    seed = random.randrange(10**6) if given.seed is None else given.seed
    rng, until = random.Random(seed), time.monotonic() + given.seconds
    machines = list(MACHINES.values())
    ratios, worst, faults = defaultdict(list), {}, []
    while time.monotonic() < until:
        if (found := drawn(rng)) is None:
            continue
        name, exchange, placement = found
        few, every, size = exchange.judged(placement), exchange.of_all(placement), rng.choice((0, 1000, 100_000))
        machine = rng.choice(machines)
        ours_s, all_s = (walk.cost(size, machine).time_s for walk in (few, every))
        if min(ours_s, all_s) <= 0:
            faults += [f"{name} takes no time"] * (ours_s != all_s)
            continue
        ratios[few.kind].append(all_s / ours_s)
        if abs(math.log(all_s / ours_s)) >= abs(math.log(worst.get(few.kind, (1.0, ""))[0])):
            worst[few.kind] = (all_s / ours_s, f"{name}, {size} B")
    table = Table()
    table.title(f"time of all ranks / of those that stand for them, seed {seed}: 2.5th, 50th, 97.5th percentile; farthest")
    for kind, of in sorted(ratios.items()):
        low, middle, high = np.percentile(of, (2.5, 50, 97.5))
        print(f"  {kind:<32} {len(of):>5}  {low:5.2f} {middle:5.2f} {high:5.2f}; {worst[kind][0]:.2f} {worst[kind][1]}")
        faults += [f"{kind}: median {middle:.2f}"] * ("in flight" in kind and abs(math.log(middle)) > 0.05)
    return ended(faults)


if __name__ == "__main__":
    sys.exit(main())
