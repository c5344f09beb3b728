"""What auto takes for a halo against every algorithm, in random cells, and what its trial costs.

A cell is a box of n^3 doubles, a width g and a number of fields F, drawn at random (--seed). All algorithms are timed in turn
within one run; the regret is the time of what auto took by the time of the fastest, both medians of the same rounds. The cost
of the trial is what its exchanges took longer than the first ones of a new plan that takes the same untried, by the time of
all that were announced. Exits with 1 when fewer than nine cells of ten have a regret of at most 5 %, or a trial costs more
than 1 % in the median.

    python benchmarks/halo_auto.py --mpiexec mpiexec build/cpp/tests/cpp/api/halo_auto
"""

import argparse
import json
import random
import subprocess
import sys

import numpy as np


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--mpiexec", default="mpiexec", help="with its options, as one word")
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--rounds", default="11")
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    cells = []
    for _ in range(arguments.cells):
        n = round(4 * 2 ** draw.uniform(0, 4))  # 4 to 64
        cells.append(f"{n},{min(n, draw.randint(1, 3))},{draw.randint(1, 6)}")
    command = [*arguments.mpiexec.split(), "-n", arguments.ranks, arguments.program, arguments.rounds, *cells]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    regrets, costs, windows, wins = [], [], [], {}
    for line in output.splitlines():
        row = json.loads(line)
        ways = {name: float(np.median(times)) for name, times in row.items() if isinstance(times, list) and name != "auto"}
        best = min(ways, key=ways.__getitem__)
        regrets.append(ways[row["taken"]] / ways[best] - 1)
        costs.append((row["trial_s"] - row["fresh_s"]) / (row["announced"] * ways[best]))
        wins[best] = wins.get(best, 0) + 1
        if "window" in ways and row["n"] <= 32:
            messages = min(time for name, time in ways.items() if name != "window")
            windows.append((ways["window"] / messages, ways["window"] / ways["direct"], row))
        shown = ", ".join(f"{name} {1e6 * time:.1f}" for name, time in ways.items())
        print(f"{row['n']:>3} {row['g']} {row['f']}  took {row['taken']:<10} regret {100 * regrets[-1]:6.1f} %   us: {shown}")
    right = sum(regret <= 0.05 for regret in regrets)
    print(f"regret at most 5 % in {right} of {len(regrets)}; worst {100 * max(regrets):.0f} %; fastest: {wins}")
    high = np.quantile(costs, 0.9)
    print(f"trial: median {100 * np.median(costs):.2f} %, nine of ten at most {100 * high:.2f} % of the exchanges announced")
    for least, most in ((4, 8), (9, 15), (16, 32)):
        of_direct = [row[1] for row in windows if least <= row[2]["n"] <= most]
        of_best = [row[0] for row in windows if least <= row[2]["n"] <= most]
        if of_direct:
            print(
                f"window, n {least} to {most}: median {np.median(of_direct):.2f} of direct, {np.median(of_best):.2f} of the "
                f"fastest by messages; at most 0.7 of direct in {sum(x <= 0.7 for x in of_direct)} of {len(of_direct)}"
            )
    return 0 if right >= 0.9 * len(regrets) and np.median(costs) <= 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
