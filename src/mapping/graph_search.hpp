// Local search on a graph whose vertices lie on nodes: annealing with soft sizes, and what makes the sizes exact again.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "mapping/effort.hpp"
#include "mapping/graph.hpp"
#include "mapping/random.hpp"

namespace rankwise {

// A map while a search changes it.
class GraphMap {
 public:
  using Vertex = WeightedGraph::Vertex;

  GraphMap(const WeightedGraph& graph, const NodeTree& tree, std::vector<NodeId> node_of_vertex);

  [[nodiscard]] const WeightedGraph& graph() const { return *graph_; }
  [[nodiscard]] const NodeTree& tree() const { return *tree_; }
  [[nodiscard]] NodeId node(Vertex vertex) const { return node_[static_cast<std::size_t>(vertex)]; }
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return node_; }
  // Ranks that the node has beyond its size; negative where it lacks some.
  [[nodiscard]] std::int64_t surplus(NodeId node) const { return surplus_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] std::int64_t cost() const { return cost_; }

  // What moving a vertex would change of the cost.
  [[nodiscard]] std::int64_t change(Vertex vertex, NodeId to) const {
    const NodeId from = node(vertex);
    std::int64_t sum = 0;
    if (tree_->flat()) {
      for (const auto& edge : graph_->edges_of(vertex)) {
        const NodeId other = node(edge.to);
        if (other == from) sum += edge.weight;
        if (other == to) sum -= edge.weight;
      }
      return sum * tree_->costs.front();
    }
    for (const auto& edge : graph_->edges_of(vertex)) {
      const NodeId other = node(edge.to);
      sum += edge.weight * (tree_->cost(to, other) - tree_->cost(from, other));
    }
    return sum;
  }
  void move(Vertex vertex, NodeId to, std::int64_t change) {
    NodeId& own = node_[static_cast<std::size_t>(vertex)];
    surplus_[static_cast<std::size_t>(own)] -= graph_->ranks_of(vertex);
    surplus_[static_cast<std::size_t>(to)] += graph_->ranks_of(vertex);
    own = to;
    cost_ += change;
  }

 private:
  const WeightedGraph* graph_;
  const NodeTree* tree_;
  std::vector<NodeId> node_;
  std::vector<std::int32_t> surplus_;
  std::int64_t cost_ = 0;
};

// Temperatures and prices of the square of a wrong size, in 1/1024 of a mean weight, at the start and at the end.
struct Heat {
  std::int64_t hot;
  std::int64_t cold;
  std::int64_t hot_price;
  std::int64_t cold_price;
};

// Moves single vertices to the nodes of their neighbours while the temperature falls, for so many steps; false where the
// effort, of which it spends nothing, has ended before.
bool anneal(GraphMap& map, const Heat& heat, Index steps, Random& random, Effort& effort);

// Passes over all vertices, each of which goes where it gains most; sizes stay wrong by slack ranks at most. For nodes without
// levels above them.
void smooth(GraphMap& map, std::int64_t slack, int passes);

// Makes every size exact by cheap chains of moves. For graphs of one rank a vertex.
void repair(GraphMap& map);

// What makes a graph's map better, round by round.

// Rounds of several kinds, those more often that have gained most for their steps: annealing of the whole map, hot or cool;
// and windows, some neighbouring nodes whose vertices are annealed, or divided again and annealed, alone. What is no better is
// dropped. Windows are shared among threads; the result does not depend on their number.
void improve(GraphMap& map, const MappingOptions& options);

// Recursive multisection of a graph into parts of exact sizes: a start for a search.

// Divides nodes into halves at the boundaries of units first, and the graph with them: coarsened by matching heavy edges,
// divided where it is small, refined by the moves of Fiduccia and Mattheyses (1982) at every size. The nodes of each unit must
// follow each other.
[[nodiscard]] std::vector<NodeId> multisect(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options);

// About how many steps that takes for so many vertices and edges (both ways), where groups divide the nodes in so many halvings
// already. For few nodes more is tried, and in haste less.
[[nodiscard]] Index multisect_steps(Index vertices, Index edges, Index nodes, bool hasty = false, Index done = 0);
// How often nodes are halved until each is alone.
[[nodiscard]] constexpr Index halvings(Index nodes) { return std::bit_width(static_cast<std::uint64_t>(nodes)); }

// The same within groups of vertices that are there already. group: of each vertex; first_nodes: the first of the nodes that
// follow each other for each group, which hold it exactly, and at last how many nodes there are.
[[nodiscard]] std::vector<NodeId> multisect_within(const WeightedGraph& graph, const NodeTree& tree,
                                                   const MappingOptions& options, std::span<const NodeId> group,
                                                   std::span<const NodeId> first_nodes);

}  // namespace rankwise
