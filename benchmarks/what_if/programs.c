// Small programs for what_if.py: -DPROGRAM=pencils, halo or master.
#include <mpi.h>
#include <stdlib.h>

#define STEPS 24

// A halo in two dimensions, in flight together, and a sum.
static void halo(int me, int p) {
  int dims[2] = {0, 0};
  MPI_Dims_create(p, 2, dims);
  int n = 65536 / dims[0], x = me / dims[1], y = me % dims[1];
  char* buffer = calloc(8, 65536);
  for (int step = 0; step < STEPS; ++step) {
    MPI_Request requests[8];
    int count = 0;
    for (int d = 0; d < 4; ++d) {
      int to_x = x + (d == 0) - (d == 1), to_y = y + (d == 2) - (d == 3);
      if (to_x < 0 || to_y < 0 || to_x == dims[0] || to_y == dims[1]) continue;
      int to = to_x * dims[1] + to_y;
      MPI_Irecv(buffer + d * 65536, n, MPI_CHAR, to, d ^ 1, MPI_COMM_WORLD, &requests[count++]);
      MPI_Isend(buffer + (4 + d) * 65536, n, MPI_CHAR, to, d, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    double sum = 1, all;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

// Transposes of an array in pencils: along rows of ranks, then columns.
static void pencils(int me, int p) {
  int dims[2] = {0, 0};
  MPI_Dims_create(p, 2, dims);
  MPI_Comm row, column;
  MPI_Comm_split(MPI_COMM_WORLD, me / dims[1], me, &row);
  MPI_Comm_split(MPI_COMM_WORLD, me % dims[1], me, &column);
  char *in = calloc(p, 4096), *out = calloc(p, 4096);
  for (int step = 0; step < STEPS; ++step) {
    MPI_Alltoall(in, 4096, MPI_CHAR, out, 4096, MPI_CHAR, row);
    MPI_Alltoall(out, 4096, MPI_CHAR, in, 4096, MPI_CHAR, column);
  }
}

// Rank 0 gives out work to whoever asks first.
static void master(int me, int p) {
  char buffer[2048] = {0};
  for (int step = 0; step < STEPS; ++step) {
    if (me == 0) {
      for (int i = 0; i < 2 * (p - 1); ++i) {
        MPI_Status status;
        MPI_Recv(buffer, 1024, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        MPI_Send(buffer, 2048, MPI_CHAR, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
      }
    } else {
      for (int i = 0; i < 2; ++i) {
        MPI_Send(buffer, 1024, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, 2048, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  PROGRAM(me, p);
  MPI_Finalize();
  return 0;
}
