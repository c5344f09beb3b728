// Blocks of any length, also beyond 2^31 bytes, straight from rank to rank.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "fft/stages.hpp"

namespace rankwise {

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

}  // namespace rankwise
