/* 12 cycles of particles that leave for the ranks on both sides: each sends another number of messages in each, none in the first
 * two; receives are posted before any is known to come and cancelled where none did, and a sum tells whether all have arrived. */
#include <mpi.h>
#include <stdlib.h>

static int rank, size, sent, got;

static void exchange(const int* at, int messages, int cycle) {
  enum { LARGEST = 4000 };
  static char in[2][LARGEST], out[LARGEST];
  MPI_Request from[2];
  long mine[2], all[2] = {1, 0};
  sent = got = 0;
  for (int side = 0; side < 2; ++side) MPI_Irecv(in[side], LARGEST, MPI_BYTE, at[side], 1, MPI_COMM_WORLD, &from[side]);
  while (all[0] != all[1]) {
    for (; sent < messages; ++sent) {
      MPI_Request to;
      MPI_Isend(out, 1000 + 100 * ((rank * 7 + cycle * 5 + sent) % 30), MPI_BYTE, at[sent % 2], 1, MPI_COMM_WORLD, &to);
      MPI_Wait(&to, MPI_STATUS_IGNORE);
    }
    for (int side = 0, done = 1; side < 2; side += !done, done = 1) {
      MPI_Test(&from[side], &done, MPI_STATUS_IGNORE);
      if (!done) continue;
      ++got;
      MPI_Irecv(in[side], LARGEST, MPI_BYTE, at[side], 1, MPI_COMM_WORLD, &from[side]);
    }
    mine[0] = sent;
    mine[1] = got;
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  }
  for (int side = 0; side < 2; ++side) {
    MPI_Cancel(&from[side]);
    MPI_Wait(&from[side], MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  double tallies[13] = {0}, sums[13];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int at[2] = {(rank + 1) % size, (rank + size - 1) % size};
  for (int cycle = 0; cycle < 12; ++cycle) {
    exchange(at, cycle < 2 ? 0 : 8 + (rank * 3 + cycle * 11) % 5, cycle);
    MPI_Allreduce(tallies, sums, 13, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
