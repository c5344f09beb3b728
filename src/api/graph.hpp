// Communicators with the topology of any graph, whose ranks sit where little crosses nodes.
#pragma once

#include <mpi.h>

#include <span>

#include "mapping/graph.hpp"

namespace rankwise::api {

// The lists of MPI_Dist_graph_create_adjacent.
struct Neighbours {
  int indegree = 0;
  const int* sources = nullptr;
  const int* source_weights = nullptr;  // null or MPI_UNWEIGHTED: all 1
  int outdegree = 0;
  const int* destinations = nullptr;
  const int* destination_weights = nullptr;
};
// Those of MPI_Dist_graph_create.
struct Edges {
  int count = 0;
  const int* sources = nullptr;
  const int* degrees = nullptr;
  const int* destinations = nullptr;
  const int* weights = nullptr;
};

// What goes between nodes, both ways together, where the ranks were and where they are; told to rank 0.
struct Cut {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

// All collective: as MPI's functions, but where reorder is true rank r of the new communicator is on a node that suits the
// neighbours of r. Ranks stay where they are when nothing is gained. One rank searches, until the time of the
// info's key rankwise_effort, else of RANKWISE_EFFORT, is over; else about a fifth of a second, and the same each time. Throw Failure, alike on all ranks; nothing is
// left behind then.
MPI_Comm make_dist_graph_adjacent(MPI_Comm oldcomm, const Neighbours& neighbours, MPI_Info info, bool reorder,
                                  Cut* cut = nullptr);
MPI_Comm make_dist_graph(MPI_Comm oldcomm, const Edges& edges, MPI_Info info, bool reorder, Cut* cut = nullptr);
// Null on ranks beyond the graph.
MPI_Comm make_graph(MPI_Comm oldcomm, int vertices, const int index[], const int edges[], bool reorder, Cut* cut = nullptr);

// A weight from one vertex to another.
struct Sent {
  std::int32_t from;
  std::int32_t to;
  std::int32_t weight;
};
// What is sent both ways, as the mapping takes it; what a vertex sends to itself is left out, and weights are scaled down
// where they add up to 2^31.
[[nodiscard]] WeightedGraph graph_of(std::int32_t vertices, std::span<const Sent> sent);
// Not collective. effort_s ends the search by the clock; 0: the first division alone. Throws Failure.
void map_graph_alone(std::int32_t vertices, const int first[], const int targets[], const int weights[], int nodes,
                     const int node_sizes[], double effort_s, int node_of_vertex[]);

}  // namespace rankwise::api
