#include "mapping/graph.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "mapping/graph_improve.hpp"
#include "mapping/multisect.hpp"
#include "mapping/random.hpp"

namespace rankwise {

std::int64_t WeightedGraph::mean_weight() const {
  std::int64_t sum = 0;
  std::int64_t count = 0;
  for (const Edge& edge : edges) {
    sum += edge.weight;
    count += edge.weight > 0 ? 1 : 0;
  }
  return count == 0 ? 1 : std::max<std::int64_t>(1, sum / count);
}

void WeightedGraph::check() const {
  if (first.empty() || first.front() != 0 || first.back() != edges.size() || !std::ranges::is_sorted(first)) {
    invalid("the rows of the graph do not hold its edges");
  }
  std::int64_t sum = 0;
  std::uint64_t both_ends = 0;  // 0 where each edge stands at both
  for (Vertex v = 0; v < vertices(); ++v) {
    for (const Edge& edge : edges_of(v)) {
      const bool inside = edge.to >= 0 && edge.to < vertices() && edge.to != v;
      if (!inside || edge.weight < 0) invalid("the graph has an edge that is none");
      sum += edge.weight;
      const auto [low, high] = std::minmax(v, edge.to);
      const std::uint64_t sign = mixed(mixed(static_cast<std::uint64_t>(low)) ^ static_cast<std::uint64_t>(high)) +
                                 static_cast<std::uint64_t>(edge.weight);
      both_ends += v < edge.to ? mixed(sign) : ~mixed(sign) + 1;
    }
  }
  if (both_ends != 0) invalid("the graph's edges do not stand at both of their vertices");
  if (sum >= std::int64_t{1} << 31) invalid("the graph's edges are too heavy");
}

void NodeTree::check() const {
  if (sizes.empty() || std::ranges::any_of(sizes, [](Index size) { return size < 1; })) {
    invalid("each node must hold at least one rank");
  }
  if (costs.size() != std::max<std::size_t>(1, unit_of_node.size() + 1)) {
    invalid("give one cost more than there are levels above the node");
  }
  if (!std::ranges::is_sorted(costs) || costs.front() < 0 || costs.back() > 1024) {
    invalid("costs of levels must be 0 to 1024 and not fall outwards");
  }
  for (std::size_t level = 0; level < unit_of_node.size(); ++level) {
    if (unit_of_node[level].size() != sizes.size()) invalid("a level has another number of nodes");
    if (level == 0) continue;
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::size_t node = 0; node < sizes.size(); ++node) {
      pairs.emplace_back(unit_of_node[level - 1][node], unit_of_node[level][node]);
    }
    std::ranges::sort(pairs);
    for (std::size_t i = 1; i < pairs.size(); ++i) {
      if (pairs[i].first == pairs[i - 1].first && pairs[i].second != pairs[i - 1].second) {
        invalid("a unit of one level lies in two of the next");
      }
    }
  }
}

std::int64_t cost_of(const WeightedGraph& graph, const NodeTree& tree, std::span<const NodeId> node_of_vertex) {
  std::int64_t sum = 0;
  for (WeightedGraph::Vertex v = 0; v < graph.vertices(); ++v) {
    const NodeId own = node_of_vertex[slot(v)];
    for (const auto& edge : graph.edges_of(v)) {
      const NodeId other = node_of_vertex[slot(edge.to)];
      if (other != own) sum += edge.weight * tree.cost(own, other);
    }
  }
  return sum / 2;
}

std::vector<NodeId> map_graph(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options) {
  graph.check();
  tree.check();
  if (!graph.ranks.empty()) invalid("a vertex must be one rank");
  if (std::accumulate(tree.sizes.begin(), tree.sizes.end(), Index{0}) != graph.vertices()) {
    invalid("the nodes do not hold as many ranks as the graph has");
  }
  // Nodes of a unit one after the other.
  std::vector<NodeId> order(tree.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  for (const auto& unit : tree.unit_of_node) std::ranges::stable_sort(order, {}, [&](NodeId node) { return unit[slot(node)]; });
  NodeTree sorted{{}, std::vector<std::vector<std::int32_t>>(tree.unit_of_node.size()), tree.costs};
  for (const NodeId node : order) {
    sorted.sizes.push_back(tree.sizes[slot(node)]);
    for (std::size_t level = 0; level < tree.unit_of_node.size(); ++level) {
      sorted.unit_of_node[level].push_back(tree.unit_of_node[level][slot(node)]);
    }
  }
  GraphMap best(graph, sorted, multisect(graph, sorted, options));
  if ((options.steps > 0 || options.left_s) && tree.nodes() > 1) improve(best, options);
  std::vector<NodeId> result = best.nodes();
  for (NodeId& node : result) node = order[slot(node)];
  return result;
}

}  // namespace rankwise
