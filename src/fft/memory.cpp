#include "fft/memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "grid/names.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

Buffer::Buffer(std::size_t bytes) : Buffer(bytes, std::nothrow) {
  if (data_ == nullptr) throw std::bad_alloc();
}

Buffer::Buffer(std::size_t bytes, const std::nothrow_t&) : bytes_(bytes) {
  constexpr std::size_t large_page = std::size_t{1} << 21;
  const std::size_t alignment = bytes >= large_page ? large_page : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded));
  if (data_ == nullptr) return;
  if (alignment == large_page) madvise(data_, rounded, MADV_HUGEPAGE);  // a wish: what it answers does not matter
  std::memset(data_, 0, bytes);
}

Buffer::~Buffer() { std::free(data_); }

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

// Collective: what the ranks of this node need together.
double of_node(MPI_Comm comm, double bytes) {
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, comm_of_node(comm).get());
  return bytes;
}

std::string text_of(double bytes) {
  bytes /= 1e9;
  std::string unit = " GB";
  for (const char* larger : {" TB", " PB", " EB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  return formatted("%.3g", bytes) + unit;
}

}  // namespace

void require_memory(MPI_Comm comm, double bytes) {
  const double needed = of_node(comm, bytes);
  // The node that lacks most speaks for all.
  struct {
    double lacking;
    int rank;
  } worst{needed - static_cast<double>(available_bytes()), rank_of(comm)};
  double both[2] = {needed, needed - worst.lacking};
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  if (worst.lacking <= 0.0) return;
  MPI_Bcast(both, 2, MPI_DOUBLE, worst.rank, comm);
  invalid("the transform needs " + text_of(both[0]) + " of memory on a node that has " + text_of(both[1]) +
          " available: take fewer points or fields, or more nodes");
}

bool is_little(MPI_Comm comm, std::size_t bytes) {
  return by_all(comm, of_node(comm, static_cast<double>(bytes)) <= static_cast<double>(available_bytes()) / 2);
}

}  // namespace rankwise
