// Ranks in pairs (0 and 1, 2 and 3, ...) as a graph, by each of the functions that the letters name: a, d and g. Prints whether
// ranks moved, and that the neighbours MPI tells are the right ones and are heard.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void check(MPI_Comm comm, int is_graph, const char* name) {
  int rank, other = -1, degree = 0, out = 0, weighted = 0, world;
  int result = MPI_UNEQUAL;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  if (is_graph) {
    MPI_Graph_neighbors_count(comm, rank, &degree);
    MPI_Graph_neighbors(comm, rank, 1, &other);
  } else {
    int weight = 0, to = -1, other_weight = 0;
    MPI_Dist_graph_neighbors_count(comm, &degree, &out, &weighted);
    MPI_Dist_graph_neighbors(comm, 1, &other, &weight, 1, &to, &other_weight);
    if (out != 1 || to != other || (weighted && (weight != 7 || other_weight != 7))) degree = -1;
  }
  int heard = -1;
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, &heard, 1, MPI_INT, comm);
  int good = degree == 1 && other == (rank ^ 1) && heard == other, all = 0;
  MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm);
  MPI_Comm_compare(MPI_COMM_WORLD, comm, &result);
  if (world == 0) printf("%s good %d moved %d\n", name, all, result == MPI_SIMILAR);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* which = argc > 1 ? argv[1] : "adg";
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int other = rank ^ 1, one = 1, seven = 7;
  MPI_Comm made;
  if (strchr(which, 'a')) {
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 1,
                                   &made);
    check(made, 0, "adjacent");
    MPI_Comm_free(&made);
  }
  if (strchr(which, 'd')) {  // each rank tells the edge of the rank after the next
    const int source = (rank + 2) % size, to = source ^ 1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &one, &to, &seven, MPI_INFO_NULL, 1, &made);
    check(made, 0, "any");
    MPI_Comm_free(&made);
  }
  if (strchr(which, 'g')) {
    int index[64], edges[64];
    for (int v = 0; v < size; ++v) {
      index[v] = v + 1;
      edges[v] = v ^ 1;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &made);
    check(made, 1, "graph");
    MPI_Comm_free(&made);
  }
  MPI_Finalize();
  return 0;
}
