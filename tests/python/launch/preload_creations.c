/* Creates and frees a grid's communicator again and again: preload_creations COUNT REORDER. Rank 0 prints the time of one. Exits 1
 * where a later communicator has its ranks in another order than the first. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, i, different = 0, result;
  const int count = argc > 1 ? atoi(argv[1]) : 10000, reorder = argc > 2 ? atoi(argv[2]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int dims[2] = {0, 0};
  const int periods[2] = {0, 0};
  MPI_Dims_create(size, 2, dims);
  MPI_Comm first, again;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &first);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (i = 0; i < count; ++i) {
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &again);
    if (i + 1 == count) {
      MPI_Comm_compare(first, again, &result);
      different = result != MPI_CONGRUENT;
    }
    MPI_Comm_free(&again);
  }
  const double seconds = MPI_Wtime() - begun;
  if (rank == 0) printf("%.3f us a creation\n", 1e6 * seconds / count);
  MPI_Comm_free(&first);
  MPI_Allreduce(MPI_IN_PLACE, &different, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return different;
}
