// A process grid: d axes, cells in row-major order (the last axis varies fastest), each axis open or periodic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankwise {

// Throws std::invalid_argument with the given one-line message.
[[noreturn]] void invalid(const std::string& message);

using Index = std::int64_t;
using Coords = std::vector<Index>;

// a / b rounded down, for b > 0: how often a coordinate has gone round an axis.
[[nodiscard]] constexpr Index floor_div(Index a, Index b) { return a / b - (a % b < 0 ? 1 : 0); }

class Grid {
 public:
  // dims: cells per axis, each >= 1. periodic: empty (all open), or one flag an axis.
  // Throws std::invalid_argument on no axis, a size below 1, a wrong number of flags, or more than 2^62 cells.
  explicit Grid(std::vector<Index> dims, std::vector<bool> periodic = {});

  [[nodiscard]] int ndim() const { return static_cast<int>(dims_.size()); }
  [[nodiscard]] Index dim(int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] bool periodic(int axis) const { return periodic_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] const std::vector<Index>& dims() const { return dims_; }
  [[nodiscard]] const std::vector<bool>& periodic() const { return periodic_; }
  [[nodiscard]] Index size() const { return size_; }

  // Row-major cell of coordinates inside the grid.
  [[nodiscard]] Index cell(const Coords& coords) const;
  [[nodiscard]] Coords coords(Index cell) const;
  // The cell in the middle of all axes, of two the later one.
  [[nodiscard]] Index middle() const;
  // The coordinate c + delta on an axis, wrapped on a periodic axis; -1 where it leaves an open one.
  [[nodiscard]] Index shifted(int axis, Index c, Index delta) const {
    const Index length = dim(axis);
    const Index moved = c + delta;
    if (moved >= 0 && moved < length) return moved;
    return periodic(axis) ? moved - floor_div(moved, length) * length : -1;
  }
  // The cell at coords + sign x offset, wrapped on periodic axes; -1 where it leaves an open one.
  [[nodiscard]] Index cell_at_offset(const Coords& coords, const Coords& offset, int sign) const;

 private:
  std::vector<Index> dims_;
  std::vector<bool> periodic_;
  Index size_ = 1;
};

// A stencil: the relative offsets to which every cell of a process grid sends (hunold2020, section II).

class Stencil {
 public:
  // ndim: 1 to 64. offsets: at least one, at most 100 000, each with ndim components of magnitude up to 2^31 that are
  // not all 0, none given twice. Throws std::invalid_argument otherwise.
  // weights: empty (all 1), or for each offset what a message to there counts, 1 to 2^20 (bytes, say).
  Stencil(int ndim, std::vector<Coords> offsets, std::vector<Index> weights = {});

  [[nodiscard]] int ndim() const { return ndim_; }
  [[nodiscard]] const std::vector<Coords>& offsets() const { return offsets_; }
  // One an offset, in their order.
  [[nodiscard]] const std::vector<Index>& weights() const { return weights_; }
  // The sum of the weights: what one cell sends inside a grid without borders.
  [[nodiscard]] Index total_weight() const { return total_weight_; }

 private:
  int ndim_;
  std::vector<Coords> offsets_;
  std::vector<Index> weights_;
  Index total_weight_ = 0;
};

// The stencil that a user names, for a grid of ndim axes:
//   nearest-neighbor            one cell either way along each axis
//   nearest-neighbor-with-hops  the same, and two and three cells either way along axis 0
//   component                   one cell either way along each axis but the last
//   moore:K                     every cell at most K away along every axis
//   "1,0;-1,0;0,2"              offsets: components separated by commas, offsets by semicolons
//   "1,0*8;0,2"                 an offset's weight follows a star; 1 where there is none
// Throws std::invalid_argument where the text is none of these or does not fit ndim.
Stencil parse_stencil(std::string_view text, int ndim);

}  // namespace rankwise
