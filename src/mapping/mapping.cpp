#include "mapping/mapping.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

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

}  // namespace rankwise
