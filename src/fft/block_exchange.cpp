#include "fft/block_exchange.hpp"

#include <limits>
#include <stdexcept>

#include "mpi/wait.hpp"
#include "schedule/transpose.hpp"

namespace rankwise {

namespace {

// Counts in values, and where each block begins.
void lay_out(const BlocksOfRanks& blocks, std::size_t value_bytes, std::vector<int>& counts, std::vector<int>& offsets) {
  for (std::size_t peer = 0; peer < blocks.sizes.size(); ++peer) {
    if ((blocks.offsets[peer] + blocks.sizes[peer]) / value_bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw std::logic_error("a rank's blocks of more than 2^31 values must travel in pieces");
    }
    offsets.push_back(static_cast<int>(blocks.offsets[peer] / value_bytes));
    counts.push_back(static_cast<int>(blocks.sizes[peer] / value_bytes));
  }
}

std::vector<LongBlock> long_blocks(const BlocksOfRanks& blocks) {
  std::vector<LongBlock> all;
  for (std::size_t peer = 0; peer < blocks.sizes.size(); ++peer) {
    all.push_back({static_cast<int>(peer), blocks.offsets[peer], blocks.sizes[peer]});
  }
  return all;
}

}  // namespace

BlocksOfRanks BlocksOfRanks::in_a_row(const std::vector<std::size_t>& sizes) {
  BlocksOfRanks blocks{{}, sizes};
  std::size_t offset = 0;
  for (const std::size_t bytes : sizes) {
    blocks.offsets.push_back(offset);
    offset += bytes;
  }
  return blocks;
}

TransposeMethod parse_transpose_method(const std::string& name) {
  if (name == "alltoall") return TransposeMethod::alltoall;
  if (name == "pairwise") return TransposeMethod::pairwise;
  if (name == "node-aware") return TransposeMethod::node_aware;
  invalid("transpose method '" + name + "' is unknown: choose alltoall, pairwise or node-aware");
}

std::string to_string(TransposeMethod method) {
  return method == TransposeMethod::alltoall ? "alltoall" : method == TransposeMethod::pairwise ? "pairwise" : "node-aware";
}

BlockExchange::BlockExchange(MPI_Comm comm, const Way& way, const BlocksOfRanks& sends, const BlocksOfRanks& receives,
                             std::byte* from, std::byte* into)
    : comm_(comm), from_(from), into_(into) {
  const bool in_pieces = way.piece_bytes > 0;
  if (in_pieces || way.method != TransposeMethod::alltoall) {
    pieces_ = std::make_unique<LongBlocks>(comm, long_blocks(sends), long_blocks(receives), from, into,
                                           in_pieces ? way.piece_bytes : LongBlocks::usual_piece_bytes);
  }
  if (in_pieces) return;
  if (way.method == TransposeMethod::node_aware) {
    if (way.memory == nullptr) throw std::logic_error("node-aware exchanges need memory to share");
    nodes_ = std::make_unique<NodeExchange>(comm, sends.offsets, sends.sizes, receives.offsets, receives.sizes, from, into,
                                            way.ranks_per_node, *way.memory);
    if (!nodes_->is_of_use()) nodes_.reset();
    return;
  }
  if (way.method == TransposeMethod::alltoall) {
    lay_out(sends, way.value_bytes, send_counts_, send_offsets_);
    lay_out(receives, way.value_bytes, recv_counts_, recv_offsets_);
    MPI_Type_contiguous(static_cast<int>(way.value_bytes), MPI_BYTE, &value_);
    MPI_Type_commit(&value_);
    return;
  }
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  schedule_ = make_transpose(static_cast<Index>(sends.sizes.size()), rank);
  std::vector<SlotBuffer> slots;
  for (std::size_t peer = 0; peer < sends.sizes.size(); ++peer) {
    slots.push_back({from + sends.offsets[peer], sends.sizes[peer]});
  }
  for (std::size_t peer = 0; peer < sends.sizes.size(); ++peer) {
    slots.push_back({into + receives.offsets[peer], receives.sizes[peer]});
  }
  pairwise_ = std::make_unique<Executor>(comm, schedule_, SendMode::isend, slots);
}

BlockExchange::~BlockExchange() {
  if (value_ != MPI_DATATYPE_NULL) MPI_Type_free(&value_);
}

void BlockExchange::run() {
  if (pairwise_) return pairwise_->run();
  if (nodes_) return nodes_->run();
  if (pieces_) return pieces_->run();
  mpi(MPI_Alltoallv(from_, send_counts_.data(), send_offsets_.data(), value_, into_, recv_counts_.data(), recv_offsets_.data(),
                    value_, comm_));
}

void BlockExchange::start() {
  if (pieces_) return pieces_->start();
  mpi(MPI_Ialltoallv(from_, send_counts_.data(), send_offsets_.data(), value_, into_, recv_counts_.data(), recv_offsets_.data(),
                     value_, comm_, &request_));
}

bool BlockExchange::test() {
  if (pieces_) return pieces_->test();
  int done = 0;
  mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

void BlockExchange::wait() {
  if (pieces_) return pieces_->wait();
  wait_all(1, &request_);
}

}  // namespace rankwise
