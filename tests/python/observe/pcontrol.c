/* Two loops that differ; the first is not to be profiled. */
#include <mpi.h>

static void steps(int count, int peer, int doubles) {
  static double a[1000], b[1000];
  for (int i = 0; i < count; ++i) {
    MPI_Sendrecv(a, doubles, MPI_DOUBLE, peer, 1, b, doubles, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (doubles > 100) MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Pcontrol(0);
  steps(400, rank ^ 1, 10);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1, "more arguments", 2.5);
  steps(20, rank ^ 1, 1000);
  MPI_Pcontrol(0);
  steps(400, rank ^ 1, 10);
  MPI_Finalize();
  return 0;
}
