// A collective by an unmodified program, for tune.py and collectives_pairs.py: collective KIND BYTES TIMES [timed]
// BYTES: of the vector, or of one rank's block. Timed: all begin together, and rank 0 prints the least of the slowest ranks' times.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int p, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* kind = argv[1];
  const int e = atoi(argv[2]) / 4, timed = argc > 4;
  char *in = calloc((size_t)e * p + 2, 4), *out = calloc((size_t)e * p + 2, 4);
  int* counts = malloc(p * sizeof(int));
  for (int i = 0; i < p; ++i) counts[i] = e / p + (i < e % p);
  double least = 1e9, slowest;
  for (int i = 0; i < atoi(argv[3]); ++i) {
    if (timed) MPI_Barrier(MPI_COMM_WORLD);
    double took = -MPI_Wtime();
    if (!strcmp(kind, "bcast")) MPI_Bcast(in, e, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "reduce")) MPI_Reduce(in, out, e, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "allreduce")) MPI_Allreduce(in, out, e, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(kind, "allgather")) MPI_Allgather(in, e, MPI_INT, out, e, MPI_INT, MPI_COMM_WORLD);
    if (!strcmp(kind, "alltoall")) MPI_Alltoall(in, e, MPI_INT, out, e, MPI_INT, MPI_COMM_WORLD);
    if (!strcmp(kind, "reduce_scatter")) MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(kind, "gather")) MPI_Gather(in, e, MPI_INT, out, e, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "scatter")) MPI_Scatter(in, e, MPI_INT, out, e, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
    took += MPI_Wtime();
    if (timed) MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (timed && slowest < least) least = slowest;
  }
  if (timed && rank == 0) printf("%.9f\n", least);
  MPI_Finalize();
  return 0;
}
