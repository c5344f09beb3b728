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
#include "schedule/schedule.hpp"

namespace rankwise {

// Blocks of any length, also beyond 2^31 bytes, straight from rank to rank.

struct LongBlock {
  int peer = 0;
  std::size_t offset = 0;  // bytes from the start of the buffer
  std::size_t bytes = 0;
};

class LongBlocks final : public Transfer {
 public:
  // MPI counts in int: longer ones travel in pieces.
  static constexpr std::size_t usual_piece_bytes = std::size_t{1} << 30;

  // At most one block to and from every rank, and what is sent is expected with the same length; empty ones are left out.
  // Buffers and communicator must outlive the blocks.
  LongBlocks(MPI_Comm comm, const std::vector<LongBlock>& sends, const std::vector<LongBlock>& receives, const std::byte* from,
             std::byte* into, std::size_t piece_bytes = usual_piece_bytes);

  void run() override {
    start();
    wait();
  }
  void start() override;
  [[nodiscard]] bool test() override;
  void wait() override;

 private:
  struct Piece {
    int peer = 0;
    std::size_t offset = 0;
    int bytes = 0;
  };
  [[nodiscard]] static std::vector<Piece> cut(const std::vector<LongBlock>& blocks, int own, std::size_t piece_bytes);

  MPI_Comm comm_;
  const std::byte* from_;
  std::byte* into_;
  std::vector<Piece> sends_, receives_;
  std::size_t own_from_ = 0, own_into_ = 0, own_bytes_ = 0;  // what stays here
  std::vector<MPI_Request> requests_;
};

// A transpose in three steps, one message from node to node: what a node has for another is gathered on one of its ranks,
// sent at once, and handed out there. Fewer and longer messages between nodes, more copies within them.

// What exchanges that never run at once share.
struct NodeMemory {
  std::vector<std::byte> packed, gathered;
};

class NodeExchange {
 public:
  // Collective. Blocks in bytes, by rank of comm: where they lie and how long they are. ranks_per_node: 0: nodes as MPI tells
  // them; more: so many ranks of comm after each other stand for one.
  NodeExchange(MPI_Comm comm, const std::vector<std::size_t>& send_offsets, const std::vector<std::size_t>& send_bytes,
               const std::vector<std::size_t>& recv_offsets, const std::vector<std::size_t>& recv_bytes, const std::byte* from,
               std::byte* into, int ranks_per_node, NodeMemory& memory);
  ~NodeExchange();
  NodeExchange(const NodeExchange&) = delete;
  NodeExchange& operator=(const NodeExchange&) = delete;

  // Whether it can serve: several nodes, and no count beyond MPI's int; the same on all ranks.
  [[nodiscard]] bool is_of_use() const { return is_of_use_; }
  void run();

 private:
  // A piece of memory that moves: from an offset in one buffer to one in another.
  struct Move {
    std::size_t from, into, bytes;
  };
  struct Message {
    int peer;  // rank of comm
    std::size_t offset;
    int bytes;
  };
  // Counts and offsets of an exchange within the node.
  struct Counts {
    std::vector<int> bytes, offsets;
    std::size_t total = 0;
  };
  static void apply(const std::vector<Move>& moves, const std::byte* from, std::byte* into);

  MPI_Comm comm_;
  MPI_Comm node_ = MPI_COMM_NULL;
  const std::byte* from_;
  std::byte* into_;
  bool is_of_use_ = false;
  std::vector<Move> pack_, bundle_, split_, unpack_;
  Counts out_, gather_, hand_out_, arrive_;
  std::vector<Message> sends_, receives_;
  NodeMemory& memory_;
};

// One transpose among the ranks of a communicator: blocks that lie one after the other in one buffer arrive one after
// the other in another.

// alltoall: MPI_Alltoallv. pairwise: P - 1 steps of one message each way (schedule/programs.hpp). node_aware: one message from
// node to node (NodeExchange).
enum class TransposeMethod { alltoall, pairwise, node_aware };
[[nodiscard]] TransposeMethod parse_transpose_method(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(TransposeMethod method);

// How the blocks of a transpose travel.
struct Way {
  TransposeMethod method = TransposeMethod::alltoall;
  std::size_t value_bytes = 1;
  // Above 0: every block travels in pieces of so many bytes, straight, whatever the method; for blocks beyond what MPI can
  // count in int. Alike on all ranks.
  std::size_t piece_bytes = 0;
  int ranks_per_node = 0;        // 0: as MPI tells
  NodeMemory* memory = nullptr;  // of node_aware
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
  // Sizes are in bytes, one a rank of comm, multiples of value_bytes. Buffers and communicator must outlive the exchange.
  BlockExchange(MPI_Comm comm, const Way& way, const BlocksOfRanks& sends, const BlocksOfRanks& receives, std::byte* from,
                std::byte* into);
  BlockExchange(MPI_Comm comm, const Way& way, const std::vector<std::size_t>& send_bytes,
                const std::vector<std::size_t>& recv_bytes, std::byte* from, std::byte* into)
      : BlockExchange(comm, way, BlocksOfRanks::in_a_row(send_bytes), BlocksOfRanks::in_a_row(recv_bytes), from, into) {}
  ~BlockExchange() override;
  BlockExchange(const BlockExchange&) = delete;
  BlockExchange& operator=(const BlockExchange&) = delete;

  void run() override;
  void start() override;  // pairwise and node-aware: all messages at once, for their steps would advance only in wait
  [[nodiscard]] bool test() override;
  void wait() override;

 private:
  MPI_Comm comm_;
  std::byte* from_;
  std::byte* into_;
  MPI_Datatype value_ = MPI_DATATYPE_NULL;
  std::vector<int> send_counts_, send_offsets_, recv_counts_, recv_offsets_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  RankSchedule schedule_;
  std::unique_ptr<Executor> pairwise_;
  std::unique_ptr<NodeExchange> nodes_;
  std::unique_ptr<LongBlocks> pieces_;
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
