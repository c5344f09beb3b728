// RANKWISE_NEIGHBOR=check: what MPI's own call left in the program's memory, against what ours leaves there.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "preload/neighbor_state.hpp"

namespace rankwise::preload {

class NeighborCheck {
 public:
  NeighborCheck(std::shared_ptr<NeighborState> state, std::shared_ptr<Plan> plan, std::byte* received);
  // MPI's own is complete: remembers its bytes and turns all of them to wrong ones. Both return MPI's error, or MPI_SUCCESS.
  [[nodiscard]] int begin();
  // Ours is complete: a difference is told, and MPI's result stands.
  [[nodiscard]] int end();

  [[nodiscard]] static long different() noexcept;  // so many so far

 private:
  [[nodiscard]] int read(std::vector<std::byte>& bytes) const;
  [[nodiscard]] int write(const std::vector<std::byte>& bytes) const;

  std::shared_ptr<NeighborState> state_;
  std::shared_ptr<Plan> plan_;
  std::byte* received_;
  std::vector<std::byte> right_;
};

}  // namespace rankwise::preload
