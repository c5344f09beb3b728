// Memory of the ranks of a node by turns: each writes its own, and when all have, everyone reads what it needs where it lies.
//
// Two areas take turns, so that nobody waits for those that still read: who writes for a turn has seen all others tell that the
// one before is written, and before that each had read all of the one before it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "exchange/shared_memory.hpp"
#include "fft/stages.hpp"

namespace rankwise {

class SharedTurns final : public Transfer {
 public:
  // Collective. Room for so many bytes of this rank; null on all ranks where these do not all reach each other's memory, or
  // where there is none.
  [[nodiscard]] static std::unique_ptr<SharedTurns> among(MPI_Comm comm, std::size_t bytes);

  // Where this rank writes, before the turn is started.
  [[nodiscard]] std::byte* own() const { return own_.data() + flag_bytes + area(turn_ + 1) * bytes_of(own_.name().bytes); }
  // Where a rank has written, once the turn is complete.
  [[nodiscard]] const std::byte* of(std::size_t rank) const {
    const MappedSegment& theirs = *ranks_[rank];
    return theirs.data() + flag_bytes + area(turn_) * bytes_of(theirs.bytes());
  }
  [[nodiscard]] std::size_t bytes() const { return 2 * bytes_of(own_.name().bytes); }  // of this rank

  void run() override;
  void start() override;  // what this rank has written is there
  [[nodiscard]] bool test() override;
  void wait() override;

 private:
  struct Flag {
    alignas(64) std::atomic<std::uint64_t> turn{0};  // that is written
  };
  static constexpr std::size_t flag_bytes = sizeof(Flag);
  static std::size_t area(std::uint64_t turn) { return turn % 2; }
  static std::size_t bytes_of(std::size_t segment_bytes) { return (segment_bytes - flag_bytes) / 2; }

  SharedTurns(MPI_Comm comm, std::size_t bytes);
  [[nodiscard]] bool reaches_all();
  bool advance(bool wait);

  MPI_Comm comm_;
  SharedSegment own_;
  std::vector<std::shared_ptr<const MappedSegment>> ranks_;  // all of them, this one, too
  std::size_t first_ = 0;                                    // this rank: everyone begins elsewhere
  std::size_t seen_ = 0;                                     // of the ranks from there on that have written
  std::uint64_t turn_ = 0;
};

}  // namespace rankwise
