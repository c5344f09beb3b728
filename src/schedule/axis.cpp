#include "schedule/axis.hpp"

namespace rankwise {

Index Axis::rank_at(Index coordinate) const {
  Coords coords = coords_;
  coords[static_cast<std::size_t>(axis_)] = coordinate;
  return spec_.grid.cell(coords);
}

std::vector<SlotRange> Axis::slab(Index o) const {
  Coords offset(coords_.size(), 0);
  offset[static_cast<std::size_t>(axis_)] = o;
  std::vector<SlotRange> ranges;
  add_box(axis_ + 1, offset, ranges);
  return ranges;
}

void Axis::add_box(int axis, Coords& offset, std::vector<SlotRange>& ranges) const {
  if (axis == spec_.grid.ndim()) {
    const Index slot = spec_.window.slot(offset);
    if (!ranges.empty() && ranges.back().first + ranges.back().count == slot) {
      ++ranges.back().count;
    } else {
      ranges.push_back({slot, 1});
    }
    return;
  }
  const auto i = static_cast<std::size_t>(axis);
  for (Index o = -spec_.window.lower(axis); o <= spec_.window.upper(axis); ++o) {
    if (spec_.grid.shifted(axis, coords_[i], o) < 0) continue;
    offset[i] = o;
    add_box(axis + 1, offset, ranges);
  }
  offset[i] = 0;
}

}  // namespace rankwise
