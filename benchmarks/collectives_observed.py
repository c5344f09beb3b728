"""How right the steps of observed programs are that call collectives: against SimGrid's own implementations.

    python benchmarks/collectives_observed.py [--mpicc FOLDER/bin/mpicc]   # MPICH, SimGrid; some minutes

A program transposes a distributed 3-D array as FFTs do, along rows and columns of a grid of ranks, and adds up a number. It is
observed under MPICH as it is; SMPI carries the same program out on simulated nodes, by the algorithms that MPICH's sources
select: Bruck's up to 256 B a block of 8 ranks, all at once up to 32768 B, then one partner after the other; sums by recursive
doubling, of one rank a node where nodes have several. Computing is left out of both, so that
what is compared is the schedule of the collectives alone. Bar: within 5 % at each number of ranks; exit 1 where one is missed.

MPICH 5.0.2, SimGrid 3.32, 80 steps: 12 ranks median 0.04 %, largest 4.7 %; 15 ranks 0.00 and 0.07 %; 16 ranks 0.00 and
0.01 %; 64 ranks 0.00 and 0.8 %.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from harness import Table, compiled, options
from judge_draw import MACHINES, machine_of, placed

from rankwise.engines.platform import Platform, parse_network
from rankwise.launch.smpi import SimGrid, Simulation, find_simgrid, run_simulation
from rankwise.observe.phases import observed_step
from rankwise.observe.record import read_record
from rankwise.observe.start import observe

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static void transpose(MPI_Comm comm, int bytes, int uneven, char* in, char* out) {
  int p, me;
  MPI_Comm_size(comm, &p);
  MPI_Comm_rank(comm, &me);
  if (!uneven) {
    MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, comm);
    return;
  }
  int *n = calloc(4 * p, sizeof(int)), *at = n + p, *got = n + 2 * p, *got_at = n + 3 * p;
  for (int i = 0; i < p; ++i) {  // the first ranks have a plane more
    n[i] = bytes / 8 * (8 + (i == 0)) / 8 * (8 + (me == 0));
    got[i] = bytes / 8 * (8 + (me == 0)) / 8 * (8 + (i == 0));
  }
  for (int i = 1; i < p; ++i) at[i] = at[i - 1] + n[i - 1], got_at[i] = got_at[i - 1] + got[i - 1];
  MPI_Alltoallv(in, n, at, MPI_CHAR, out, got, got_at, MPI_CHAR, comm);
  free(n);
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, p, rows = atoi(argv[1]), bytes = atoi(argv[2]), uneven = atoi(argv[3]), steps = atoi(argv[4]), timed = atoi(argv[5]);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm row, column;
  MPI_Comm_split(MPI_COMM_WORLD, me / rows, me, &row);
  MPI_Comm_split(MPI_COMM_WORLD, me % rows, me, &column);
  char *in = calloc(2 * p, bytes), *out = calloc(2 * p, bytes);
  double sum = 1, all, longest = 0;
  for (int i = 0; i < steps; ++i) {
    if (timed) {  // all begin at once, as no barrier lets them
      double now = MPI_Wtime(), last;
      MPI_Allreduce(&now, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      long rest_ns = (long)(1e9 * (last + 1 - MPI_Wtime()));
      struct timespec rest = {rest_ns / 1000000000, rest_ns % 1000000000};
      nanosleep(&rest, NULL);
    }
    double begin = MPI_Wtime();
    transpose(row, bytes, uneven, in, out);
    transpose(column, bytes, uneven, out, in);
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double took = MPI_Wtime() - begin;
    if (timed) MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  }
  if (timed && !me) printf("{\"record\":\"samples\",\"time_s\":[%.17g]}\n{\"record\":\"end\"}\n", longest);
  MPI_Finalize();
  return 0;
}
"""
GRIDS = ((3, 4), (3, 5), (4, 4), (8, 8))
WAITING = {name: machine_of(name, rendezvous=[(0, 0.0, 0.0)]) for name in MACHINES}  # for their receivers: sends of any size
SIZES = (160, 8000, 64000)


def _paired(ranks: int) -> str:
    return "pair" if ranks & (ranks - 1) == 0 else "ring"


def observed_s(folder: Path, mpiexec: str, words: list[str], ranks: int, ranks_per_node: int, machine: str) -> float:
    """Return the predicted time of the step of a program that was observed."""
    path = folder / "app.comm"
    code, record = observe([mpiexec, "-n", str(ranks), str(folder / "program"), *words, "12", "0"], path)
    assert code == 0 and record is not None
    step = observed_step(read_record(path)).without_computing()
    return float(step.judged(placed(ranks, ranks_per_node, False)).cost(1, WAITING[machine].alone()).time_s)


def simulated_s(simgrid: SimGrid, folder: Path, words: list[str], ranks: int, ranks_per_node: int, machine: str) -> float:
    placement = placed(ranks, ranks_per_node, False)
    platform = Platform("drawn", parse_network("crossbar", None, placement.nodes), 1, WAITING[machine])
    hosts = [platform.host(*placement.location(rank)[:2]) for rank in range(ranks)]
    rows, size = map(int, words[:2])
    at_once = "bruck" if rows >= 8 and size <= 256 else "basic_linear"
    names = {"alltoall": at_once if size <= 32768 else _paired(rows), "alltoallv": "ompi_basic_linear",
             "allreduce": "rdb" if ranks_per_node == 1 else "smp_rdb"}  # fmt: skip
    options = ("--cfg=smpi/simulate-computation:no", *(f"--cfg=smpi/{kind}:{name}" for kind, name in names.items()))
    simulation = Simulation(platform.text(), hosts, (*words, "3", "1"), eager_bytes=0, options=options)
    own = SimGrid(simgrid.smpirun, simgrid.version, folder / "simulated", simgrid.platforms)
    return float(run_simulation(own, simulation, folder / "log")[0]["time_s"][0])


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--mpicc", default=shutil.which("mpicc"), help="of an MPICH, beside its mpiexec")
    asked = parser.parse_args()
    os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
    table, simgrid = Table(), find_simgrid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.c").write_text(PROGRAM)
        for compiler, binary in ((asked.mpicc, "program"), ("smpicc", "simulated")):
            compiled(folder / "program.c", folder / binary, compiler)
        mpiexec = str(Path(asked.mpicc).with_name("mpiexec"))
        for rows, columns in GRIDS:
            ranks, errors = rows * columns, []
            for size in SIZES:
                for uneven in (0, 1):
                    if size > 32768 and not uneven and _paired(rows) != _paired(columns):
                        continue  # MPICH pairs rows and columns in two ways, of which SMPI has one for all
                    words = [str(rows), str(size), str(uneven)]
                    for each, machine in ((1, "wagner"), (4, "wagner"), (1, "werner"), (4, "werner")):
                        if ranks % each:
                            continue  # where nodes differ SMPI's sums look at none, and MPICH's do
                        ours = observed_s(folder, mpiexec, words, ranks, each, machine)
                        theirs = simulated_s(simgrid, folder, words, ranks, each, machine)
                        errors.append(ours / theirs - 1)
                        what = f"{rows}x{columns}, {size} B{', uneven' * uneven}, {each} a node, {machine}"
                        print(
                            f"  {what}: {1e6 * ours:.1f} us, simulated {1e6 * theirs:.1f}: {100 * errors[-1]:+.2f} %",
                            flush=True,
                        )
            table.title(f"{ranks} ranks: {len(errors)} steps, absolute error")
            table.errors(errors, (50, None), (100, 5))
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
