/* Its ranks send around, rank 0 spawns the program twice and all speak with those that were spawned; both worlds end well. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, size, value = 7, own[4] = {0};
  MPI_Comm parent, others;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    MPI_Sendrecv(own, 4, MPI_INT, (rank + 1) % size, 1, own, 4, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, rank, 0, others);
    MPI_Recv(&value, 1, MPI_INT, rank, 0, others, MPI_STATUS_IGNORE);
  } else {
    others = parent;
    MPI_Recv(&value, 1, MPI_INT, rank, 0, others, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, rank, 0, others);
  }
  MPI_Comm_disconnect(&others);
  MPI_Finalize();
  return value != 7;
}
