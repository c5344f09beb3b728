// Copies of boxes of elements between strided memory and packed messages: planned once, run often.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "grid/grid.hpp"

namespace rankwise {

inline constexpr int most_halo_axes = 6;

using Bytes = std::ptrdiff_t;
using BoxSteps = std::array<Bytes, most_halo_axes>;  // bytes from an element to the next on each axis
using BoxCells = std::array<Index, most_halo_axes>;  // a place or an extent

// Rows of consecutive bytes in nested loops, the innermost last; offsets and steps count in bytes.
struct BoxCopy {
  struct Loop {
    Index count = 1;
    Bytes from = 0;
    Bytes into = 0;
  };
  std::size_t row_bytes = 0;
  Bytes from = 0;
  Bytes into = 0;
  int loops = 0;
  std::array<Loop, most_halo_axes> loop{};

  // A box of `extent` elements of element_bytes: axes that follow each other in memory on both sides are joined. The rows
  // run along the axis of the smallest step of `from`.
  [[nodiscard]] static BoxCopy of_box(int ndim, const BoxCells& extent, std::size_t element_bytes, const BoxSteps& from,
                                      const BoxSteps& into);
  [[nodiscard]] std::size_t bytes() const;
  // The same the other way.
  [[nodiscard]] BoxCopy reversed() const;
};

// Calls row(into, from, bytes) for every row, in the order of the loops.
template <class Row>
void each_row(const BoxCopy& copy, std::byte* into, const std::byte* from, Row row) {
  into += copy.into;
  from += copy.from;
  if (copy.loops == 0) {
    row(into, from, copy.row_bytes);
    return;
  }
  const BoxCopy::Loop inner = copy.loop[static_cast<std::size_t>(copy.loops - 1)];
  const auto run_inner = [&](std::byte* to, const std::byte* source) {
    for (Index i = 0; i < inner.count; ++i) row(to + i * inner.into, source + i * inner.from, copy.row_bytes);
  };
  if (copy.loops == 1) {
    run_inner(into, from);
    return;
  }
  if (copy.loops == 2) {
    for (Index i = 0; i < copy.loop[0].count; ++i) {
      run_inner(into + i * copy.loop[0].into, from + i * copy.loop[0].from);
    }
    return;
  }
  std::array<Index, most_halo_axes> at{};
  const auto outer = static_cast<std::size_t>(copy.loops - 1);
  while (true) {
    run_inner(into, from);
    std::size_t axis = outer;
    while (axis-- > 0) {
      const BoxCopy::Loop& loop = copy.loop[axis];
      into += loop.into;
      from += loop.from;
      if (++at[axis] < loop.count) break;
      into -= loop.count * loop.into;
      from -= loop.count * loop.from;
      at[axis] = 0;
      if (axis == 0) return;
    }
  }
}

// Copies elements of so many bytes, each a stride after the other, to or from places that follow each other.
void gather(std::size_t size, Bytes count, const std::byte* from, Bytes stride, std::byte* into);
void scatter(std::size_t size, Bytes count, const std::byte* from, std::byte* into, Bytes stride);
// The same with elements at these places, counted in strides.
void gather(std::size_t size, std::span<const int> at, const std::byte* from, Bytes stride, std::byte* into);
void scatter(std::size_t size, std::span<const int> at, const std::byte* from, std::byte* into, Bytes stride);

// Reads a byte of each page of the rows that a copy reads, so that they are there before the first one.
void touch(const BoxCopy& copy, const std::byte* from);
// Copies bytes.
void run(const BoxCopy& copy, std::byte* into, const std::byte* from);

}  // namespace rankwise
