"""rankwise beside others, by turns in one program on the same ranks: the ping-pong, exchanges of neighbours, halos.

    cmake --build build/cpp --target pingpong_osu exchange_direct halo
    python benchmarks/beside.py ping-pong build/cpp/tests/cpp/pingpong_osu     # a loop like OSU's osu_latency
    python benchmarks/beside.py exchange build/cpp/tests/cpp/exchange_direct   # by hand, and MPI_Neighbor_alltoallv
    python benchmarks/beside.py halo build/cpp/tests/cpp/halo                  # merged by hand, and 26 messages of subarrays

For each case the median (and the least) time of each, and ours over each of the others': the median of the repetitions with its
95 % interval by order statistics; a ratio is taken within each repetition, in which all run one after the other. Exits with 1
when ours is slower than 1.05 times the first other beyond doubt (the whole interval lies above) in any case; of the ping-pong,
which is to be the same, also when it is as much quicker.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import ended, keep_row, options, ratio, records

from rankwise.units import format_count

GOAL = 0.05


@dataclass(frozen=True)
class Kind:
    """What a program prints: the name of a row's case, and by the key of their times who else is there."""

    case: Callable[[dict[str, Any]], str]
    others: dict[str, str]
    arguments: Sequence[str]  # of the program, where none are given
    repetitions: str
    same: bool = False  # ours is to be the same; a row is a repetition of round trips


KINDS = {
    "ping-pong": Kind(lambda row: f"ping-pong, {row['size_bytes']} B", {"osu_like_s": "a loop as osu_latency has it"},
                      ("0", "1"), "40", same=True),
    "exchange": Kind(lambda row: f"exchange, direct, {row['bytes']} B",
                     {"by_hand_s": "MPI by hand", "collective_s": "MPI_Neighbor_alltoallv"}, ("2x1", "1"), "200"),
    "halo": Kind(lambda row: f"halo of {row['n']}^3, {row['g']} deep, {format_count(row['f'], 'field')}",
                 {"by_hand_s": "MPI by hand", "subarrays_s": "26 messages of subarrays"},
                 [f"{n},{g},{f}" for n in (8, 16, 32, 64) for g, f in ((1, 1), (1, 4), (2, 1), (2, 4), (3, 2))], "60"),
}  # fmt: skip


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs="*", help="CPUs of both ranks; a grid and a cutoff; boxes as n,g,fields")
    parser.add_argument("--mpiexec", default="mpiexec", help="with its options, as one word")
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--repetitions")
    given = parser.parse_args()
    kind = KINDS[given.kind]
    repetitions, arguments = given.repetitions or kind.repetitions, given.arguments or kind.arguments
    cases: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in records([*given.mpiexec.split(), "-n", given.ranks, given.program, repetitions, *arguments]):
        for name in ("ours_s", *kind.others):
            cases[kind.case(row)][name] += [float(np.median(row[name])) / 2] if kind.same else row[name]
    print(f"{repetitions} repetitions; us")
    missed = []
    for case, times_s in cases.items():
        ratios = {name: ratio(times_s, "ours_s", name) for name in kind.others}
        shown = [f"{name.removesuffix('_s').replace('_', ' ')} {1e6 * np.median(times):.2f} (least {1e6 * min(times):.2f})"
                 for name, times in times_s.items()]  # fmt: skip
        print(f"{case:<32} {', '.join(shown)}; ours over {', '.join(f'{name[:-2]} {of}' for name, of in ratios.items())}")
        for name, found in ratios.items():
            keep_row(case, kind.others[name], found)
        first = next(iter(ratios.values()))
        if first.low > 1 + GOAL or (kind.same and first.high < 1 - GOAL):
            missed.append(case)
    return ended(missed, f"beyond {GOAL:.0%}: {{}}", between="; ")


if __name__ == "__main__":
    sys.exit(main())
