// Communicators with a topology whose ranks sit where little crosses nodes.
#pragma once

#include <mpi.h>

#include <span>
#include <string>

#include "grid/grid.hpp"
#include "mapping/graph.hpp"
#include "mapping/mapping.hpp"

namespace rankwise::api {

// Cartesian communicators whose ranks sit where few messages of a stencil cross nodes.

// What a caller asks for, as it came; not looked at before all ranks can hear what is wrong with it.
struct CartArguments {
  int ndims = 0;
  const int* dims = nullptr;
  const int* periods = nullptr;
  bool reorder = true;
  const int* stencil = nullptr;  // k x ndims offsets; nearest-neighbor where k is 0
  int k = 0;
  const int* weights = nullptr;  // k of them, or null: all 1
  MPI_Info info = MPI_INFO_NULL;
  std::string stencil_name{};  // a stencil by its name (grid/grid.hpp) instead of offsets; empty: the offsets count
};

struct Cart {
  MPI_Comm comm = MPI_COMM_NULL;  // null on ranks beyond the grid
  std::string mapping;            // how its ranks were mapped; empty where they keep their order
  bool verbose = false;           // whether some rank has RANKWISE_VERBOSE set
  Index nodes = 0;                // as many as its ranks are on; 0 on ranks beyond the grid
};

// Collective. The mapping is that of the info's key rankwise_mapping, else of RANKWISE_MAPPING, else auto; the effort
// of a search that of rankwise_effort, else of RANKWISE_EFFORT, else what it is worth (mapping/effort.hpp).
// Throws Failure, alike on all ranks; nothing is left behind then.
Cart make_cart(MPI_Comm oldcomm, const CartArguments& arguments);

// Collective: the score when rank r of comm has cell r. Throws Failure, alike on all ranks.
Score score_as_it_is(MPI_Comm comm, const CartArguments& arguments);

// Communicators with the topology of any graph, whose ranks sit where little crosses nodes.

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

// What goes between nodes, both ways together, where the ranks were and where they are; gathered at rank 0.
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
