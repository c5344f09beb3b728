"""Our halo against a merged exchange written by hand and against 26 messages of subarrays.

For each case (n, g, F) the minimal time of each, and the ratio of ours to each of the others: of the minima, and the median
of the repetitions with its 95 % interval (a ratio is taken within a repetition, in which all three run one after the other).
Exits with 1 when ours is slower than 1.05 times by hand beyond doubt (the whole interval lies above) in any case.

    python benchmarks/halo.py --mpiexec mpiexec build/cpp/tests/cpp/halo
"""

import sys

from harness import ended, keep_row, options, ratio, records

from rankwise.units import format_count

GOAL = 1.05
CASES = [f"{n},{g},{f}" for n in (8, 16, 32, 64) for g, f in ((1, 1), (1, 4), (2, 1), (2, 4), (3, 2))]


def main() -> int:
    parser = options(__doc__, program=True)
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--repetitions", default="60")
    parser.add_argument("--cases", nargs="*", default=CASES)
    arguments = parser.parse_args()
    command = [*arguments.mpiexec.split(), "-n", arguments.ranks, arguments.program, arguments.repetitions, *arguments.cases]
    print(
        f"{'n':>4} {'g':>2} {'F':>2} {'ours us':>9} {'by hand':>9} {'26 types':>9}   ours/by hand                    ours/26 "
        "types"
    )
    missed = []
    for row in records(command):
        ratios = {other: ratio(row, "ours_s", other) for other in ("by_hand_s", "subarrays_s")}
        texts = [f"{min(row['ours_s']) / min(row[other]):.3f}, {of_each}" for other, of_each in ratios.items()]
        least = [1e6 * min(row[name]) for name in ("ours_s", "by_hand_s", "subarrays_s")]
        print(
            f"{row['n']:>4} {row['g']:>2} {row['f']:>2} {least[0]:9.2f} {least[1]:9.2f} {least[2]:9.2f}   {texts[0]:<31} "
            f"{texts[1]}"
        )
        what = f"halo of {row['n']}^3, {row['g']} deep, {format_count(row['f'], 'field')}"
        keep_row(what, "MPI by hand", ratios["by_hand_s"])
        keep_row(what, "26 messages of subarrays", ratios["subarrays_s"])
        if ratios["by_hand_s"].low > GOAL:
            missed.append(f"{row['n']},{row['g']},{row['f']}")
    return ended(missed, f"slower than {GOAL} times by hand at {{}}", between=" ")


if __name__ == "__main__":
    sys.exit(main())
