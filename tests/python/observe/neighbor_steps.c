/* Halos by neighbourhood collectives: 20 steps on a periodic ring and on a graph of one way, blocking and not. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, period = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm ring, graph;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring);
  int from = (rank + size - 1) % size, to = (rank + 1) % size;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  char *sent = calloc(1, 4000), *received = calloc(1, 4000);
  double sum = 0, all;
  for (int step = 0; step < 20; step++) {
    MPI_Request request;
    MPI_Neighbor_alltoall(sent, 1000, MPI_CHAR, received, 1000, MPI_CHAR, ring);
    MPI_Ineighbor_allgather(sent, 500, MPI_CHAR, received, 500, MPI_CHAR, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  free(sent);
  free(received);
  MPI_Finalize();
  return 0;
}
