#include "exchange/neighborhood.hpp"

#include <stdlib.h>

#include <algorithm>
#include <climits>
#include <new>

#include "measure/sampling.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

// malloc and no container: a simulator can then let all ranks share one piece of memory for large messages.
unsigned char* allocate(std::size_t bytes) {
  void* memory = malloc(std::max<std::size_t>(1, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<unsigned char*>(memory);
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

}  // namespace

Neighbors neighbors_of(const Grid& grid, const Stencil& stencil, Index cell) {
  const Coords own = grid.coords(cell);
  Neighbors neighbors;
  for (const Coords& offset : stencil.offsets()) {
    if (const Index from = grid.cell_at_offset(own, offset, -1); from >= 0) {
      neighbors.sources.push_back(static_cast<int>(from));
    }
    if (const Index to = grid.cell_at_offset(own, offset, 1); to >= 0) {
      neighbors.destinations.push_back(static_cast<int>(to));
    }
  }
  return neighbors;
}

StencilExchange::StencilExchange(MPI_Comm comm, const Grid& grid, const Stencil& stencil) : rank_(rank_of(comm)) {
  require_fitting(comm, grid, stencil);
  neighbors_ = neighbors_of(grid, stencil, rank_);
  const auto& [sources, destinations] = neighbors_;
  if (has_neighborhood_collectives) {
    MPI_Dist_graph_create_adjacent(comm, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &comm_);
  } else {
    MPI_Comm_dup(comm, &comm_);
    requests_.resize(sources.size() + destinations.size());
  }
}

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
  std::fill_n(receive_, size_of(neighbors_.sources), static_cast<unsigned char>(0));
  for (std::size_t m = 0; m < messages(); ++m) {
    fill_payload(send_ + m * bytes_each_, bytes_each_, rank_, static_cast<unsigned>(number));
  }
}

void StencilExchange::run() {
  const auto bytes = static_cast<int>(bytes_each_);
  if (has_neighborhood_collectives) {
    MPI_Neighbor_alltoall(send_, bytes, MPI_BYTE, receive_, bytes, MPI_BYTE, comm_.get());
    return;
  }
  constexpr int tag = 73;
  MPI_Request* request = requests_.data();
  for (std::size_t i = 0; i < neighbors_.sources.size(); ++i) {
    MPI_Irecv(receive_ + i * bytes_each_, bytes, MPI_BYTE, neighbors_.sources[i], tag, comm_.get(), request++);
  }
  for (std::size_t i = 0; i < messages(); ++i) {
    MPI_Isend(send_ + i * bytes_each_, bytes, MPI_BYTE, neighbors_.destinations[i], tag, comm_.get(), request++);
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

std::string StencilExchange::mismatch(std::uint64_t number) const {
  for (std::size_t m = 0; m < neighbors_.sources.size(); ++m) {
    const int from = neighbors_.sources[m];
    if (payload_arrived(receive_ + m * bytes_each_, bytes_each_, from, static_cast<unsigned>(number))) continue;
    return "rank " + std::to_string(rank_) + " received a message of rank " + std::to_string(from) + " wrongly";
  }
  return "";
}

}  // namespace rankwise
