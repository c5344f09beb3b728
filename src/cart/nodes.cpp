#include "cart/nodes.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "mpi/error.hpp"

namespace rankwise {

namespace {

struct Scoped {
  MPI_Comm comm = MPI_COMM_NULL;
  ~Scoped() {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
};

}  // namespace

RankNodes::RankNodes(MPI_Comm comm) {
  int rank = 0;
  mpi(MPI_Comm_rank(comm, &rank));
  Scoped own;
  mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &own.comm));
  int local = 0;
  int here = 1;
  mpi(MPI_Comm_rank(own.comm, &local));
  mpi(MPI_Comm_size(own.comm, &here));

  // The lowest rank of each node asks the others, and tells its node.
  Scoped leaders;
  mpi(MPI_Comm_split(comm, local == 0 ? 0 : MPI_UNDEFINED, rank, &leaders.comm));
  enum { node, nodes, first, smallest, largest, count };
  std::array<Index, count> told{};
  std::vector<Index> sizes;
  const Index size = here;
  if (local == 0) {
    int n = 0;
    mpi(MPI_Comm_rank(leaders.comm, &n));
    told[node] = n;
    mpi(MPI_Comm_size(leaders.comm, &n));
    told[nodes] = n;
    mpi(MPI_Exscan(&size, &told[first], 1, MPI_INT64_T, MPI_SUM, leaders.comm));
    if (told[node] == 0) told[first] = 0;
    mpi(MPI_Allreduce(&size, &told[smallest], 1, MPI_INT64_T, MPI_MIN, leaders.comm));
    mpi(MPI_Allreduce(&size, &told[largest], 1, MPI_INT64_T, MPI_MAX, leaders.comm));
  }
  mpi(MPI_Bcast(told.data(), count, MPI_INT64_T, 0, own.comm));
  if (told[smallest] == told[largest]) {
    sizes_ = NodeSizes(told[nodes], size);
  } else {
    sizes.resize(static_cast<std::size_t>(told[nodes]));
    if (local == 0) mpi(MPI_Allgather(&size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, leaders.comm));
    mpi(MPI_Bcast(sizes.data(), static_cast<int>(sizes.size()), MPI_INT64_T, 0, own.comm));
    sizes_ = NodeSizes(sizes);
  }
  node_ = told[node];
  place_ = told[first] + local;
  std::swap(comm_, own.comm);
}

RankNodes::~RankNodes() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (comm_ != MPI_COMM_NULL && finalised == 0) MPI_Comm_free(&comm_);
}

}  // namespace rankwise
