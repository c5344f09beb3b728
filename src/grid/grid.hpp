// A process grid: d axes, cells in row-major order (the last axis varies fastest), each axis open or periodic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankwise {

// Throws std::invalid_argument with the given one-line message.
[[noreturn]] void invalid(const std::string& message);

using Index = std::int64_t;
using Coords = std::vector<Index>;

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
  // The coordinate c + delta on an axis, wrapped on a periodic axis; -1 where it leaves an open one.
  [[nodiscard]] Index shifted(int axis, Index c, Index delta) const {
    const Index length = dim(axis);
    const Index moved = c + delta;
    if (moved >= 0 && moved < length) return moved;
    return periodic(axis) ? ((moved % length) + length) % length : -1;
  }
  // The cell at coords + sign x offset, wrapped on periodic axes; -1 where it leaves an open one.
  [[nodiscard]] Index cell_beside(const Coords& coords, const Coords& offset, int sign) const;

 private:
  std::vector<Index> dims_;
  std::vector<bool> periodic_;
  Index size_ = 1;
};

}  // namespace rankwise
