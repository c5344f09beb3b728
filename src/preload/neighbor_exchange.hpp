// One exchange by a plan, from posting its messages to unpacking them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "preload/neighbor_state.hpp"

namespace rankwise::preload {

class NeighborExchange {
 public:
  // apart: the program's memory is not written before all has come.
  NeighborExchange(std::shared_ptr<NeighborState> state, std::shared_ptr<Plan> plan, const std::byte* sent, std::byte* received,
                   bool apart = false);
  NeighborExchange(const NeighborExchange&) = delete;
  NeighborExchange& operator=(const NeighborExchange&) = delete;
  ~NeighborExchange();

  // Each returns MPI's error, or MPI_SUCCESS. Between start and the end of wait (or of a test that is done) neither is called again.
  [[nodiscard]] int start();
  [[nodiscard]] int test(bool* done);
  [[nodiscard]] int wait();

 private:
  std::shared_ptr<NeighborState> state_;
  std::shared_ptr<Plan> plan_;
  const std::byte* sent_;
  std::byte* received_;
  std::vector<std::byte> memory_;
  std::vector<MPI_Request> requests_;  // receives first
  std::vector<MPI_Status> statuses_;
  std::size_t receives_ = 0;
  bool apart_;
  Staged staged_;  // where apart

  [[nodiscard]] const std::vector<Flow>& out() const { return apart_ ? staged_.out : plan_->out; }
  [[nodiscard]] const std::vector<Flow>& in() const { return apart_ ? staged_.in : plan_->in; }
  [[nodiscard]] int bring_own();
  [[nodiscard]] int unpack();
};

}  // namespace rankwise::preload
