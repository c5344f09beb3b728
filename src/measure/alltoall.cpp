#include "measure/alltoall.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace rankwise {

void require_alltoall(MPI_Comm comm, std::size_t size_bytes) {
  require_size(size_bytes);
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  constexpr std::size_t limit = std::size_t{4} << 30;
  if (size_bytes > limit / static_cast<std::size_t>(ranks)) {
    throw std::invalid_argument("blocks of " + std::to_string(size_bytes) + " B for " + std::to_string(ranks) +
                                " ranks need more than 4 GiB: choose a smaller size");
  }
}

TimedTogether measure_alltoall(MPI_Comm comm, std::size_t size_bytes, const Sampling& sampling) {
  require_alltoall(comm, size_bytes);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const std::size_t bytes = std::max<std::size_t>(1, size_bytes * static_cast<std::size_t>(ranks));
  std::vector<unsigned char> out(bytes);
  std::vector<unsigned char> in(bytes);
  const auto block = [&](int peer) { return static_cast<std::size_t>(peer) * size_bytes; };
  const auto work = [&] {
    const int count = static_cast<int>(size_bytes);
    MPI_Alltoall(out.data(), count, MPI_BYTE, in.data(), count, MPI_BYTE, comm);
  };
  const auto checked = [&](unsigned number) {
    for (int peer = 0; peer < ranks; ++peer) {
      fill_payload(out.data() + block(peer), size_bytes, rank, number + static_cast<unsigned>(peer));
    }
    std::fill(in.begin(), in.end(), static_cast<unsigned char>(0));
    work();
    bool arrived = true;
    for (int peer = 0; peer < ranks; ++peer) {
      arrived = payload_arrived(in.data() + block(peer), size_bytes, peer, number + static_cast<unsigned>(rank)) && arrived;
    }
    return arrived;
  };
  return time_together(comm, sampling, work, checked);
}

}  // namespace rankwise
