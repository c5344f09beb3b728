// A transpose in three steps, one message from node to node: what a node has for another is gathered on one of its ranks, sent at
// once, and handed out there. Fewer and longer messages between nodes, more copies within them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace rankwise {

class NodeExchange {
 public:
  // Collective. Blocks in bytes, by rank of comm: where they lie and how long they are. ranks_per_node: 0: nodes as MPI tells them;
  // more: so many ranks of comm after each other stand for one.
  NodeExchange(MPI_Comm comm, const std::vector<std::size_t>& send_offsets, const std::vector<std::size_t>& send_bytes,
               const std::vector<std::size_t>& recv_offsets, const std::vector<std::size_t>& recv_bytes, const std::byte* from,
               std::byte* into, int ranks_per_node);
  ~NodeExchange();
  NodeExchange(const NodeExchange&) = delete;
  NodeExchange& operator=(const NodeExchange&) = delete;

  // Whether it can serve: several nodes, and no count beyond MPI's int; the same on all ranks.
  [[nodiscard]] bool is_of_use() const { return is_of_use_; }
  [[nodiscard]] std::size_t memory_bytes() const { return packed_.size() + gathered_.size(); }
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
  std::vector<std::byte> packed_, gathered_;
};

}  // namespace rankwise
