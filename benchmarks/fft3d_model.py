"""How far the model of the 3-D FFT is off: 40 lengths from 16 to 256, primes among them, on 1 and 2 ranks.

First `rankwise validate fft3d` on each: parts of the transform timed by turns with whole ones in one launch. Bars: the total
off by at most 6 % in the mean and 20 % at worst; of phases that are at least a tenth of their transform compute by 5 %, shuffle
by 8 % and exchange by 12 % in the mean. Then, with --later, predictions from kept parts (`rankwise predict fft3d`) against
later runs: at least 93 % of the medians of these lie inside the interval. Rows during which other programs had the processors
are told apart: without them the bars are judged. Exits with 1 where a bar is missed.

    python benchmarks/fft3d_model.py                       # about 8 minutes, mostly planning the first time
    python benchmarks/fft3d_model.py --later 3 --draw 10   # ten lengths, three later runs of each
"""

import random
import sys
import tempfile
from pathlib import Path
from statistics import fmean

from harness import Table, asked, load, options

LENGTHS = (
    16, 17, 20, 24, 27, 31, 32, 36, 37, 40, 45, 48, 53, 56, 61, 64, 67, 72, 80, 84, 90, 96, 97, 100, 108, 112, 120, 127, 128,
    140, 144, 154, 160, 180, 192, 200, 210, 225, 243, 256,
)  # fmt: skip
BARS = {"total": 6, "compute": 5, "shuffle": 8, "exchange": 12}  # in the mean, in per cent
WORST, INSIDE, LEAST_SHARE = 20, 93, 0.1


def validated(folder: Path, n: int, ranks: int, seconds: float) -> dict:
    """Return the errors of one length, and whether other programs disturbed it."""
    words = ("validate", "fft3d", "--n", str(n), "--ranks", str(ranks), "--seconds", str(seconds), "--profile", "machine.json")
    [row] = asked(*words, cwd=folder, ends=(1,))["rows"]
    phases = row["measured"]["phases"]
    errors = {"total": row["error"]}
    for name, error in row["phase_errors"].items():
        if error is not None and phases[name]["time_s"] >= LEAST_SHARE * row["measured_time_s"]:
            errors[name] = error
    return {
        "n": n, "ranks": ranks, "time_s": row["measured_time_s"], "errors": errors,
        "disturbed": any("other programs" in note for note in row["notes"]), "again": row["error_of_second_run"],
    }  # fmt: skip


def judge(table: Table, rows: list[dict], has_bars: bool) -> None:
    """Print the mean and worst errors of some rows."""
    for name, bar in BARS.items():
        sizes = [100 * abs(row["errors"][name]) for row in rows if name in row["errors"]]
        if sizes:
            table.row(f"{name}, mean of {len(sizes)}", fmean(sizes), bar if has_bars else None)
            table.row(f"{name}, worst", max(sizes), WORST if has_bars and name == "total" else None)


def later(folder: Path, cases: list[tuple[int, int]], runs: int) -> float:
    """Return the share of later runs whose median lies inside the interval predicted from kept parts."""
    spans = {}
    for n, ranks in 2 * cases:  # all are kept before any is asked for: intervals know all launches
        words = ("--n", str(n), "--ranks", str(ranks), "--grid", f"{ranks}x1", "--profile", "machine.json")
        [row] = asked("predict", "fft3d", *words, cwd=folder)["rows"]
        spans[n, ranks] = row["time_lo_s"], row["time_hi_s"]
    inside = []
    for _ in range(runs):
        for n, ranks in cases:
            [row] = asked("run", "fft3d", "--n", str(n), "--ranks", str(ranks), "--seconds", "0.3", cwd=folder)["rows"]
            low, high = spans[n, ranks]
            inside.append(low <= row["time_s"] <= high)
            if not inside[-1]:
                print(f"{n:4} {ranks}  {1e3 * row['time_s']:9.3f} ms outside [{1e3 * low:.3f}, {1e3 * high:.3f}]", flush=True)
    return fmean(inside)


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--draw", type=int, default=len(LENGTHS), help="so many of the lengths, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--later", type=int, default=0, help="so many later runs of each length against kept parts")
    parser.add_argument("--only-later", action="store_true")
    arguments = parser.parse_args()
    lengths = sorted(random.Random(arguments.seed).sample(LENGTHS, min(arguments.draw, len(LENGTHS))))
    cases = [(n, int(ranks)) for n in lengths for ranks in arguments.ranks.split(",")]
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked("measure", "-o", "machine.json", "--seconds", "4", cwd=folder)
        print(load())
        rows = []
        for n, ranks in [] if arguments.only_later else cases:
            row = validated(folder, n, ranks, arguments.seconds)
            rows.append(row)
            texts = "  ".join(f"{name} {100 * error:+6.1f} %" for name, error in row["errors"].items())
            told = "  disturbed" if row["disturbed"] else ""
            print(f"{n:4} {ranks}  {1e3 * row['time_s']:9.3f} ms  {texts}{told}", flush=True)
        quiet = [row for row in rows if not row["disturbed"]]
        if rows:
            table.title(f"all {len(rows)} rows")
            judge(table, rows, False)
            table.title(f"the {len(quiet)} that nothing disturbed")
            judge(table, quiet, True)
        if arguments.later:
            share = later(folder, cases, arguments.later)
            table.row("later runs inside the interval of kept parts", 100 * share, least=INSIDE)
    return 1 if table.missed or (rows and not quiet) else 0


if __name__ == "__main__":
    sys.exit(main())
