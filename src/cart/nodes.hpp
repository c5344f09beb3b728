// Which ranks of a communicator share a node, as MPI tells (MPI_COMM_TYPE_SHARED): they need not be neighbours in rank
// order, and nodes may differ in size.
#pragma once

#include <mpi.h>

#include "mapping/mapping.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

// Nodes are numbered in the order of their lowest rank. Takes no memory that grows with the number of ranks beyond
// MPI's own, and one number a node only where nodes differ in size.
class RankNodes {
 public:
  // Collective. comm: an intra-communicator. Throws MpiError.
  explicit RankNodes(MPI_Comm comm);

  [[nodiscard]] const NodeSizes& sizes() const { return sizes_; }
  [[nodiscard]] Index node() const { return node_; }
  // Where this rank comes when the ranks are counted node by node: the rank that the mappings mean.
  [[nodiscard]] Index place() const { return place_; }
  // The ranks of this rank's node, in rank order.
  [[nodiscard]] MPI_Comm comm() const { return comm_.get(); }

 private:
  OwnedComm comm_;
  NodeSizes sizes_{1, 1};
  Index node_ = 0;
  Index place_ = 0;
};

// The score of a placement as it is, asked of the ranks themselves.

// Collective: the score when rank r of comm has cell r of the grid, the same on all ranks and the same as score() of the
// whole map. nodes: of comm. Each rank exchanges one number with each of its neighbours and holds no more than that.
// Throws MpiError; std::invalid_argument, on all ranks alike, when the grid does not have a cell for each rank.
Score score_of_ranks(MPI_Comm comm, const RankNodes& nodes, const Grid& grid, const Stencil& stencil);

}  // namespace rankwise
