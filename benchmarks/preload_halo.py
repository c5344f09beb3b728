"""What the preload gains an unmodified program: 8 ranks placed cyclically on four nodes, links of 1 Gbit/s.

    python benchmarks/preload_halo.py [PAIRS]      as root: makes network namespaces

A C program with our MPICH, and a Fortran program with the system's Open MPI where that is installed. Plain and preloaded runs
alternate. Prints the median of each, the ratio of the medians with its bootstrapped 95 % interval,
and what J_max promises: the busiest node's link carries 5 messages a step before and 3 after, each way.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from rankwise.launch.mpi import find_mpi
from rankwise.statistics import ratio_interval

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python" / "cluster"))
WIDTH, STEPS = 131_072, 6  # 1 MiB an edge


def main() -> None:
    from nodes import FOUR, Nodes

    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    mpi = find_mpi()
    with Nodes("1gbit", FOUR) as network, tempfile.TemporaryDirectory() as scratch:
        ours = [str(mpi.launcher_path), "-hosts", ",".join(network.hosts), "-ppn", "1"]
        programs = [("C", str(mpi.launcher_path.parent / "mpicc"), "halo.c", ours)]
        system = {**network.environment(), "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
        if shutil.which("mpifort.openmpi"):
            # The preload library for another MPI is built with the mpicxx on PATH.
            (Path(scratch) / "mpicxx").symlink_to(str(shutil.which("mpicxx.openmpi")))
            system |= {"RANKWISE_MPI": "system", "PATH": f"{scratch}:{system['PATH']}"}
            programs.append(("Fortran", "mpifort.openmpi", "halo.F90", network.open_mpi("mpiexec.openmpi", 2)))
        for language, compiler, source, launcher in programs:
            program = str(Path(scratch) / language)
            subprocess.run([compiler, "-O2", str(ROOT / "examples" / source), "-o", program], check=True, capture_output=True)
            run = [*launcher, "-n", "8", program, str(WIDTH), str(STEPS)]
            preload = [sys.executable, "-m", "rankwise", "preload", "--verbose", "--"]
            times: dict[bool, list[float]] = {False: [], True: []}
            said = ""
            for _ in range(pairs):
                for placed in (False, True):
                    done = subprocess.run(
                        network.command(network.hosts[0], [*(preload if placed else []), *run]),
                        check=True, capture_output=True, text=True, timeout=300,
                        env=system,
                    )  # fmt: skip
                    found = re.search(r"step_ms (\S+)", done.stdout)
                    assert found is not None, done.stdout
                    times[placed].append(float(found[1]))
                    if "J_max" in done.stderr:
                        said = done.stderr.strip().splitlines()[-1]
            plain, placed_ms = (np.asarray(times[key]) for key in (False, True))
            before, after = map(int, re.findall(r"J_max (\d+) into (\d+)", said)[0])
            value, low, high = ratio_interval(plain, placed_ms)
            print(said)
            print(
                f"{language}: {np.median(plain):.1f} ms a step plain, {np.median(placed_ms):.1f} ms preloaded; ratio "
                f"{value:.2f} ({low:.2f} to {high:.2f}), J_max promises {before / after:.2f}; {pairs} runs each, load "
                f"{os.getloadavg()[0]:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
