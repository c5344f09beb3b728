"""Predicted collectives beside OSU's benchmarks of them, unmodified, on nodes in namespaces with shaped links (root needed).

    python benchmarks/collectives_osu.py --osu FOLDER [--openmpi FOLDER] [--nodes 4] [--each 2] [--bytes 16384:131072]

FOLDER has osu_bcast and its like, built for the MPI at hand, or for the system's Open MPI. The profile is measured between
these nodes (``measure``, ``measure collectives``); then each benchmark runs, and ``predict collective --osu`` compares until
the slowest rank is done (OSU's -f). The slower the links, the less do processors matter that all nodes share.

Four nodes of two ranks, 20 Mbit/s, 16 to 128 KiB, OSU 5: 64 cases of MPICH 5.0 and Open MPI 4.1, median of the absolute
error 4.1 %, of the signed +0.2 %; Open MPI above its eager limit up to -47 % (alltoall), 16 kB up to +51 % (a frame of each
message passes at once).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import OnNodes, load, nodes_up, options

from rankwise.launch.mpi import find_mpi

KINDS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter", "gather", "scatter")


def measured(on: OnNodes, launcher: list[str], osu: Path, ranks: int, sizes: str, kinds: list[str]) -> Iterator[Path]:
    """Run the benchmarks; yield their outputs."""
    for kind in kinds:
        words = [*launcher, "-n", str(ranks), str(osu / f"osu_{kind}"), "-m", sizes, "-i", "10", "-x", "2", "-f"]
        command = on.up.command(on.up.hosts[0], words)
        done = subprocess.run(command, cwd=on.folder, env=on.up.environment(), capture_output=True, text=True, timeout=900)
        if done.returncode:
            print(f"  osu_{kind}: {done.stderr.strip()[-200:]}")
            continue
        path = on.folder / f"osu_{kind}.txt"
        path.write_text(done.stdout)
        yield path


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--osu", type=Path, required=True)
    parser.add_argument("--openmpi", type=Path)
    parser.add_argument("--rate", type=float, default=20, help="of the links, in Mbit/s")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--each", type=int, default=2, help="ranks on each node")
    parser.add_argument("--bytes", default="16384:131072")
    parser.add_argument("--kinds", default=",".join(KINDS))
    given = parser.parse_args()
    ranks, errors = given.nodes * given.each, []
    with nodes_up(f"{given.rate:g}mbit", given.nodes) as on:
        on.more["RANKWISE_PROGRESS_S"] = "0"
        mpi = find_mpi()
        families = [(given.osu, [str(mpi.launcher_path), "-hosts", on.hosts, "-ppn", str(given.each)])]
        launcher = shutil.which("mpirun.openmpi")
        if given.openmpi is not None and launcher is not None:
            words = on.up.open_mpi(launcher, given.each)
            at = words.index("--map-by")
            families.append((given.openmpi, words[:at] + words[at + 2 :]))
        on.rankwise("measure", "-o", "machine.json", "--hosts", on.hosts, "--seconds", "60")
        on.rankwise("measure", "collectives", "-o", "machine.json", "--hosts", on.hosts, "--seconds", "20")
        print(on.rankwise("profile", "show", "machine.json"))
        for osu, words in families:
            library = "mpich-5.0" if words[0] == str(mpi.launcher_path) else "openmpi-4.1"
            print(f"{library}, {given.nodes} nodes of {given.each} ranks, {given.rate:g} Mbit/s; {load()}")
            print(f"  {'collective':<16}{'bytes':>9} {'algorithm':<34}{'OSU, ms':>10}{'predicted':>11}{'95 %':>17}{'error':>9}")
            for path in measured(on, words, osu, ranks, given.bytes, given.kinds.split(",")):
                asked = ("--osu", path.name, "--ranks", str(ranks), "--ranks-per-node", str(given.each))
                asked = (*asked, "--profile", "machine.json", "--library", library)
                for row in on.asked("predict", "collective", *asked)["rows"]:
                    if row["selected_by"] != "library":
                        continue
                    errors.append(row["error"])
                    ends = f"{1e3 * row['time_lo_s']:.3g}-{1e3 * row['time_hi_s']:.3g}"
                    print(f"  {row['collective']:<16}{row['message_bytes']:>9} {row['algorithm'] + ' ' + row['between']:<34}"
                          f"{1e3 * row['measured_s']:>10.3g}{1e3 * row['time_s']:>11.3g}{ends:>17}{100 * row['error']:>+8.1f}%",
                          flush=True)  # fmt: skip
    print(f"median of the absolute error {100 * float(np.median(np.abs(errors))):.1f} %, of the signed "
          f"{100 * float(np.median(errors)):+.1f} %")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
