// A stencil's halo exchange as one MPI_Neighbor_alltoall, where MPI has that: every rank sends a message of one size to each of
// its neighbours.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "grid/grid.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

// SimGrid's SMPI declares distributed-graph communicators and neighbourhood collectives, and aborts when they are called.
inline constexpr bool has_neighborhood_collectives = !is_simulated;

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
  // does not have a cell for each rank. Where two ranks are neighbours several times, their messages arrive in the order of the
  // offsets.
  StencilExchange(MPI_Comm comm, const Grid& grid, const Stencil& stencil);
  ~StencilExchange();
  StencilExchange(const StencilExchange&) = delete;
  StencilExchange& operator=(const StencilExchange&) = delete;

  // Local. Takes memory for messages of a size. Throws std::invalid_argument above 2^31 - 1 bytes, std::bad_alloc.
  void resize(std::size_t bytes_each);
  // Local. Writes what repetition `number` sends, and forgets what was received.
  void fill(std::uint64_t number);
  // Collective: MPI_Neighbor_alltoall, elsewhere the same messages by MPI_Irecv and MPI_Isend.
  void run();
  // Local. Which message of repetition `number` did not arrive as it was sent; empty when all did.
  [[nodiscard]] std::string mismatch(std::uint64_t number) const;

  [[nodiscard]] std::size_t messages() const { return neighbors_.destinations.size(); }

 private:
  [[nodiscard]] std::size_t size_of(const std::vector<int>& ranks) const { return ranks.size() * bytes_each_; }
  void release();

  int rank_ = 0;
  OwnedComm comm_;  // the graph, or a duplicate
  Neighbors neighbors_;
  std::vector<MPI_Request> requests_;
  std::size_t bytes_each_ = 0;
  unsigned char* send_ = nullptr;
  unsigned char* receive_ = nullptr;
};

}  // namespace rankwise
