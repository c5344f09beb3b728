"""How right other numbers of ranks are on real nodes: in namespaces whose links are shaped (root needed).

    python benchmarks/what_if_nodes.py [--openmpi] [--only 7-point,lammps] [--rate 10]    # ten minutes, with nothing beside

Programs of what_if/grids.c, and with ``--openmpi`` LAMMPS (Debian's), whose grid is given, are recorded on 8 and 12 ranks, one
on a node, and predicted on 16 and 24, two on a node, from a profile that is measured there; then they run so. Frames have 1500
B. Target: median error within 10 %; exit 1 where it is missed.

10 Mbit/s, two cores, reno, 16 and 24 ranks. MPICH 5.0: 7-point -0.4 and -0.6 %, 9-point -5 and -14 %, by axis -3 and -6 %,
27-point (weak) -4 and -6 %, transposes -56 and -49 %, as on the recorded ranks. Open MPI 4.1: 7-point +6 and +6 %, 9-point +7
and +8 %, by axis +2 and 0 %, 27-point +2 and +1 %, transposes -28 and +9 %, LAMMPS (32,000 atoms) -19 and -26 %: its messages
above the eager limit wait for those of the other rank of their node, as no recording with one rank a node shows. Median of the
22: 5.8 %; 18 inside their intervals.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from harness import Table, compiled, load, nodes_up, options

from melt import melt

HERE = Path(__file__).parent / "what_if"
PROGRAMS = "7-point 9-point 7-point-by-axis 27-point-weak pencils".split()
ON_NODES = {8: 8, 12: 12, 16: 8, 24: 12}  # ranks
AXES = {8: "2 2 2", 12: "3 2 2", 16: "4 2 2", 24: "4 3 2"}  # of LAMMPS


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--openmpi", action="store_true", help="with the system's Open MPI")
    parser.add_argument("--only", default="", help="programs, separated by commas")
    parser.add_argument("--rate", type=int, default=10, help="of the links, in Mbit/s")
    parser.add_argument("--seconds", type=int, default=60, help="of measuring")
    asked = parser.parse_args()
    known = [*PROGRAMS, *(["lammps"] if asked.openmpi and shutil.which("lmp") else [])]
    wanted = [name for name in known if not asked.only or name in asked.only.split(",")]
    errors, table = [], Table()
    with nodes_up(f"{asked.rate}mbit", 12, frame_bytes=1500) as on:
        print(load())
        on.more |= on.up.measured_with_open_mpi() if asked.openmpi else {}
        on.rankwise("measure", "--hosts", ",".join(on.up.hosts[:4]), "--seconds", str(asked.seconds), "-o", "machine.json")
        compiler = "mpicc.openmpi" if asked.openmpi else "mpicc"
        compiled(HERE / "grids.c", on.folder / "grids", compiler, "-lm")
        for program in wanted:
            steps_s = {}
            for ranks, nodes in ON_NODES.items():
                each = ranks // nodes
                start = ["mpiexec", "-hosts", ",".join(f"{host}:{each}" for host in on.up.hosts[:nodes])]
                if asked.openmpi:
                    start = ["slot" if word == "node" else word for word in on.up.open_mpi("mpirun.openmpi", each, nodes)]
                words = ["./grids", program]
                if program == "lammps":
                    (on.folder / "melt.in").write_text(f"processors {AXES[ranks]}\n" + melt("20 20 20", "thermo 30\n"))
                    words = ["lmp", "-in", "melt.in", "-log", "none", "-screen", "none"]
                on.rankwise("observe", "-o", f"{ranks}.comm", "--", *start, "-n", str(ranks), *words)
                steps_s[ranks] = on.asked("observe", "show", f"{ranks}.comm")["step"]["time_s"]
            for ranks in (16, 24):
                grid = ["--grid", AXES[ranks].replace(" ", "x")] if program == "lammps" else []
                answer = on.asked(
                    "project", "observed", "8.comm", "12.comm", "--profile", "machine.json", "--ranks-per-node", "2", "--ranks",
                    str(ranks), "--scaling", "weak" if program.endswith("weak") else "strong", *grid,
                )  # fmt: skip
                row = answer["rows"][-1]
                errors.append(row["time_s"] / steps_s[ranks] - 1)
                low_s, high_s = row["time_lo_s"], row["time_hi_s"]
                held = "inside" if low_s <= steps_s[ranks] <= high_s else "outside"
                print(
                    f"  {program:<16}{ranks:>3} ranks {steps_s[ranks]:.4f} s, predicted {row['time_s']:.4f} "
                    f"{errors[-1]:>+7.1%} {held} {low_s:.4f}-{high_s:.4f}", flush=True,
                )  # fmt: skip
    table.title(f"{len(errors)} answers")
    table.errors(errors, (50, 10))
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
