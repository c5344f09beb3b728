#include "mapping/groups.hpp"

#include <numeric>

namespace rankwise {

std::vector<Index> groups_of(const Grid& grid, std::span<const Coords> offsets) {
  std::vector<Index> root(static_cast<std::size_t>(grid.size()));
  std::iota(root.begin(), root.end(), Index{0});
  const auto find = [&](Index cell) {
    while (root[static_cast<std::size_t>(cell)] != cell) {
      Index& up = root[static_cast<std::size_t>(cell)];
      cell = up = root[static_cast<std::size_t>(up)];
    }
    return cell;
  };
  for (Index cell = 0; cell < grid.size(); ++cell) {
    const Coords at = grid.coords(cell);
    for (const Coords& offset : offsets) {
      const Index other = grid.cell_beside(at, offset, 1);
      if (other >= 0) root[static_cast<std::size_t>(find(other))] = find(cell);
    }
  }
  for (Index cell = 0; cell < grid.size(); ++cell) root[static_cast<std::size_t>(cell)] = find(cell);
  return root;
}

}  // namespace rankwise
