// Neighbourhood exchanges while they are under way.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "preload/neighbor_plan.hpp"

namespace rankwise::preload {

// One exchange by a plan, from posting its messages to unpacking them.

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

// RANKWISE_NEIGHBOR=check: what MPI's own call left in the program's memory, against what ours leaves there.

class NeighborCheck {
 public:
  NeighborCheck(std::shared_ptr<NeighborState> state, std::shared_ptr<Plan> plan, std::byte* received);
  // MPI's own is complete: remembers its bytes and turns all of them to wrong ones. Both return MPI's error, or MPI_SUCCESS.
  [[nodiscard]] int begin();
  // Ours is complete: a difference is reported, and MPI's result stands.
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

// Requests of nonblocking and persistent neighbourhood collectives. A request is MPI's own, of a message to oneself that is sent
// when the exchange has finished: whatever the program does with it means what it should.

struct RequestKind {
  bool persistent = false;
  bool checked = false;                   // against MPI's own,
  MPI_Request theirs = MPI_REQUEST_NULL;  // which goes on meanwhile
};

// Makes the request of an exchange and, unless persistent, starts it.
[[nodiscard]] int start_request(const std::shared_ptr<NeighborState>& state, const std::shared_ptr<Plan>& plan,
                                const Arguments& arguments, const RequestKind& kind, MPI_Request* request);

}  // namespace rankwise::preload
