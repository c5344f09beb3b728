#include "cart/nodes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace rankwise {

RankNodes::RankNodes(MPI_Comm comm) : comm_(comm_of_node(comm)) {
  const int local = rank_of(comm_.get());
  const int here = size_of(comm_.get());

  // The lowest rank of each node asks the others, and tells its node.
  OwnedComm leaders;
  mpi(MPI_Comm_split(comm, local == 0 ? 0 : MPI_UNDEFINED, rank_of(comm), &leaders));
  enum { node, nodes, first, smallest, largest, count };
  std::array<Index, count> facts{};
  std::vector<Index> sizes;
  const Index size = here;
  if (local == 0) {
    facts[node] = rank_of(leaders.get());
    facts[nodes] = size_of(leaders.get());
    mpi(MPI_Exscan(&size, &facts[first], 1, MPI_INT64_T, MPI_SUM, leaders.get()));
    if (facts[node] == 0) facts[first] = 0;
    mpi(MPI_Allreduce(&size, &facts[smallest], 1, MPI_INT64_T, MPI_MIN, leaders.get()));
    mpi(MPI_Allreduce(&size, &facts[largest], 1, MPI_INT64_T, MPI_MAX, leaders.get()));
  }
  mpi(MPI_Bcast(facts.data(), count, MPI_INT64_T, 0, comm_.get()));
  if (facts[smallest] == facts[largest]) {
    sizes_ = NodeSizes(facts[nodes], size);
  } else {
    sizes.resize(static_cast<std::size_t>(facts[nodes]));
    if (local == 0) mpi(MPI_Allgather(&size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, leaders.get()));
    mpi(MPI_Bcast(sizes.data(), static_cast<int>(sizes.size()), MPI_INT64_T, 0, comm_.get()));
    sizes_ = NodeSizes(sizes);
  }
  node_ = facts[node];
  place_ = facts[first] + local;
}

Score score_of_ranks(MPI_Comm comm, const RankNodes& nodes, const Grid& grid, const Stencil& stencil) {
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  if (grid.size() != size) {
    invalid("the grid has " + std::to_string(grid.size()) + " cells but the communicator " + std::to_string(size) +
            " ranks: change the grid so that both are equal");
  }
  OwnedComm apart;
  mpi(MPI_Comm_dup(comm, &apart));
  const Coords own = grid.coords(rank);
  const auto node = static_cast<NodeId>(nodes.node());
  std::vector<NodeId> node_there(stencil.offsets().size(), node);
  std::vector<MPI_Request> requests;
  requests.reserve(2 * node_there.size());
  // Where several offsets lead to one cell their messages are alike, so that one tag serves all.
  for (std::size_t i = 0; i < node_there.size(); ++i) {
    const Index to = grid.cell_at_offset(own, stencil.offsets()[i], 1);
    if (to >= 0) mpi(MPI_Irecv(&node_there[i], 1, MPI_INT32_T, static_cast<int>(to), 0, apart.get(), &requests.emplace_back()));
    const Index from = grid.cell_at_offset(own, stencil.offsets()[i], -1);
    if (from >= 0) mpi(MPI_Isend(&node, 1, MPI_INT32_T, static_cast<int>(from), 0, apart.get(), &requests.emplace_back()));
  }
  mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));

  Index cut = 0;
  for (std::size_t i = 0; i < node_there.size(); ++i) cut += node_there[i] != node ? stencil.weights()[i] : 0;
  Score score;
  Index of_node = 0;
  mpi(MPI_Allreduce(&cut, &score.j_sum, 1, MPI_INT64_T, MPI_SUM, comm));
  mpi(MPI_Allreduce(&cut, &of_node, 1, MPI_INT64_T, MPI_SUM, nodes.comm()));
  mpi(MPI_Allreduce(&of_node, &score.j_max, 1, MPI_INT64_T, MPI_MAX, comm));
  return score;
}

}  // namespace rankwise
