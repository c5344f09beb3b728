// An array that is divided into boxes, moved to where other boxes of the same points lie.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "fft/block_exchange.hpp"
#include "fft/decomposition.hpp"
#include "fft/memory.hpp"

namespace rankwise {

// Throws std::invalid_argument where the boxes of all ranks do not cover axes of n points once: boxes that overlap, reach
// beyond the axes or leave holes, by the numbers of the ranks. what: "in", for the message. Pure.
void check_cover(const std::array<Index, 3>& n, const std::vector<Box>& boxes, const char* what);

class Redistribution {
 public:
  // from, into: of all ranks. element_bytes: of a point.
  Redistribution(MPI_Comm comm, const std::vector<Box>& from, const std::vector<Box>& into, std::size_t element_bytes,
                 std::size_t piece_bytes = 0);
  // Whether all ranks have the memory for it: this one, that is.
  [[nodiscard]] bool is_there() const { return out_.is_there() && in_.is_there(); }
  [[nodiscard]] std::size_t memory_bytes() const { return out_.bytes() + in_.bytes(); }
  [[nodiscard]] std::size_t messages() const { return messages_; }  // of this rank, to others
  [[nodiscard]] std::size_t message_bytes() const { return message_bytes_; }

  // Row-major memory of a box. line: elements from one line along axis 2 to the next; plane: from one point of axis 0 to the
  // next. 0: without gaps.
  template <class Byte>
  struct Memory {
    Byte* at;
    Index line = 0, plane = 0;
  };
  // Adds it to stages.
  void add(Stages& stages, Memory<const std::byte> from, Memory<std::byte> into, double* exchange_s);

 private:
  struct Part {
    Box box;
    std::size_t offset;  // in the buffer
  };
  [[nodiscard]] static std::vector<Part> parts(const Box& own, const std::vector<Box>& others, std::size_t element_bytes);
  template <class Byte, class Copy>
  void each_line(const Box& own, Memory<Byte> memory, const std::vector<Part>& parts, Copy copy) const;

  std::size_t element_bytes_;
  Box from_, into_;
  std::vector<Part> sends_, receives_;
  Buffer out_, in_;
  std::size_t messages_ = 0, message_bytes_ = 0;
  std::optional<BlockExchange> blocks_;
};

}  // namespace rankwise
