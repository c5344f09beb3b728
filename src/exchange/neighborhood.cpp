#include "exchange/neighborhood.hpp"

#include <stdlib.h>

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include "mpi/mpi.hpp"

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

namespace {

// malloc and no container: a simulator can then let all ranks share one piece of memory for large messages.
std::byte* allocate(std::size_t bytes) {
  void* memory = malloc(std::max<std::size_t>(1, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

// A byte that depends on who sends it, in which repetition, and where in the message it stands.
std::byte expected_byte(int sender, std::uint64_t number, std::size_t i) {
  return static_cast<std::byte>(0x3C + 151 * static_cast<std::uint64_t>(sender) + 29 * number + i % 251 + i / 251);
}

void require_fitting(MPI_Comm comm, const Grid& grid, const Stencil& stencil) {
  const int size = size_of(comm);
  if (grid.size() != size) {
    invalid("the grid has " + std::to_string(grid.size()) + " cells but " + std::to_string(size) +
            " ranks run: start as many ranks as it has cells");
  }
  if (stencil.ndim() != grid.ndim()) {
    invalid("the stencil has " + std::to_string(stencil.ndim()) + " axes but the grid has " + std::to_string(grid.ndim()) +
            ": make them equal");
  }
}

Neighbors checked_neighbors(MPI_Comm comm, const Grid& grid, const Stencil& stencil) {
  require_fitting(comm, grid, stencil);
  return neighbors_of(grid, stencil, rank_of(comm));
}

}  // namespace

Neighbors neighbors_of(const Grid& grid, const Stencil& stencil, Index cell) {
  const Coords own = grid.coords(cell);
  Neighbors neighbors;
  for (const Coords& offset : stencil.offsets()) {
    if (const Index from = grid.cell_beside(own, offset, -1); from >= 0) {
      neighbors.sources.push_back(static_cast<int>(from));
    }
    if (const Index to = grid.cell_beside(own, offset, 1); to >= 0) {
      neighbors.destinations.push_back(static_cast<int>(to));
    }
  }
  return neighbors;
}

StencilExchange::StencilExchange(MPI_Comm comm, const Grid& grid, const Stencil& stencil)
    : rank_(rank_of(comm)),
      neighbors_(checked_neighbors(comm, grid, stencil)),
      neighborhood_(comm, neighbors_.sources, neighbors_.destinations) {}

StencilExchange::~StencilExchange() { release(); }

void StencilExchange::release() {
  free(send_);
  free(receive_);
  send_ = nullptr;
  receive_ = nullptr;
}

void StencilExchange::resize(std::size_t bytes_each) {
  if (bytes_each > INT_MAX) {
    invalid("a message of " + std::to_string(bytes_each) + " B is too large: keep it below 2 GiB");
  }
  release();
  bytes_each_ = bytes_each;
  send_ = allocate(size_of(neighbors_.destinations));
  receive_ = allocate(size_of(neighbors_.sources));
}

void StencilExchange::fill(std::uint64_t number) {
  std::fill_n(receive_, size_of(neighbors_.sources), std::byte{0});
  for (std::size_t m = 0; m < neighbors_.destinations.size(); ++m) {
    std::byte* message = send_ + m * bytes_each_;
    for (std::size_t i = 0; i < bytes_each_; ++i) message[i] = expected_byte(rank_, number, i);
  }
}

void StencilExchange::run() { neighborhood_.all_to_all(send_, receive_, static_cast<int>(bytes_each_)); }

std::string StencilExchange::mismatch(std::uint64_t number) const {
  for (std::size_t m = 0; m < neighbors_.sources.size(); ++m) {
    const std::byte* message = receive_ + m * bytes_each_;
    for (std::size_t i = 0; i < bytes_each_; ++i) {
      if (message[i] == expected_byte(neighbors_.sources[m], number, i)) continue;
      return "rank " + std::to_string(rank_) + " received byte " + std::to_string(i) + " from rank " +
             std::to_string(neighbors_.sources[m]) + " wrongly";
    }
  }
  return "";
}

}  // namespace rankwise
