// The plan of an exchange: its design, and what the functions rankwise_exchange_* do.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/communicator.hpp"
#include "api/failure.hpp"
#include "api/options.hpp"
#include "exchange/executor.hpp"
#include "rankwise/rankwise.h"
#include "schedule/algorithms.hpp"
#include "schedule/schedule.hpp"

namespace rankwise::api {

// One direction of a plan: a schedule whose executor is bound again only when the buffers or sizes have changed.

class BoundSchedule {
 public:
  // schedule must outlive the exchange.
  BoundSchedule(MPI_Comm comm, const RankSchedule& schedule, SendMode mode, Callbacks callbacks)
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

// From what a caller asks to an algorithm, the same on all ranks.

struct Design {
  ExchangeSpec spec;
  RankSchedule schedule;  // of the import (or the visits) on this rank
  std::string why;        // one sentence on how the algorithm was chosen
};

// Collective; fails on all ranks alike. Arguments as of rankwise_exchange_create.
[[nodiscard]] Design design_exchange(const Communicator& comm, int ndims, const int cutoff[],
                                     const rankwise_exchange_options* options);

// The plan behind a handle: what the functions rankwise_exchange_* do, with exceptions (Failure and others).

// How values are combined: so many in an element, of an intrinsic type, by a commutative operation.
struct Combination {
  int values_per_element;
  MPI_Datatype type;
  MPI_Op op;
};

// Where blocks lie: in one window buffer, slot after slot, or at one pointer a slot.
struct Buffers {
  void* window = nullptr;
  void* const* blocks = nullptr;
};

// One direction of a plan, and the window that it was bound to last (NULL: none, or pointers).
struct Direction {
  BoundSchedule exchange;
  void* window = nullptr;
  std::size_t element_bytes = 0;
};

class Plan {
 public:
  // The meaning, errors and collectiveness of all functions are those of rankwise.h.
  Plan(MPI_Comm cart, int ndims, const int cutoff[], const rankwise_exchange_options* options);

  void set_sizes(std::size_t elements, std::size_t element_bytes);
  void import_start(void* window, std::size_t element_bytes) { start_import({window, nullptr}, element_bytes); }
  void import_blocks_start(void* const blocks[], std::size_t element_bytes) { start_import({nullptr, blocks}, element_bytes); }
  void import_wait();
  void reduce_start(void* window, int values, MPI_Datatype type, MPI_Op op) {
    start_reduce({window, nullptr}, {values, type, op});
  }
  void reduce_blocks_start(void* const blocks[], int values, MPI_Datatype type, MPI_Op op) {
    start_reduce({nullptr, blocks}, {values, type, op});
  }
  void reduce_wait();
  void visit(const void* own, std::size_t element_bytes, void* result, int values, MPI_Datatype type, MPI_Op operation,
             rankwise_visit_function function, void* context);
  // Completes what is under way and frees the communicator; afterwards the plan can only be deleted.
  void close();

  [[nodiscard]] std::string explain() const;
  [[nodiscard]] int slots() const;
  [[nodiscard]] int own_slot() const;
  [[nodiscard]] int slot_of_offset(const int offset[]) const;
  void offset_of_slot(int slot, int offset[]) const;
  [[nodiscard]] int slot_rank(int slot) const;
  void slot_crossings(int slot, int crossings[]) const;
  [[nodiscard]] std::size_t slot_elements(int slot) const;
  [[nodiscard]] std::size_t slot_start(int slot) const;

 private:
  enum class UnderWay { nothing, import, reduce };

  void start_import(const Buffers& buffers, std::size_t element_bytes);
  void start_reduce(const Buffers& buffers, const Combination& combination);
  [[nodiscard]] bool has_teams() const { return exchange_algorithm(design_.spec.algorithm).has_teams; }
  [[nodiscard]] std::size_t window_slots() const {
    return elements_.size() - static_cast<std::size_t>(design_.schedule.passing);
  }
  [[nodiscard]] std::size_t total_elements() const { return starts_[window_slots()]; }
  // Checks the buffers and binds the direction to them unless it is already.
  void place(Direction& direction, const Buffers& buffers, std::size_t element_bytes);
  [[nodiscard]] std::size_t element_bytes_of(const Combination& combination);
  void require_window() const;
  void require_slot(int slot) const;
  void require_sizes() const;
  void require_idle(const char* call) const;
  void require_element(std::size_t element_bytes) const;
  void require_messages_fit(const RankSchedule& schedule, const std::vector<std::size_t>& elements,
                            std::size_t element_bytes) const;
  void finish(UnderWay what, const char* call, Direction& direction);
  // Combines bytes of one buffer into another by combination_.
  [[nodiscard]] std::function<void(std::byte* into, const std::byte* from, std::size_t bytes)> adder();
  template <class Checks>
  void checked(const char* call, Checks&& checks) const {
    api::checked(check_every_call_, comm_.get(), call, checks);
  }

  Communicator comm_;
  Design design_;
  RankSchedule reduce_schedule_;
  int own_slot_;
  bool check_every_call_;

  bool sized_ = false;
  std::vector<std::size_t> elements_;  // of each slot of the schedule
  std::vector<std::size_t> starts_;    // elements in the slots before each, then of all
  std::size_t element_bytes_ = 0;      // the most that an element may have

  UnderWay under_way_ = UnderWay::nothing;
  Combination combination_{};  // of the reduce under way
  Direction import_;
  Direction reduce_;
  std::vector<SlotBuffer> placed_;
  std::vector<std::byte> passing_;  // the blocks that this rank only passes on
};

}  // namespace rankwise::api
