/* 12 steps: every rank puts 800 B to its right neighbour and gets 80 B from its left one, within fences, locks, or start and post. */
#include <mpi.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, size;
  double* memory;
  double own[100] = {0}, got[10];
  MPI_Win win;
  MPI_Group world, left, right;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int to = (rank + 1) % size, from = (rank + size - 1) % size, both[2] = {to, from};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, both, &left);
  MPI_Group_incl(world, 2, both, &right);
  MPI_Win_allocate(200 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  const char kind = argv[1][0];
  if (kind == 'f') MPI_Win_fence(0, win);
  for (int step = 0; step < 12; ++step) {
    if (kind == 'p') {
      MPI_Win_post(left, 0, win);
      MPI_Win_start(right, 0, win);
    }
    if (kind == 'l') MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
    MPI_Put(own, 100, MPI_DOUBLE, to, 0, 100, MPI_DOUBLE, win);
    if (kind == 'l') {
      MPI_Win_unlock(to, win);
      MPI_Win_lock(MPI_LOCK_SHARED, from, 0, win);
    }
    MPI_Get(got, 10, MPI_DOUBLE, from, 150, 10, MPI_DOUBLE, win);
    if (kind == 'l') MPI_Win_unlock(from, win);
    if (kind == 'f') MPI_Win_fence(0, win);
    if (kind == 'p') {
      MPI_Win_complete(win);
      MPI_Win_wait(win);
    }
    double begun = MPI_Wtime();
    while (MPI_Wtime() - begun < 2e-4) continue;
  }
  MPI_Group_free(&left);
  MPI_Group_free(&right);
  MPI_Group_free(&world);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
