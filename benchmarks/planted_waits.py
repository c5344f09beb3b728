"""Waits that are planted in small programs, and what observe finds of them.

    python benchmarks/planted_waits.py [--ranks 2] [--steps 40] [--ms 20]

In each program ranks wait in one way, since others sleep (tests/python/observe/planted_waits.c). What is planted is known from
the times that the program takes of its own calls, by MPI_Wtime: ranks that wait for a core come late, too.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness import compiled, options

from rankwise.api.observing import load_record
from rankwise.launch.mpi import find_mpi
from rankwise.observe.phases import first_events
from rankwise.observe.start import observe
from rankwise.observe.waits import KINDS, analyse

PROGRAMS = Path(__file__).parents[1] / "tests" / "python" / "observe"
sys.path.insert(0, str(PROGRAMS))

from planted_waits import MODES, planted_s


def main() -> None:
    asked = options(__doc__)
    asked.add_argument("--ranks", type=int, default=2)
    asked.add_argument("--steps", type=int, default=40)
    asked.add_argument("--ms", type=int, default=20)
    given = asked.parse_args()
    mpi = find_mpi()
    print("| program | kind | planted | found | off | cause |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        program, times = Path(folder) / "planted", Path(folder) / "times"
        compiled(PROGRAMS / "planted_waits.c", program, mpi.launcher_path.with_name("mpicc"), "-g")
        for mode, (kind, _) in MODES.items():
            record = Path(folder) / f"{mode}.comm"
            words = [str(mpi.launcher_path), "-n", str(given.ranks), str(program), mode, str(given.steps), str(given.ms)]
            observe([*words, str(times)], record)
            evidence = load_record(record).evidence
            assert evidence.waiting is not None
            waits = analyse(first_events(evidence.record), given.ranks, names=evidence.record.header["calls"])
            found, planted = float(waits.waiting_s[KINDS.index(kind)].sum()), sum(planted_s(times, given.ranks)[kind])
            cause = next(one for one in evidence.waiting.causes if one.of.kind == kind)
            print(
                f"| {mode} | {kind} | {1e3 * planted:.2f} ms | {1e3 * found:.2f} ms | {100 * (found / planted - 1):+.2f} % "
                f"| rank {cause.rank}, {cause.before} |", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
