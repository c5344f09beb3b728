// Arrays of the ranks of a node, which all of them read: what moves between them is copied once.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "exchange/epoch_flags.hpp"
#include "exchange/shared_memory.hpp"

namespace rankwise {

class SharedMemory {
 public:
  // Collective. So many bytes, zeros, on this rank; null on all ranks where these do not all reach each other's memory, or where
  // any asks for more than most_bytes: beyond that large pages are worth more, which shared memory seldom has.
  [[nodiscard]] static std::unique_ptr<SharedMemory> among(MPI_Comm comm, std::size_t bytes);
  static constexpr std::size_t most_bytes = std::size_t{8} << 20;

  // Of a communicator that this one's ranks make up a part of: where its ranks' bytes begin, and flags for one exchange among
  // them. Exchanges ask in the same order on all ranks.
  struct Part {
    std::vector<const std::byte*> data;  // by rank
    FlagsOfRanks flags;                  // this rank first, then those after it, as sources and as readers
  };
  [[nodiscard]] Part part(MPI_Comm comm);
  [[nodiscard]] std::byte* data() const { return own_->data() + flags_bytes; }

 private:
  static constexpr std::size_t most_exchanges = 8;
  static constexpr std::size_t flags_bytes = most_exchanges * sizeof(EpochFlags);

  SharedMemory(MPI_Comm comm, std::unique_ptr<SharedSegment> own, std::vector<std::shared_ptr<const MappedSegment>> ranks)
      : comm_(comm), own_(std::move(own)), ranks_(std::move(ranks)) {}

  MPI_Comm comm_;
  std::unique_ptr<SharedSegment> own_;
  std::vector<std::shared_ptr<const MappedSegment>> ranks_;  // all of them, this one, too
  std::size_t exchanges_ = 0;                                // that have asked for flags
};

}  // namespace rankwise
