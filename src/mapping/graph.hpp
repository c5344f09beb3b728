// Any program's traffic as a graph, and the nodes and switches onto which its ranks are put.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mapping/mapping.hpp"
#include "mapping/random.hpp"

namespace rankwise {

// Where something of this number stands in a vector.
[[nodiscard]] constexpr std::size_t slot(std::int32_t number) { return static_cast<std::size_t>(number); }

// An undirected graph in compressed rows. Each edge stands at both of its ends, with the weight of both directions.
struct WeightedGraph {
  using Vertex = std::int32_t;
  struct Edge {
    Vertex to;
    std::int32_t weight;
  };

  std::vector<std::uint32_t> first{0};
  std::vector<Edge> edges;
  std::vector<std::int32_t> ranks;  // in each vertex; empty: one in each

  [[nodiscard]] Vertex vertices() const { return static_cast<Vertex>(first.size()) - 1; }
  [[nodiscard]] std::span<const Edge> edges_of(Vertex vertex) const {
    return {edges.data() + first[slot(vertex)], edges.data() + first[slot(vertex) + 1]};
  }
  [[nodiscard]] std::int32_t ranks_of(Vertex vertex) const { return ranks.empty() ? 1 : ranks[slot(vertex)]; }
  // The mean weight of an edge, at least 1.
  [[nodiscard]] std::int64_t mean_weight() const;
  // Throws std::invalid_argument where an edge leads out of the graph or to its own vertex, weighs less than 0, does not
  // stand at both of its ends, or all edges together weigh 2^31 or more (both ends counted).
  void check() const;
};

// Nodes, and the units (switches, groups) that hold them.
struct NodeTree {
  std::vector<Index> sizes;                             // ranks of each node
  std::vector<std::vector<std::int32_t>> unit_of_node;  // for each level above the node, the inner first
  std::vector<std::int64_t> costs{1};  // of a weight between nodes of one unit of the innermost level, then of the next, ...

  [[nodiscard]] std::int32_t nodes() const { return static_cast<std::int32_t>(sizes.size()); }
  [[nodiscard]] bool flat() const { return unit_of_node.empty(); }
  [[nodiscard]] std::int64_t cost(NodeId a, NodeId b) const {
    if (a == b) return 0;
    for (std::size_t level = 0; level < unit_of_node.size(); ++level) {
      const auto& unit = unit_of_node[level];
      if (unit[slot(a)] == unit[slot(b)]) return costs[level];
    }
    return costs.back();
  }
  // Throws std::invalid_argument where sizes are below 1, a level has another number of nodes, units do not lie within
  // those of the level above, or costs are not one more than levels, below 0, above 2^10, or fall outwards.
  void check() const;
};

// What the map costs: the sum over edges of weight times the cost between the nodes of its ends.
[[nodiscard]] std::int64_t cost_of(const WeightedGraph& graph, const NodeTree& tree, std::span<const NodeId> node_of_vertex);

// Puts vertices, one rank each, on nodes of exactly these sizes so that cost_of is small: recursive multisection
// and annealing with repaired sizes (graph_search.hpp). The division is made whatever the effort, which
// is for what follows; a clock counts both. Throws std::invalid_argument where graph and tree do not fit.
[[nodiscard]] std::vector<NodeId> map_graph(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options);

// A graph of half the size: pairs of vertices bound by heavy edges become one.

inline constexpr WeightedGraph::Vertex no_vertex = -1;

struct Coarser {
  WeightedGraph graph;
  std::vector<WeightedGraph::Vertex> of;  // the coarse vertex of each finer one
};

// No pair holds more than so many ranks or, where part is not empty, vertices of two parts.
[[nodiscard]] Coarser coarsened(const WeightedGraph& graph, std::int64_t most, std::span<const NodeId> part, Random& random);

// Groups of vertices that talk among themselves only, put onto nodes whole where they fit, and cut where that costs least.

// Fills one node after the other, exactly: each time the whole groups, and the pieces of groups, that cut least in all (a
// dynamic program over groups and ranks). A piece is what lies nearest to one of those that are bound least to the others. For
// nodes without levels above them and one rank a vertex. Takes O(vertices * (vertices + 8 * nodes * degree)) time.
[[nodiscard]] std::vector<NodeId> dealt_in_pieces(const WeightedGraph& graph, const NodeTree& tree);

}  // namespace rankwise
