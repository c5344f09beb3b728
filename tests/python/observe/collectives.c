// Collectives that libraries carry out by rules of their own: with blocks that differ, in place, with an operation that does not
// commute, on communicators in another order, and (second argument) on two groups. The first argument: how many steps of them.
#include <mpi.h>
#include <stdlib.h>

static void last_of(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  (void)in;
  (void)inout;
  (void)length;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  // Only where it is asked for: Open MPI 5 makes it by messages with its processes' names, of digits that differ from run to run.
  if (argc > 2) MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? ranks - 2 : ranks - 1, 7, &between);
  MPI_Op op;
  MPI_Op_create(last_of, 0, &op);
  char *from = calloc(1, 1 << 16), *to = calloc(1, 1 << 16);
  int counts[64], at[64], received[64], received_at[64];
  for (int i = 0, sum = 0, back = 0; i < ranks; i++) {
    counts[i] = rank == i ? 5 : 10 * rank + i;
    received[i] = rank == i ? 5 : 10 * i + rank;
    at[i] = sum;
    received_at[i] = back;
    sum += counts[i];
    back += received[i];
  }
  int own[64], own_at[64], shares[64];
  for (int i = 0; i < ranks; i++) {
    own[i] = 100 + i;
    own_at[i] = 200 * i;
    shares[i] = i + 1;
  }
  for (int step = 0; step < atoi(argv[1]); step++) {
    MPI_Alltoallv(from, counts, at, MPI_CHAR, to, received, received_at, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_CHAR, to, 96, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Gatherv(from, own[rank], MPI_CHAR, to, own, own_at, MPI_CHAR, 2, MPI_COMM_WORLD);
    MPI_Allreduce(from, to, 3, MPI_DOUBLE, op, MPI_COMM_WORLD);
    MPI_Reduce_scatter(from, to, shares, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(from, 1000, MPI_CHAR, to, 1000, MPI_CHAR, half);
    MPI_Bcast(to, 64, MPI_CHAR, 1, half);
    if (argc > 2) MPI_Allreduce(from, to, 4, MPI_INT, MPI_SUM, between);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
