#include "fft/block_exchange.hpp"

#include <limits>
#include <stdexcept>

#include "mpi/wait.hpp"
#include "schedule/transpose.hpp"

namespace rankwise {

namespace {

// Counts in values, and where each block begins.
void lay_out(const std::vector<std::size_t>& bytes, std::size_t value_bytes, std::vector<int>& counts,
             std::vector<int>& offsets) {
  std::size_t total = 0;
  for (const std::size_t block : bytes) {
    offsets.push_back(static_cast<int>(total));
    counts.push_back(static_cast<int>(block / value_bytes));
    total += block / value_bytes;
    if (total > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw std::logic_error("a rank's blocks of more than 2^31 values must travel in pieces");
    }
  }
}

// One block a rank, one after the other in memory.
std::vector<LongBlock> blocks(const std::vector<std::size_t>& bytes) {
  std::vector<LongBlock> all;
  std::size_t offset = 0;
  for (std::size_t peer = 0; peer < bytes.size(); ++peer) {
    all.push_back({static_cast<int>(peer), offset, bytes[peer]});
    offset += bytes[peer];
  }
  return all;
}

}  // namespace

TransposeMethod parse_transpose_method(const std::string& name) {
  if (name == "alltoall") return TransposeMethod::alltoall;
  if (name == "pairwise") return TransposeMethod::pairwise;
  invalid("transpose method '" + name + "' is unknown: choose alltoall or pairwise");
}

std::string to_string(TransposeMethod method) { return method == TransposeMethod::alltoall ? "alltoall" : "pairwise"; }

BlockExchange::BlockExchange(MPI_Comm comm, const Way& way, const std::vector<std::size_t>& send_bytes,
                             const std::vector<std::size_t>& recv_bytes, std::byte* from, std::byte* into)
    : comm_(comm), from_(from), into_(into) {
  const bool in_pieces = way.piece_bytes > 0;
  if (in_pieces || way.method == TransposeMethod::pairwise) {
    pieces_ = std::make_unique<LongBlocks>(comm, blocks(send_bytes), blocks(recv_bytes), from, into,
                                        in_pieces ? way.piece_bytes : LongBlocks::usual_piece_bytes);
  }
  if (in_pieces) return;
  if (way.method == TransposeMethod::alltoall) {
    lay_out(send_bytes, way.value_bytes, send_counts_, send_offsets_);
    lay_out(recv_bytes, way.value_bytes, recv_counts_, recv_offsets_);
    MPI_Type_contiguous(static_cast<int>(way.value_bytes), MPI_BYTE, &value_);
    MPI_Type_commit(&value_);
    return;
  }
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  schedule_ = make_transpose(static_cast<Index>(send_bytes.size()), rank);
  std::vector<SlotBuffer> slots;
  for (const std::size_t bytes : send_bytes) {
    slots.push_back({from, bytes});
    from += bytes;
  }
  for (const std::size_t bytes : recv_bytes) {
    slots.push_back({into, bytes});
    into += bytes;
  }
  pairwise_ = std::make_unique<Executor>(comm, schedule_, SendMode::isend, slots);
}

BlockExchange::~BlockExchange() {
  if (value_ != MPI_DATATYPE_NULL) MPI_Type_free(&value_);
}

void BlockExchange::run() {
  if (pairwise_) return pairwise_->run();
  if (pieces_) return pieces_->run();
  mpi(MPI_Alltoallv(from_, send_counts_.data(), send_offsets_.data(), value_, into_, recv_counts_.data(),
                    recv_offsets_.data(), value_, comm_));
}

void BlockExchange::start() {
  if (pieces_) return pieces_->start();
  mpi(MPI_Ialltoallv(from_, send_counts_.data(), send_offsets_.data(), value_, into_, recv_counts_.data(),
                     recv_offsets_.data(), value_, comm_, &request_));
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
