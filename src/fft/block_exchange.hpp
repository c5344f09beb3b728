// One transpose among the ranks of a communicator: blocks that lie one after the other in one buffer arrive one after
// the other in another.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "exchange/executor.hpp"
#include "fft/long_blocks.hpp"
#include "fft/node_exchange.hpp"
#include "fft/stages.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// alltoall: MPI_Alltoallv. pairwise: P - 1 steps of one message each way (schedule/transpose.hpp). node_aware: one message from
// node to node (node_exchange.hpp).
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

}  // namespace rankwise
