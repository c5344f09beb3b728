// Ranks laid out in cells that are open in all directions, or wrap around along axes whose period is known.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "pattern/describe.hpp"
#include "pattern/links.hpp"

namespace rankwise {

inline Cell sum(const Cell& a, const Cell& b, int sign = 1) {
  Cell result;
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] + sign * b[i];
  return result;
}

class CellLayout {
 public:
  explicit CellLayout(std::size_t ranks, const Cell& period = {});

  [[nodiscard]] bool has(Rank rank) const { return placed_[rank]; }
  [[nodiscard]] const Cell& cell(Rank rank) const { return cells_[rank]; }
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  // In the order in which they were placed.
  [[nodiscard]] const std::vector<Rank>& placed() const { return order_; }
  // Who sits there.
  [[nodiscard]] std::optional<Rank> at(const Cell& cell) const;
  // The same cell with its coordinates within the periods.
  [[nodiscard]] Cell wrapped(Cell cell) const;
  // From a to b by the shorter way.
  [[nodiscard]] Cell offset(const Cell& a, const Cell& b) const;
  [[nodiscard]] Cell offset(Rank a, Rank b) const { return offset(cells_[a], cells_[b]); }
  // The cell must be free and wrapped, the rank not placed.
  void place(Rank rank, const Cell& cell);

 private:
  [[nodiscard]] std::size_t slot(const Cell& cell) const;

  Cell period_;
  std::vector<Cell> cells_;
  std::vector<bool> placed_;
  std::vector<Rank> order_;
  std::vector<Rank> table_;  // rank + 1, by the cell's hash
};

}  // namespace rankwise
