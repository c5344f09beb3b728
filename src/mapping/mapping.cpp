#include "mapping/mapping.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace rankwise {

namespace {

class NodeWriter final : public RunSink {
 public:
  NodeWriter(const NodeSizes& nodes, std::span<NodeId> node_of_cell)
      : nodes_(nodes), left_on_node_(nodes.size(0)), node_of_cell_(node_of_cell.data()) {}

  void run(Index first_cell, Index stride, Index count) override {
    NodeId* cell = node_of_cell_ + first_cell;
    while (count > 0) {
      if (left_on_node_ == 0) left_on_node_ = nodes_.size(++node_);
      const Index here = std::min(count, left_on_node_);
      const auto id = static_cast<NodeId>(node_);
      for (Index i = 0; i < here; ++i) cell[i * stride] = id;
      count -= here;
      left_on_node_ -= here;
      if (count > 0) cell += here * stride;
    }
  }

 private:
  const NodeSizes& nodes_;
  Index node_ = 0;
  Index left_on_node_;
  NodeId* node_of_cell_;
};

class CellWriter final : public RunSink {
 public:
  explicit CellWriter(std::span<Index> cell_of_rank) : next_(cell_of_rank.data()) {}

  void run(Index first_cell, Index stride, Index count) override {
    for (Index i = 0; i < count; ++i) *next_++ = first_cell + i * stride;
  }

 private:
  Index* next_;
};

}  // namespace

NodeSizes::NodeSizes(const std::vector<Index>& sizes) {
  if (sizes.empty()) invalid("there is no node: give at least one node size");
  if (sizes.size() > static_cast<std::size_t>(std::numeric_limits<NodeId>::max())) {
    invalid("there are 2^31 nodes or more: give fewer");
  }
  nodes_ = static_cast<Index>(sizes.size());
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  smallest_ = smallest;
  largest_ = largest;
  if (smallest_ < 1) {
    const auto node = std::ranges::find(sizes, smallest_) - sizes.begin();
    invalid("node " + std::to_string(node) + " holds " + std::to_string(smallest_) + " ranks: every node needs at least 1");
  }
  constexpr Index limit = Index{1} << 62;
  for (const Index size : sizes) {
    if (ranks_ > limit - size) invalid("the nodes hold more than 2^62 ranks: make them smaller");
    ranks_ += size;
  }
  if (smallest_ != largest_) sizes_ = sizes;
}

NodeSizes::NodeSizes(Index nodes, Index ranks_per_node) : nodes_(nodes), smallest_(ranks_per_node), largest_(ranks_per_node) {
  if (nodes < 1 || nodes > std::numeric_limits<NodeId>::max()) {
    invalid("the number of nodes is " + std::to_string(nodes) + ": it must be at least 1 and below 2^31");
  }
  if (ranks_per_node < 1 || ranks_per_node > (Index{1} << 62) / nodes) {
    invalid("a node holds " + std::to_string(ranks_per_node) + " ranks: it must be at least 1, with at most 2^62 in all");
  }
  ranks_ = nodes * ranks_per_node;
}

Index NodeSizes::size(Index node) const { return equal() ? smallest_ : sizes_[static_cast<std::size_t>(node)]; }

MappingProblem::MappingProblem(Grid grid_, NodeSizes nodes_, Stencil stencil_)
    : grid(std::move(grid_)), nodes(std::move(nodes_)), stencil(std::move(stencil_)) {
  if (grid.size() != nodes.ranks()) {
    invalid("the grid has " + std::to_string(grid.size()) + " cells but the nodes hold " + std::to_string(nodes.ranks()) +
            " ranks: change the grid or the node sizes so that both are equal");
  }
  if (stencil.ndim() != grid.ndim()) {
    invalid("the stencil is for " + std::to_string(stencil.ndim()) + " axes but the grid has " + std::to_string(grid.ndim()) +
            ": give one component an axis");
  }
  if (grid.ndim() > static_cast<int>(max_axes)) {
    invalid("the grid has " + std::to_string(grid.ndim()) + " axes: mapping handles at most " + std::to_string(max_axes));
  }
  if (grid.size() > (Index{1} << 45)) invalid("the grid has more than 2^45 cells: mapping handles no more");
  if (stencil.total_weight() > (Index{1} << 62) / grid.size()) {
    invalid("the weights of all edges sum to more than 2^62: divide the stencil's weights by the same number");
  }
}

void fill_node_of_cell(const Mapping& mapping, const NodeSizes& nodes, std::span<NodeId> node_of_cell) {
  NodeWriter writer(nodes, node_of_cell);
  mapping.all_runs(writer);
}

void fill_cell_of_rank(const Mapping& mapping, std::span<Index> cell_of_rank) {
  CellWriter writer(cell_of_rank);
  mapping.all_runs(writer);
}

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
      if (grid_.periodic(slow_axes_)) shift -= floor_div(shift, length) * length;
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

namespace {

class TableMapping final : public Mapping {
 public:
  explicit TableMapping(std::vector<Index> cell_of_rank) : cell_of_rank_(std::move(cell_of_rank)) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override { return cell_of_rank_[static_cast<std::size_t>(rank)]; }

  void all_runs(RunSink& sink) const override {
    for (std::size_t begin = 0; begin < cell_of_rank_.size();) {
      std::size_t end = begin + 1;
      while (end < cell_of_rank_.size() && cell_of_rank_[end] == cell_of_rank_[end - 1] + 1) ++end;
      sink.run(cell_of_rank_[begin], 1, static_cast<Index>(end - begin));
      begin = end;
    }
  }

 private:
  std::vector<Index> cell_of_rank_;
};

}  // namespace

std::unique_ptr<Mapping> table_mapping(const NodeSizes& nodes, std::span<const NodeId> node_of_cell) {
  std::vector<Index> next_rank;
  next_rank.reserve(static_cast<std::size_t>(nodes.nodes()));
  Index rank = 0;
  for (Index node = 0; node < nodes.nodes(); ++node) {
    next_rank.push_back(rank);
    rank += nodes.size(node);
  }
  std::vector<Index> cell_of_rank(node_of_cell.size());
  for (std::size_t cell = 0; cell < node_of_cell.size(); ++cell) {
    Index& next = next_rank[static_cast<std::size_t>(node_of_cell[cell])];
    cell_of_rank[static_cast<std::size_t>(next++)] = static_cast<Index>(cell);
  }
  return std::make_unique<TableMapping>(std::move(cell_of_rank));
}

}  // namespace rankwise
