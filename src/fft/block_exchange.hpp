// How blocks get from rank to rank between the stages of a transform.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exchange/executor.hpp"
#include "exchange/shared_memory.hpp"
#include "fft/stages.hpp"
#include "schedule/programs.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// One transpose among the ranks of a communicator: blocks that lie one after the other in one buffer arrive one after
// the other in another.

[[nodiscard]] TransposeMethod parse_transpose_method(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(TransposeMethod method);

// Memory for blocks on their way to other ranks, shared by exchanges that never run at once.
class PassingMemory {
 public:
  [[nodiscard]] std::byte* room(std::size_t bytes);
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::vector<std::vector<std::byte>> rooms_;
};

// How the blocks of a transpose travel.
struct BlockVariant {
  // MPI counts in int: longer blocks travel in pieces.
  static constexpr std::size_t usual_piece_bytes = std::size_t{1} << 30;
  TransposeMethod method = TransposeMethod::alltoall;
  std::size_t value_bytes = 1;
  // Above 0: every block travels in pieces of so many bytes, straight, whatever the method; for blocks beyond what MPI can
  // count in int. Alike on all ranks.
  std::size_t piece_bytes = 0;
  int ranks_per_node = 0;           // more: so many ranks of comm after each other stand for a node; 0: nodes as MPI tells them
  PassingMemory* memory = nullptr;  // of node_aware
};

// Blocks of a buffer, one a rank.
struct BlocksOfRanks {
  std::vector<std::size_t> offsets, sizes;  // bytes
  void add(Index first, Index count, std::size_t value_bytes) {
    offsets.push_back(static_cast<std::size_t>(first) * value_bytes);
    sizes.push_back(static_cast<std::size_t>(count) * value_bytes);
  }
  [[nodiscard]] static BlocksOfRanks in_a_row(const std::vector<std::size_t>& sizes);
};

class BlockExchange final : public Transfer {
 public:
  // Collective. Sizes are in bytes, one a rank of comm, multiples of value_bytes; what is sent is expected with the same length.
  // Buffers and communicator must outlive the exchange.
  BlockExchange(MPI_Comm comm, const BlockVariant& variant, const BlocksOfRanks& sends, const BlocksOfRanks& receives,
                std::byte* from, std::byte* into);
  BlockExchange(MPI_Comm comm, const BlockVariant& variant, const std::vector<std::size_t>& send_bytes,
                const std::vector<std::size_t>& recv_bytes, std::byte* from, std::byte* into)
      : BlockExchange(comm, variant, BlocksOfRanks::in_a_row(send_bytes), BlocksOfRanks::in_a_row(recv_bytes), from, into) {}
  ~BlockExchange() override;
  BlockExchange(const BlockExchange&) = delete;
  BlockExchange& operator=(const BlockExchange&) = delete;

  void run() override;
  void start() override;  // pairwise and node-aware: all messages at once, for their steps would advance only in wait
  [[nodiscard]] bool test() override;
  void wait() override;

 private:
  // A schedule, where its blocks lie, and what carries it out.
  struct Carried {
    RankSchedule schedule;
    std::vector<SlotBuffer> slots = {};
    std::unique_ptr<Executor> executor = {};
    explicit operator bool() const { return executor != nullptr; }
  };
  [[nodiscard]] Carried straight(std::size_t piece_bytes) const;
  [[nodiscard]] Carried pairwise() const;
  [[nodiscard]] Carried by_nodes(const BlockVariant& variant) const;

  MPI_Comm comm_;
  BlocksOfRanks sends_, receives_;
  std::byte* from_;
  std::byte* into_;
  MPI_Datatype value_ = MPI_DATATYPE_NULL;
  std::vector<int> send_counts_, send_offsets_, recv_counts_, recv_offsets_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Carried steps_;     // what is run at once
  Carried straight_;  // all messages at once; neither: MPI's collective
};

// Memory of the ranks of a node by turns: each writes its own, and when all have, everyone reads what it needs where it lies.
//
// Two areas take turns, so that nobody waits for those that still read: who writes for a turn has seen all others tell that the
// one before is written, and before that each had read all of the one before it.

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
