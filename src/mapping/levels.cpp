#include "mapping/levels.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "mapping/box.hpp"
#include "mapping/search.hpp"

namespace rankwise {

namespace {

// Gives the cells of a part, in this order, to its parts one after the other.
std::vector<NodeId> dealt(const std::vector<std::size_t>& order, const NodeSizes& sizes) {
  std::vector<NodeId> part(order.size());
  std::size_t next = 0;
  for (Index i = 0; i < sizes.nodes(); ++i) {
    for (Index left = sizes.size(i); left > 0; --left) part[order[next++]] = static_cast<NodeId>(i);
  }
  return part;
}

// The part of each of these cells.
std::vector<NodeId> divided(const Grid& grid, const Stencil& stencil, std::span<const Index> cells, const NodeSizes& sizes,
                            const MappingOptions& options) {
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<NodeId> plain = dealt(order, sizes);
  if (options.steps <= 0 || sizes.nodes() == 1 || !StencilGraph::fits(static_cast<Index>(cells.size()), stencil)) {
    return plain;
  }
  const StencilGraph graph(grid, stencil, cells);
  const AxisValues strides = strides_of(grid);
  std::vector<Partition> starts;
  starts.emplace_back(graph, sizes, plain);
  // Slices across each axis.
  for (int axis = 0; axis < grid.ndim(); ++axis) {
    const Index stride = strides[static_cast<std::size_t>(axis)];
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return cells[i] / stride % grid.dim(axis); });
    starts.emplace_back(graph, sizes, dealt(order, sizes));
  }
  const Partition best = search(std::move(starts), options, 0);
  return {best.part_of_cell().begin(), best.part_of_cell().end()};
}

}  // namespace

Level divide(const Grid& grid, const Stencil& stencil, const Level& level, Index ways, const MappingOptions& options) {
  if (ways < 1) invalid("a level has " + std::to_string(ways) + " parts: give at least 1");
  if (stencil.ndim() != grid.ndim()) invalid("the stencil is for another number of axes than the grid");
  if (static_cast<Index>(level.part_of_cell.size()) != grid.size()) {
    invalid("the map has " + std::to_string(level.part_of_cell.size()) + " entries but the grid has " +
            std::to_string(grid.size()) + " cells: give one node a cell");
  }
  const std::size_t parts = level.sizes.size();
  // The cells of each part one after the other, ascending.
  std::vector<std::size_t> first(parts + 1, 0);
  Index count = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    first[part + 1] = first[part] + static_cast<std::size_t>(level.sizes[part]);
    count += std::min(ways, level.sizes[part]);
  }
  if (count > std::numeric_limits<NodeId>::max()) invalid("the levels have 2^31 parts or more: give fewer");
  std::vector<Index> cells(level.part_of_cell.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const auto part = static_cast<std::size_t>(level.part_of_cell[cell]);
    if (part >= parts || next[part] == first[part + 1]) invalid("the map does not fill its nodes exactly");
    cells[next[part]++] = static_cast<Index>(cell);
  }
  Level result{std::vector<NodeId>(cells.size()), {}};
  result.sizes.reserve(static_cast<std::size_t>(count));
  for (std::size_t part = 0; part < parts; ++part) {
    const Index size = level.sizes[part];
    const Index inner = std::min(ways, size);
    std::vector<Index> sizes;
    for (Index i = 0; i < inner; ++i) sizes.push_back(size / inner + (i < size % inner ? 1 : 0));
    MappingOptions share = options;
    share.steps =
        static_cast<Index>(static_cast<double>(options.steps) * static_cast<double>(size) / static_cast<double>(grid.size()));
    const std::span<const Index> own(cells.data() + first[part], static_cast<std::size_t>(size));
    const std::vector<NodeId> inside = divided(grid, stencil, own, NodeSizes(sizes), share);
    const auto before = static_cast<NodeId>(result.sizes.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      result.part_of_cell[static_cast<std::size_t>(own[i])] = before + inside[i];
    }
    result.sizes.insert(result.sizes.end(), sizes.begin(), sizes.end());
  }
  return result;
}

}  // namespace rankwise
