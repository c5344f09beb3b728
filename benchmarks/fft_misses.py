"""Count what FFTW reads and writes beyond a cache, and its flops: python benchmarks/fft_misses.py > czechowski2012_counted.csv

Section 5.2.1 of czechowski2012 with a simulated cache in place of hardware counters: the misses of two executions less those of
one are of one transform. Needs valgrind, a C compiler and libfftw3; takes minutes, its counts are free of noise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("fft_misses.c")
CASES = [(262144, exponent) for exponent in range(15, 20)] + [(1048576, exponent) for exponent in (17, 18, 19)]


def build(folder: Path) -> Path:
    """Compile the program. Raises CalledProcessError."""
    program = folder / "fft_misses"
    subprocess.run(
        ["cc", "-O1", "-o", str(program), str(SOURCE), "-l:libfftw3.so.3", "-lm"], check=True, stderr=subprocess.PIPE
    )
    return program


def count(program: Path, folder: Path, cache_bytes: int, exponent: int) -> tuple[int, int, int]:
    """Return the loads and the stores of one transform that miss the cache, and its flops."""
    found = []
    for executions in (1, 2):
        output = folder / "cachegrind.out"
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={output}", "--D1=32768,8,64",
                   "--I1=32768,8,64", f"--LL={cache_bytes},16,64", str(program), str(exponent), str(executions)]  # fmt: skip
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        written = output.read_text().splitlines()
        lines = dict(line.split(": ", 1) for line in written if line.startswith(("events", "summary")))
        counts = dict(zip(lines["events"].split(), map(int, lines["summary"].replace(",", "").split()), strict=False))
        found.append((counts["DLmr"], counts["DLmw"], int(done.stdout)))
    (loads, stores, _), (more_loads, more_stores, flops) = found
    return more_loads - loads, more_stores - stores, flops


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("# One transform of n complex points by FFTW 3.3.10 without SIMD, whose flops are then scalar; loads and stores")
    print("# that miss the last cache of cachegrind, 64 bytes a line. Made by: python benchmarks/fft_misses.py")
    print("n,cache_bytes,loads_missed,stores_missed,flops")
    with tempfile.TemporaryDirectory() as name:
        program = build(Path(name))
        for cache_bytes, exponent in CASES:
            print(1 << exponent, cache_bytes, *count(program, Path(name), cache_bytes, exponent), sep=",", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
