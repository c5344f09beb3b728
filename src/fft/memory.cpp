#include "fft/memory.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace rankwise {

namespace {

std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::size_t kib = 0;
    if (name == "MemAvailable:" && file >> kib) return kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<std::size_t>::max();
}

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

}  // namespace

void require_memory(MPI_Comm comm, const Decomposition& decomposition, std::size_t value_bytes) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  double needed = 2.0 * static_cast<double>(decomposition.local_values(rank_of(comm))) * static_cast<double>(value_bytes);
  MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_DOUBLE, MPI_SUM, node);
  MPI_Comm_free(&node);
  // The node that lacks most speaks for all.
  struct {
    double lacking;
    int rank;
  } worst{needed - static_cast<double>(available_bytes()), rank_of(comm)};
  double both[2] = {needed, needed - worst.lacking};
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  if (worst.lacking <= 0.0) return;
  MPI_Bcast(both, 2, MPI_DOUBLE, worst.rank, comm);
  invalid("the transform needs " + std::to_string(static_cast<long long>(both[0])) + " bytes of memory on a node that has " +
          std::to_string(static_cast<long long>(both[1])) + " available: take fewer points or more nodes");
}

bool is_little(MPI_Comm comm, std::size_t bytes) {
  auto needed = static_cast<double>(bytes);
  MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_DOUBLE, MPI_SUM, comm);
  return by_all(comm, needed <= static_cast<double>(available_bytes()) / 2);
}

bool by_all(MPI_Comm comm, bool done) {
  int all = done ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all != 0;
}

}  // namespace rankwise
