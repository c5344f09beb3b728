#include "mapping/score.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace rankwise {

namespace {

// Cells of a row that are worked on together: their counts stay in the first-level cache.
constexpr Index block_cells = 2048;

// Adds the weight to counts[i] wherever the two nodes differ.
template <typename Count>
void count_different(const NodeId* from, const NodeId* to, Count weight, Count* counts, Index length) {
  for (Index i = 0; i < length; ++i) counts[i] += from[i] != to[i] ? weight : Count{0};
}

// The rows (lines along the last axis) of a grid, and where the offsets lead from the current one.
class Rows {
 public:
  Rows(const Grid& grid, const Stencil& stencil)
      : grid_(grid), stencil_(stencil), slow_axes_(grid.ndim() - 1), at_(static_cast<std::size_t>(slow_axes_), 0) {}

  struct Target {
    Index first_cell;  // of the row that the offset leads to
    Index shift;       // along the row; within [0, row) where the last axis is periodic
    Index weight;
  };

  // The rows that the offsets reach from the current row.
  void targets(std::vector<Target>& found) const {
    found.clear();
    const Index length = grid_.dim(slow_axes_);
    for (std::size_t k = 0; k < stencil_.offsets().size(); ++k) {
      const Coords& offset = stencil_.offsets()[k];
      Index row = 0;
      bool inside = true;
      for (int axis = 0; axis < slow_axes_ && inside; ++axis) {
        const auto i = static_cast<std::size_t>(axis);
        const Index moved = offset[i] == 0 ? at_[i] : grid_.shifted(axis, at_[i], offset[i]);
        inside = moved >= 0;
        row = row * grid_.dim(axis) + moved;
      }
      Index shift = offset.back();
      if (grid_.periodic(slow_axes_)) shift = ((shift % length) + length) % length;
      if (inside && shift > -length && shift < length) {
        found.push_back({row * length, shift, stencil_.weights()[k]});
      }
    }
  }

  void next() {
    for (int axis = slow_axes_; axis-- > 0;) {
      auto& coordinate = at_[static_cast<std::size_t>(axis)];
      if (++coordinate < grid_.dim(axis)) return;
      coordinate = 0;
    }
  }

 private:
  const Grid& grid_;
  const Stencil& stencil_;
  int slow_axes_;
  Coords at_;
};

NodeId largest_node(const Grid& grid, std::span<const NodeId> node_of_cell) {
  if (static_cast<Index>(node_of_cell.size()) != grid.size()) {
    invalid("the map has " + std::to_string(node_of_cell.size()) + " entries but the grid has " + std::to_string(grid.size()) +
            " cells: give one node a cell");
  }
  const auto [smallest, largest] = std::ranges::minmax(node_of_cell);
  if (smallest < 0) invalid("the map has the node " + std::to_string(smallest) + ": node ids start at 0");
  if (largest >= grid.size()) {
    invalid("the map has the node " + std::to_string(largest) + " but the grid has only " + std::to_string(grid.size()) +
            " cells: number the nodes from 0 without gaps");
  }
  return largest;
}

// Adds to leaving[node] the weight of the edges that leave it. Count holds a cell's edges: 32 bits are faster.
template <typename Count>
void add_leaving(const Grid& grid, const Stencil& stencil, std::span<const NodeId> node_of_cell, std::vector<Index>& leaving) {
  const Index length = grid.dim(grid.ndim() - 1);
  const bool wraps = grid.periodic(grid.ndim() - 1);
  std::vector<Count> counts(static_cast<std::size_t>(std::min(length, block_cells)));
  std::vector<Rows::Target> targets;
  Rows rows(grid, stencil);
  for (Index row = 0; row < grid.size(); row += length, rows.next()) {
    const NodeId* from = node_of_cell.data() + row;
    rows.targets(targets);
    for (Index begin = 0; begin < length; begin += block_cells) {
      const Index end = std::min(begin + block_cells, length);
      std::ranges::fill(counts, Count{0});
      const auto compare = [&](Index first, Index last, const NodeId* to, Index shift, Index weight) {
        if (first >= last) return;
        count_different(from + first, to + first + shift, static_cast<Count>(weight), counts.data() + (first - begin),
                        last - first);
      };
      for (const auto& [first_cell, shift, weight] : targets) {
        const NodeId* to = node_of_cell.data() + first_cell;
        compare(std::max(begin, -shift), std::min(end, length - shift), to, shift, weight);
        if (wraps) compare(std::max(begin, length - shift), end, to, shift - length, weight);
      }
      for (Index i = begin; i < end; ++i) {
        leaving[static_cast<std::size_t>(from[i])] += counts[static_cast<std::size_t>(i - begin)];
      }
    }
  }
}

}  // namespace

Index total_edges(const Grid& grid, const Stencil& stencil) {
  Index total = 0;
  for (std::size_t k = 0; k < stencil.offsets().size(); ++k) {
    Index edges = 1;
    bool leads_away = false;
    for (int axis = 0; axis < grid.ndim(); ++axis) {
      const Index step = stencil.offsets()[k][static_cast<std::size_t>(axis)];
      const Index size = grid.dim(axis);
      leads_away = leads_away || (grid.periodic(axis) ? step % size : step) != 0;
      edges *= grid.periodic(axis) ? size : std::max<Index>(0, size - std::abs(step));
    }
    if (leads_away) total += stencil.weights()[k] * edges;
  }
  return total;
}

std::vector<Index> leaving_nodes(const Grid& grid, const Stencil& stencil, std::span<const NodeId> node_of_cell) {
  if (stencil.ndim() != grid.ndim()) {
    invalid("the stencil is for " + std::to_string(stencil.ndim()) + " axes but the grid has " + std::to_string(grid.ndim()) +
            ": give one component an axis");
  }
  std::vector<Index> leaving(static_cast<std::size_t>(largest_node(grid, node_of_cell)) + 1, 0);
  if (stencil.total_weight() <= std::numeric_limits<std::int32_t>::max()) {
    add_leaving<std::int32_t>(grid, stencil, node_of_cell, leaving);
  } else {
    add_leaving<Index>(grid, stencil, node_of_cell, leaving);
  }
  return leaving;
}

Score score(const Grid& grid, const Stencil& stencil, std::span<const NodeId> node_of_cell) {
  Score result;
  for (const Index edges : leaving_nodes(grid, stencil, node_of_cell)) {
    result.j_sum += edges;
    result.j_max = std::max(result.j_max, edges);
  }
  return result;
}

}  // namespace rankwise
