// How a 3-D grid of points is divided among a p1 x p2 grid of ranks, before, between and after the transposes. Pure.
//
// Rank r sits at (r / p2, r % p2). In natural order axis 0 is divided among p1 and axis 1 among p2, and lines along
// axis 2 are whole; transposed, axis 1 is divided among p1 and axis 2 among p2, and lines along axis 0 are whole. Arrays
// are row-major with axis 2 the fastest in both. p2 = 1 is a slab decomposition with one transpose instead of two.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fft/block_exchange.hpp"
#include "fft/memory.hpp"
#include "grid/grid.hpp"

namespace rankwise {

// Consecutive points of an axis.
struct Share {
  Index first = 0;
  Index count = 0;
};

// The share of one of `parts` parts of n points: as equal as can be, the first n % parts have one more.
[[nodiscard]] inline Share share_of(Index n, Index parts, Index part) {
  const Index least = n / parts;
  const Index more = n % parts;
  return {part * least + (part < more ? part : more), least + (part < more ? 1 : 0)};
}

using Box = std::array<Share, 3>;
[[nodiscard]] std::string text_of(const Box& box);
[[nodiscard]] inline Index volume(const Box& box) { return box[0].count * box[1].count * box[2].count; }

struct Decomposition {
  std::array<Index, 3> n{1, 1, 1};  // points an axis
  bool real = false;                // real data: complex axis 2 has n[2] / 2 + 1 points
  std::array<Index, 2> grid{1, 1};  // p1, p2

  [[nodiscard]] Index ranks() const { return grid[0] * grid[1]; }
  [[nodiscard]] Index complex_points() const { return real ? n[2] / 2 + 1 : n[2]; }  // of axis 2

  // The boxes of complex points that a rank holds. A real array has lines of n[2] reals in the same memory.
  [[nodiscard]] Box natural(Index rank) const {
    return {share_of(n[0], grid[0], rank / grid[1]), share_of(n[1], grid[1], rank % grid[1]), Share{0, complex_points()}};
  }
  [[nodiscard]] Box middle(Index rank) const {  // lines along axis 1 are whole
    return {share_of(n[0], grid[0], rank / grid[1]), Share{0, n[1]}, share_of(complex_points(), grid[1], rank % grid[1])};
  }
  [[nodiscard]] Box transposed(Index rank) const {
    return {Share{0, n[0]}, share_of(n[1], grid[0], rank / grid[1]), share_of(complex_points(), grid[1], rank % grid[1])};
  }
  // Complex values that a rank's array must have room for: the largest of the three boxes.
  [[nodiscard]] Index local_values(Index rank) const;
};

// In which order a forward transform leaves the array, and a backward transform finds it.
enum class Order { natural, transposed };
[[nodiscard]] Order parse_order(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(Order order);

// Throws std::invalid_argument, with the reason and the fix, when an axis has no points or more than 2^20, or some
// rank would have no pencil (unless ranks may be idle: the first one never is).
void check(const Decomposition& decomposition, bool may_idle = false);

// The grid of so many ranks that is taken where nothing is known of the machine: slabs where they fit, else the one whose
// largest array is the smallest.
[[nodiscard]] std::array<Index, 2> usual_grid(const std::array<Index, 3>& n, bool real, Index ranks);

// An array that is divided into boxes, moved to where other boxes of the same points lie.

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
