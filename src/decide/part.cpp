#include "decide/part.hpp"

#include <algorithm>
#include <numeric>

#include "decide/representatives.hpp"

namespace rankwise {

std::optional<Part> part_of(const Grid& grid, const std::vector<Index>& reach, std::vector<Index> repeats, Index operations,
                            const Placement& placement) {
  if (!placement.is_blocked()) return {};
  // Ranks of a unit: a node, or what switches put together.
  Index unit = placement.ranks_per_node();
  for (const Index nodes : placement.levels()) {
    if (nodes < placement.nodes()) unit = std::lcm(unit, nodes * placement.ranks_per_node());
  }
  const std::size_t axes = grid.dims().size();
  std::vector<Index> dims = grid.dims();
  std::vector<Index> tile = grid.dims();
  Index stride = 1;
  for (std::size_t axis = axes; axis-- > 0; stride *= grid.dims()[axis]) {
    repeats[axis] = std::lcm(repeats[axis], unit / std::gcd(unit, stride));
    if (grid.periodic(static_cast<int>(axis)) && dims[axis] % repeats[axis] == 0) tile[axis] = repeats[axis];
  }
  // There a unit far from both borders remains.
  const auto least = [&](std::size_t axis) {
    return ((reach[axis] + repeats[axis] - 1) / repeats[axis] + 1) * repeats[axis] + reach[axis];
  };
  const auto fits = [&] {
    Index most = most_operations_of_all / std::max<Index>(1, operations);
    for (const Index length : tile) most /= length;
    return most > 0;
  };
  while (!fits()) {
    // The axis that is longest for what goes along it is made shorter.
    std::optional<std::size_t> longest;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (grid.periodic(static_cast<int>(axis)) || dims[axis] - repeats[axis] < least(axis)) continue;
      if (!longest || dims[axis] * (reach[*longest] + 1) > dims[*longest] * (reach[axis] + 1)) longest = axis;
    }
    if (!longest) return {};
    const Index spare = dims[*longest] - least(*longest);
    const Index less = std::max<Index>(1, std::min(spare, dims[*longest] / 8) / repeats[*longest]) * repeats[*longest];
    dims[*longest] -= less;
    tile[*longest] -= less;
  }
  if (tile == grid.dims()) return {};
  return Part{Grid(std::move(dims), grid.periodic()), std::move(tile)};
}

}  // namespace rankwise
