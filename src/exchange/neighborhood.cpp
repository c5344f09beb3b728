#include "exchange/neighborhood.hpp"

#include <utility>

namespace rankwise {

Neighborhood::Neighborhood(MPI_Comm comm, std::vector<int> sources, std::vector<int> destinations)
    : sources_(std::move(sources)), destinations_(std::move(destinations)) {
  if (has_neighborhood_collectives) {
    MPI_Dist_graph_create_adjacent(comm, static_cast<int>(sources_.size()), sources_.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(destinations_.size()), destinations_.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &comm_);
  } else {
    MPI_Comm_dup(comm, &comm_);
    requests_.resize(sources_.size() + destinations_.size());
  }
}

Neighborhood::~Neighborhood() { MPI_Comm_free(&comm_); }

void Neighborhood::all_to_all(const std::byte* send, std::byte* receive, int bytes_each) {
  if (has_neighborhood_collectives) {
    MPI_Neighbor_alltoall(send, bytes_each, MPI_BYTE, receive, bytes_each, MPI_BYTE, comm_);
    return;
  }
  constexpr int tag = 73;
  const auto size = static_cast<std::size_t>(bytes_each);
  std::size_t next = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    MPI_Irecv(receive + i * size, bytes_each, MPI_BYTE, sources_[i], tag, comm_, &requests_[next++]);
  }
  for (std::size_t i = 0; i < destinations_.size(); ++i) {
    MPI_Isend(send + i * size, bytes_each, MPI_BYTE, destinations_[i], tag, comm_, &requests_[next++]);
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

}  // namespace rankwise
