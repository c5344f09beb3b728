/* A wrapper of MPI that two functions call, one of them for three times as long: rank 1 lets rank 0 wait. */
#include <mpi.h>
#include <time.h>

static int rank;

__attribute__((noinline)) static void pass_on(int tag, long wait_ms) {
  double value = tag;
  if (rank == 1) {
    struct timespec pause = {0, wait_ms * 1000000};
    nanosleep(&pause, NULL);
    MPI_Send(&value, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(&value, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void slow(void) {
  pass_on(1, 30);
  __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void quick(void) {
  pass_on(2, 10);
  __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void step(void) {
  slow();
  quick();
  __asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 25; i++) step();
  MPI_Finalize();
  return 0;
}
