"""What being observed costs a call: paired, alternated runs of one rank with and without the tracer, beyond its first window.

    python benchmarks/observe_overhead.py [--mpicc mpicc] [--pairs 12]

Kinds of calls: counted only (MPI_Test), counted with its message (MPI_Isend), timed (MPI_Wait), timed with its message
(MPI_Send), and within a window of events. Each figure is the median over pairs of (observed - plain) for a call, with the
median plain time.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from harness import compiled, options

from rankwise.observe.start import library

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#define N 100000
#define LOOP(name, calls, n, body) { \
    double best = 1e9; \
    for (int t = 0; t < 5; t++) { double s = MPI_Wtime(); for (int i = 0; i < n; i++) { body; } \
      double d = (MPI_Wtime() - s) / (n) / calls; if (d < best) best = d; } \
    printf("%s %.3f\n", name, best * 1e9); }
static char out[64 * 8], in[64 * 8];
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Request none = MPI_REQUEST_NULL, requests[128];
  int flag;
  LOOP("in-window", 1, 4000, MPI_Wait(&none, MPI_STATUS_IGNORE))
  LOOP("in-window-exchange", 3, 2000, MPI_Irecv(in, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, requests);
    MPI_Send(out, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF); MPI_Wait(requests, MPI_STATUS_IGNORE))
  for (int i = 0; i < 70000; i++) MPI_Send(out, 0, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  LOOP("counted", 1, N, MPI_Test(&none, &flag, MPI_STATUS_IGNORE))
  LOOP("timed", 1, N, MPI_Wait(&none, MPI_STATUS_IGNORE))
  LOOP("timed-message", 1, N, MPI_Send(out, 8, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD))
  LOOP("counted-message", 129, N / 64,
       for (int k = 0; k < 64; k++) MPI_Irecv(in + 8 * k, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, requests + k);
    for (int k = 0; k < 64; k++) MPI_Isend(out, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, requests + 64 + k);
    MPI_Waitall(128, requests, MPI_STATUSES_IGNORE))
  LOOP("exchange", 3, N, MPI_Irecv(in, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, requests);
    MPI_Send(out, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF); MPI_Wait(requests, MPI_STATUS_IGNORE))
  MPI_Finalize();
}
"""


def _run(program: Path, folder: Path | None) -> dict[str, float]:
    environment = dict(os.environ)
    if folder is not None:
        environment |= {"LD_PRELOAD": str(library()), "RANKWISE_OBSERVE_DIR": str(folder)}
    done = subprocess.run([str(program)], env=environment, check=True, capture_output=True, text=True)
    return {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--mpicc", default="mpicc")
    parser.add_argument("--pairs", type=int, default=12)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "calls.c").write_text(PROGRAM)
        compiled(folder / "calls.c", folder / "calls", asked.mpicc)
        plain, observed = [], []
        for pair in range(asked.pairs):
            for which in ((plain, None), (observed, folder))[:: 1 if pair % 2 else -1]:
                which[0].append(_run(folder / "calls", which[1]))
            for left in folder.glob("*.node"):
                left.unlink()
    print("call                  plain ns   more ns (median of pairs, least of each)")
    for kind in plain[0]:
        more = [b[kind] - a[kind] for a, b in zip(plain, observed, strict=True)]
        least = min(run[kind] for run in observed) - min(run[kind] for run in plain)
        print(f"{kind:20}  {statistics.median(run[kind] for run in plain):8.1f}  {statistics.median(more):8.1f}  {least:8.1f}")


if __name__ == "__main__":
    main()
