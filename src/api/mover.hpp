// One direction of a plan: a schedule whose executor is bound anew only when the buffers or sizes have changed.
#pragma once

#include <mpi.h>

#include <optional>
#include <vector>

#include "exchange/executor.hpp"

namespace rankwise::api {

class Mover {
 public:
  // schedule must outlive the mover.
  Mover(MPI_Comm comm, const RankSchedule& schedule, SendMode mode, Callbacks callbacks)
      : comm_(comm), schedule_(schedule), mode_(mode), callbacks_(std::move(callbacks)) {}

  // Where the blocks lie from now on. The first start after the first bind is collective; later ones are as
  // Executor::start, and bind is local.
  void bind(const std::vector<SlotBuffer>& slots) {
    if (slots == slots_) return;
    if (executor_) executor_->rebind(slots);
    slots_ = slots;
  }
  void start() {
    if (!executor_) executor_.emplace(comm_, schedule_, mode_, slots_, callbacks_);
    executor_->start();
  }
  void wait() { executor_->wait(); }

 private:
  MPI_Comm comm_;
  const RankSchedule& schedule_;
  SendMode mode_;
  Callbacks callbacks_;
  std::optional<Executor> executor_;
  std::vector<SlotBuffer> slots_;  // those the executor is bound to
};

}  // namespace rankwise::api
