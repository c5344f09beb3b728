#include "fft/long_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "mpi/error.hpp"
#include "mpi/wait.hpp"

namespace rankwise {

namespace {

constexpr int block_tag = 9;

}  // namespace

LongBlocks::LongBlocks(MPI_Comm comm, const std::vector<LongBlock>& sends, const std::vector<LongBlock>& receives,
                       const std::byte* from, std::byte* into, std::size_t piece_bytes)
    : comm_(comm), from_(from), into_(into) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  sends_ = cut(sends, rank, piece_bytes);
  receives_ = cut(receives, rank, piece_bytes);
  for (const LongBlock& block : sends) {
    if (block.peer == rank) own_from_ = block.offset, own_bytes_ = block.bytes;
  }
  for (const LongBlock& block : receives) {
    if (block.peer == rank) own_into_ = block.offset;
  }
}

// The pieces to one peer come in the order in which they are sent: one tag is enough.
std::vector<LongBlocks::Piece> LongBlocks::cut(const std::vector<LongBlock>& blocks, int own, std::size_t piece_bytes) {
  std::vector<Piece> pieces;
  for (const LongBlock& block : blocks) {
    for (std::size_t at = 0; block.peer != own && at < block.bytes; at += piece_bytes) {
      pieces.push_back({block.peer, block.offset + at, static_cast<int>(std::min(piece_bytes, block.bytes - at))});
    }
  }
  return pieces;
}

void LongBlocks::start() {
  requests_.assign(sends_.size() + receives_.size(), MPI_REQUEST_NULL);
  MPI_Request* request = requests_.data();
  for (const Piece& piece : receives_) {
    mpi(MPI_Irecv(into_ + piece.offset, piece.bytes, MPI_BYTE, piece.peer, block_tag, comm_, request++));
  }
  for (const Piece& piece : sends_) {
    mpi(MPI_Isend(from_ + piece.offset, piece.bytes, MPI_BYTE, piece.peer, block_tag, comm_, request++));
  }
  if (own_bytes_ > 0) std::memcpy(into_ + own_into_, from_ + own_from_, own_bytes_);
}

bool LongBlocks::test() {
  int done = 0;
  mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE));
  return done != 0;
}

void LongBlocks::wait() { wait_all(static_cast<int>(requests_.size()), requests_.data()); }

}  // namespace rankwise
