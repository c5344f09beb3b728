#include "pattern/layout.hpp"

#include <bit>

#include "mapping/random.hpp"

namespace rankwise {

CellLayout::CellLayout(std::size_t ranks, const Cell& period)
    : period_(period), cells_(ranks), placed_(ranks), table_(std::bit_ceil(2 * ranks + 2)) {}

std::size_t CellLayout::slot(const Cell& cell) const {
  std::uint64_t hash = 0;
  for (const std::int32_t coordinate : cell) {
    hash = (hash ^ static_cast<std::uint32_t>(coordinate)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  std::size_t at = mixed(hash) & (table_.size() - 1);
  while (table_[at] != 0 && cells_[table_[at] - 1] != cell) at = (at + 1) & (table_.size() - 1);
  return at;
}

std::optional<Rank> CellLayout::at(const Cell& cell) const {
  const Rank found = table_[slot(cell)];
  if (found == 0) return std::nullopt;
  return found - 1;
}

Cell CellLayout::wrapped(Cell cell) const {
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (period_[i] > 0) cell[i] = (cell[i] % period_[i] + period_[i]) % period_[i];
  }
  return cell;
}

Cell CellLayout::offset(const Cell& a, const Cell& b) const {
  Cell step = sum(b, a, -1);
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (period_[i] == 0) continue;
    if (2 * step[i] > period_[i]) step[i] -= period_[i];
    if (2 * step[i] < -period_[i]) step[i] += period_[i];
  }
  return step;
}

void CellLayout::place(Rank rank, const Cell& cell) {
  table_[slot(cell)] = rank + 1;
  cells_[rank] = cell;
  placed_[rank] = true;
  order_.push_back(rank);
}

}  // namespace rankwise
