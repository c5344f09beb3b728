#include "grid/grid.hpp"

#include <stdexcept>
#include <utility>

namespace rankwise {

void invalid(const std::string& message) { throw std::invalid_argument(message); }

Grid::Grid(std::vector<Index> dims, std::vector<bool> periodic) : dims_(std::move(dims)), periodic_(std::move(periodic)) {
  if (dims_.empty()) invalid("the grid has no axis: give one size an axis, as in 50x48");
  if (periodic_.empty()) periodic_.assign(dims_.size(), false);
  if (periodic_.size() != dims_.size()) {
    invalid("the grid has " + std::to_string(dims_.size()) + " axes but " + std::to_string(periodic_.size()) +
            " periodic flags: give one flag an axis");
  }
  constexpr Index limit = Index{1} << 62;
  for (const Index d : dims_) {
    if (d < 1) invalid("the grid has an axis of size " + std::to_string(d) + ": every axis needs at least 1 cell");
    if (size_ > limit / d) invalid("the grid has more than 2^62 cells: make it smaller");
    size_ *= d;
  }
}

Index Grid::cell(const Coords& coords) const {
  Index cell = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) cell = cell * dims_[i] + coords[i];
  return cell;
}

Coords Grid::coords(Index cell) const {
  Coords coords(dims_.size());
  for (std::size_t i = dims_.size(); i-- > 0;) {
    coords[i] = cell % dims_[i];
    cell /= dims_[i];
  }
  return coords;
}

Index Grid::cell_beside(const Coords& coords, const Coords& offset, int sign) const {
  Index cell = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    const Index c = shifted(static_cast<int>(i), coords[i], sign * offset[i]);
    if (c < 0) return -1;
    cell = cell * dims_[i] + c;
  }
  return cell;
}

}  // namespace rankwise
