// Messages to and from a fixed list of neighbours, as an MPI neighbourhood collective where MPI has them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "grid/grid.hpp"
#include "grid/stencil.hpp"
#include "mpi/mpi.hpp"

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

// A stencil's halo exchange as one MPI_Neighbor_alltoall: every rank sends a message of one size to each of its neighbours.

// The neighbours of a cell: it receives from the sources and sends to the destinations, one for each offset of the
// stencil that does not leave the grid, in the order of the offsets.
struct Neighbors {
  std::vector<int> sources;
  std::vector<int> destinations;
};
[[nodiscard]] Neighbors neighbors_of(const Grid& grid, const Stencil& stencil, Index cell);

class StencilExchange {
 public:
  // Collective. Rank r of comm has cell r of the grid. Throws std::invalid_argument, on all ranks alike, when the grid
  // does not have a cell for each rank.
  StencilExchange(MPI_Comm comm, const Grid& grid, const Stencil& stencil);
  ~StencilExchange();
  StencilExchange(const StencilExchange&) = delete;
  StencilExchange& operator=(const StencilExchange&) = delete;

  // Local. Takes memory for messages of a size. Throws std::invalid_argument above 2^31 - 1 bytes, std::bad_alloc.
  void resize(std::size_t bytes_each);
  // Local. Writes what repetition `number` sends, and forgets what was received.
  void fill(std::uint64_t number);
  // Collective.
  void run();
  // Local. Which message of repetition `number` did not arrive as it was sent; empty when all did.
  [[nodiscard]] std::string mismatch(std::uint64_t number) const;

  [[nodiscard]] std::size_t messages() const { return neighbors_.destinations.size(); }

 private:
  [[nodiscard]] std::size_t size_of(const std::vector<int>& ranks) const { return ranks.size() * bytes_each_; }
  void release();

  int rank_ = 0;
  Neighbors neighbors_;
  Neighborhood neighborhood_;
  std::size_t bytes_each_ = 0;
  std::byte* send_ = nullptr;
  std::byte* receive_ = nullptr;
};

}  // namespace rankwise
