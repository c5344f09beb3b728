"""How long simulations take and how much memory: 64, 2400 and 4800 ranks, each against its bound.

    python benchmarks/simulate.py            # about two minutes on two idle cores

Every figure is of one simulation in a process of its own: the wall-clock and processor time of its child, and the most
memory that the child held. The first run builds the kernels for SimGrid, which is not counted.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import load, options

from rankwise.launch.smpi import find_simgrid

# Ranks, grid, nodes, sizes of a message, seconds, GiB.
CASES = (
    ("exchange", 64, (64,), 64, 1000, 1.0, 4.0),
    ("stencil", 2400, (50, 48), 50, 64, 60.0, 4.0),
    ("stencil", 2400, (50, 48), 50, 65536, 60.0, 4.0),
    ("stencil", 4800, (75, 64), 100, 64, 180.0, 8.0),
    ("stencil", 4800, (75, 64), 100, 65536, 180.0, 8.0),
)


def one(index: int) -> None:
    """Run one case in this process and print what it took."""
    from rankwise.engines.simulate import Simulator
    from rankwise.papers.hunold2020_simgrid import TOPOLOGY, system
    from rankwise.workloads.exchange import ExchangeCase
    from rankwise.workloads.stencil import stencil_cases

    workload, ranks, grid, nodes, size, _, _ = CASES[index]
    simgrid = find_simgrid()
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(simgrid, Path(folder), jobs=1)
        machine = system()
        per_node = ranks // nodes
        placement = machine.placement(per_node)
        platform = machine.platform([placement.of_ranks(ranks)], TOPOLOGY.get(nodes, "crossbar"), None)
        start_s = time.perf_counter()
        if workload == "exchange":
            cases = [ExchangeCase("shift", "isend", grid, (True,), 4, size)]
        else:
            cases = stencil_cases(grid, [per_node] * nodes, "nearest-neighbor", [False, False], ["blocked"], [size])
        verified = simulator.rows(cases, platform, placement)[0].verified
        wall_s = time.perf_counter() - start_s
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps([wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20, verified]))


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--one", type=int, help="the number of a case: this one alone, in this process")
    if (number := parser.parse_args().one) is not None:
        one(number)
        return 0
    find_simgrid()
    print(f"before: {load()}")
    print(f"{'workload':<10}{'ranks':>6}{'bytes':>8}{'wall, s':>9}{'CPU, s':>8}{'GiB':>7}  bound")
    missed = 0
    for index, (workload, ranks, _, _, size, most_s, most_gib) in enumerate(CASES):
        text = subprocess.run(
            [sys.executable, __file__, "--one", str(index)], stdout=subprocess.PIPE, check=True, text=True
        ).stdout
        wall_s, cpu_s, gib, verified = json.loads(text)
        good = wall_s < most_s and gib < most_gib and verified is not False
        missed += not good
        print(
            f"{workload:<10}{ranks:>6}{size:>8}{wall_s:>9.2f}{cpu_s:>8.2f}{gib:>7.2f}  {most_s:g} s, {most_gib:g} GiB: "
            f"{'kept' if good else 'MISSED'}{'' if verified else ' (bytes not checked)'}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
