"""What the preload gains an unmodified program: 8 ranks placed cyclically on four nodes, links of 1 Gbit/s.

    python benchmarks/preload_halo.py [PAIRS]      as root: makes network namespaces

Plain and preloaded runs alternate. Prints the median of each, the ratio of the medians with its bootstrapped 95 % interval,
and what J_max promises: the busiest node's link carries 5 messages a step before and 3 after, each way.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from rankwise.engines.run_stencil import ratio_interval
from rankwise.launch import find_mpi

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python" / "cluster"))
WIDTH, STEPS = 131_072, 6  # 1 MiB an edge


def main() -> None:
    from nodes import FOUR, Nodes

    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    mpi = find_mpi()
    programs = [("C", str(mpi.launcher_path.parent / "mpicc"), "halo.c", str(mpi.launcher_path))]
    with Nodes("1gbit", FOUR) as network, tempfile.TemporaryDirectory() as scratch:
        for language, compiler, source, mpiexec in programs:
            program = str(Path(scratch) / language)
            subprocess.run([compiler, "-O2", str(ROOT / "examples" / source), "-o", program], check=True, capture_output=True)
            run = [mpiexec, "-hosts", ",".join(network.hosts), "-ppn", "1", "-n", "8", program, str(WIDTH), str(STEPS)]
            preload = [sys.executable, "-m", "rankwise", "preload", "--verbose", "--"]
            times: dict[bool, list[float]] = {False: [], True: []}
            said = ""
            for _ in range(pairs):
                for placed in (False, True):
                    done = subprocess.run(
                        network.command(network.hosts[0], [*(preload if placed else []), *run]),
                        check=True, capture_output=True, text=True, timeout=300,
                        env={**network.environment(), "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"},
                    )  # fmt: skip
                    found = re.search(r"step_ms (\S+)", done.stdout)
                    assert found is not None, done.stdout
                    times[placed].append(float(found[1]))
                    said = done.stderr.strip() or said
            plain, placed_ms = (np.asarray(times[key]) for key in (False, True))
            before, after = map(int, re.findall(r"J_max (\d+) into (\d+)", said)[0])
            value, low, high = ratio_interval(plain, placed_ms)
            print(said)
            print(
                f"{language}: {np.median(plain):.1f} ms a step plain, {np.median(placed_ms):.1f} ms preloaded; ratio {value:.2f} "
                f"({low:.2f} to {high:.2f}), J_max promises {before / after:.2f}; {pairs} runs each, load {os.getloadavg()[0]:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
