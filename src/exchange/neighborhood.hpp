// Messages to and from a fixed list of neighbours, as an MPI neighbourhood collective where MPI has them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "mpi/simulated.hpp"

namespace rankwise {

// SimGrid's SMPI declares distributed-graph communicators and neighbourhood collectives, and aborts when they are called.
inline constexpr bool has_neighborhood_collectives = !is_simulated;

class Neighborhood {
 public:
  // Collective. The ranks of comm that this rank receives from and sends to; a rank may be named more than once and may
  // name itself. What two ranks send each other along several edges arrives in the order of the edges.
  Neighborhood(MPI_Comm comm, std::vector<int> sources, std::vector<int> destinations);
  ~Neighborhood();
  Neighborhood(const Neighborhood&) = delete;
  Neighborhood& operator=(const Neighborhood&) = delete;

  // Collective, MPI_Neighbor_alltoall: bytes_each (up to 2^31 - 1) to every destination, block after block in `send`, and
  // from every source, block after block in `receive`. Elsewhere the same messages by MPI_Irecv and MPI_Isend.
  void all_to_all(const std::byte* send, std::byte* receive, int bytes_each);

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;  // the graph, or a duplicate
  std::vector<int> sources_;
  std::vector<int> destinations_;
  std::vector<MPI_Request> requests_;
};

}  // namespace rankwise
