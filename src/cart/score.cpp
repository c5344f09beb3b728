#include "cart/score.hpp"

#include <string>
#include <vector>

#include "mpi/error.hpp"

namespace rankwise {

Score score_of_ranks(MPI_Comm comm, const RankNodes& nodes, const Grid& grid, const Stencil& stencil) {
  int rank = 0;
  int size = 1;
  mpi(MPI_Comm_rank(comm, &rank));
  mpi(MPI_Comm_size(comm, &size));
  if (grid.size() != size) {
    invalid("the grid has " + std::to_string(grid.size()) + " cells but the communicator " + std::to_string(size) +
            " ranks: change the grid so that both are equal");
  }
  MPI_Comm apart = MPI_COMM_NULL;
  mpi(MPI_Comm_dup(comm, &apart));
  const Coords own = grid.coords(rank);
  const auto node = static_cast<NodeId>(nodes.node());
  std::vector<NodeId> node_there(stencil.offsets().size(), node);
  std::vector<MPI_Request> requests;
  requests.reserve(2 * node_there.size());
  // Where several offsets lead to one cell their messages are alike, so that one tag serves all.
  for (std::size_t i = 0; i < node_there.size(); ++i) {
    const Index to = grid.cell_beside(own, stencil.offsets()[i], 1);
    if (to >= 0) mpi(MPI_Irecv(&node_there[i], 1, MPI_INT32_T, static_cast<int>(to), 0, apart, &requests.emplace_back()));
    const Index from = grid.cell_beside(own, stencil.offsets()[i], -1);
    if (from >= 0) mpi(MPI_Isend(&node, 1, MPI_INT32_T, static_cast<int>(from), 0, apart, &requests.emplace_back()));
  }
  mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  mpi(MPI_Comm_free(&apart));

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
