// What is known of a communicator whose neighbourhood collectives are served.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "preload/neighbor_plan.hpp"

namespace rankwise::preload {

// Which way serves the calls of one kind: both by turns until the times of all ranks have been compared, once.
struct Trial {
  static constexpr int calls = 20;
  enum class Route { trying, ours, own } route = Route::trying;
  int done = 0;
  std::array<double, calls> time_s{};
  // Whether the next is ours: ABBA ABBA ...
  [[nodiscard]] bool ours_next() const { return ((done + 1) / 2) % 2 == 0; }
};

class NeighborState {
 public:
  NeighborState() = default;
  NeighborState(const NeighborState&) = delete;
  NeighborState& operator=(const NeighborState&) = delete;
  ~NeighborState();

  MPI_Comm comm = MPI_COMM_NULL;  // ours, of the same ranks
  int rank = 0;
  int sends = 0;     // places in the lists of neighbours,
  int receives = 0;  // with those that are MPI_PROC_NULL
  bool usable = false;
  bool several = false;  // some rank has two edges to one other
  Edges edges;
  std::array<Trial, neighbor_kinds> trial;

  [[nodiscard]] std::shared_ptr<Plan> plan_of(const Arguments& arguments, int* code);
  // Memory for messages, given back when they have been unpacked.
  [[nodiscard]] std::vector<std::byte> take_memory(std::size_t bytes);
  void give_memory(std::vector<std::byte>&& memory);

 private:
  static constexpr std::size_t most_plans = 16;
  std::mutex guarding_;
  std::vector<std::shared_ptr<Plan>> plans_;  // the latest first
  std::vector<std::uint64_t> asked_;
  std::vector<std::vector<std::byte>> memory_;
};

// Null where nothing is known of it yet; makes it, collectively, where `make`. Good until the communicator is freed.
[[nodiscard]] const std::shared_ptr<NeighborState>* state_of(MPI_Comm comm, bool make);

}  // namespace rankwise::preload
