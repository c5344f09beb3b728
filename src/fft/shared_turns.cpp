#include "fft/shared_turns.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "exchange/look.hpp"
#include "fft/memory.hpp"
#include "mpi/error.hpp"

namespace rankwise {

namespace {

std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

std::unique_ptr<SharedTurns> SharedTurns::among(MPI_Comm comm, std::size_t bytes) {
  std::unique_ptr<SharedTurns> turns;
  try {
    turns.reset(new SharedTurns(comm, bytes));
  } catch (const std::bad_alloc&) {  // the others are told
  }
  if (!by_all(comm, turns != nullptr) || !by_all(comm, turns->reaches_all())) return nullptr;
  return turns;
}

SharedTurns::SharedTurns(MPI_Comm comm, std::size_t bytes) : comm_(comm), own_(flag_bytes + 2 * whole_lines(bytes)) {
  std::memset(own_.data(), 0, own_.name().bytes);  // here, that is
  new (own_.data()) Flag;
}

bool SharedTurns::reaches_all() {
  int size = 1;
  int rank = 0;
  mpi(MPI_Comm_size(comm_, &size));
  mpi(MPI_Comm_rank(comm_, &rank));
  first_ = static_cast<std::size_t>(rank);
  std::vector<SegmentName> names(static_cast<std::size_t>(size));
  mpi(MPI_Allgather(&own_.name(), sizeof(SegmentName), MPI_BYTE, names.data(), sizeof(SegmentName), MPI_BYTE, comm_));
  for (const SegmentName& name : names) ranks_.push_back(MappedSegment::map(name));
  return std::ranges::all_of(ranks_, [](const auto& one) { return one != nullptr; });
}

void SharedTurns::start() {
  ++turn_;
  seen_ = 0;
  reinterpret_cast<Flag*>(own_.data())->turn.store(turn_, std::memory_order_release);
}

bool SharedTurns::advance(bool wait) {
  return look_until_all(comm_, wait, [this] {
    const std::size_t before = seen_;
    for (; seen_ < ranks_.size(); ++seen_) {
      const auto& rank = *ranks_[(first_ + seen_) % ranks_.size()];
      if (reinterpret_cast<const Flag*>(rank.data())->turn.load(std::memory_order_acquire) < turn_) break;
    }
    return seen_ == ranks_.size() ? Seen::all : seen_ > before ? Seen::some : Seen::nothing;
  });
}

void SharedTurns::run() {
  start();
  wait();
}

bool SharedTurns::test() { return advance(false); }

void SharedTurns::wait() { static_cast<void>(advance(true)); }

}  // namespace rankwise
