#include "mapping/graph.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "mapping/graph_search.hpp"
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

namespace {

using Vertex = WeightedGraph::Vertex;

// Vertices of few edges first, in turns of neighbouring ones drawn at random: what is near in memory stays near.
std::vector<Vertex> order_to_match(const WeightedGraph& graph, Random& random) {
  constexpr std::size_t classes = 9;
  constexpr Vertex window = 512;
  const Vertex count = graph.vertices();
  const auto degree = [&](Vertex v) { return std::min<std::size_t>(graph.edges_of(v).size(), classes - 1); };
  std::array<std::size_t, classes + 1> begin{};
  for (Vertex v = 0; v < count; ++v) ++begin[degree(v) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Vertex> order(slot(count));
  std::array<Vertex, window> drawn{};
  for (Vertex from = 0; from < count; from += window) {
    const Vertex size = std::min(window, count - from);
    for (Vertex i = 0; i < size; ++i) {
      const auto other = static_cast<std::size_t>(((random.bits() >> 32) * static_cast<std::uint64_t>(i + 1)) >> 32);
      drawn[slot(i)] = drawn[other];
      drawn[other] = from + i;
    }
    for (Vertex i = 0; i < size; ++i) order[begin[degree(drawn[slot(i)])]++] = drawn[slot(i)];
  }
  return order;
}

// The other vertex that each is joined with (itself: none), never more than so many ranks together.
std::vector<Vertex> matched(const WeightedGraph& graph, std::int64_t most, std::span<const NodeId> part, Random& random) {
  const auto apart = [&](Vertex a, Vertex b) { return !part.empty() && part[slot(a)] != part[slot(b)]; };
  std::vector<Vertex> mate(slot(graph.vertices()), no_vertex);
  std::vector<Vertex> near(mate.size(), no_vertex);  // the neighbour with the heaviest edge, of those left alone
  const std::vector<Vertex> order = order_to_match(graph, random);
  for (const Vertex v : order) {
    if (mate[slot(v)] != no_vertex) continue;
    const std::int64_t own = graph.ranks_of(v);
    Vertex best = no_vertex;
    double best_value = -1.0;
    std::int32_t heaviest = -1;
    for (const auto& edge : graph.edges_of(v)) {
      if (edge.weight > heaviest) {
        heaviest = edge.weight;
        near[slot(v)] = edge.to;
      }
      const std::int64_t other = graph.ranks_of(edge.to);
      if (mate[slot(edge.to)] != no_vertex || own + other > most || apart(v, edge.to)) continue;
      const double value = static_cast<double>(edge.weight) * edge.weight / static_cast<double>(other);
      if (value <= best_value) continue;
      best_value = value;
      best = edge.to;
    }
    if (best == no_vertex) continue;
    mate[slot(v)] = best;
    mate[slot(best)] = v;
  }
  // Those left alone next to the same neighbour, as the many around a hub, or without any.
  std::vector<Vertex> waiting(mate.size() + 1, no_vertex);
  for (const Vertex v : order) {
    if (mate[slot(v)] != no_vertex) continue;
    Vertex& other = waiting[slot(near[slot(v)] + 1)];
    if (other != no_vertex && graph.ranks_of(v) + graph.ranks_of(other) <= most && !apart(v, other)) {
      mate[slot(v)] = other;
      mate[slot(other)] = v;
      other = no_vertex;
    } else {
      other = v;
    }
  }
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (mate[slot(v)] == no_vertex) mate[slot(v)] = v;
  }
  return mate;
}

Coarser contracted(const WeightedGraph& fine, const std::vector<Vertex>& mate) {
  Coarser result;
  result.of.resize(mate.size());
  Vertex count = 0;
  for (Vertex v = 0; v < fine.vertices(); ++v) {
    const Vertex other = mate[slot(v)];
    result.of[slot(v)] = other < v ? result.of[slot(other)] : count++;
  }
  WeightedGraph& coarse = result.graph;
  coarse.first.reserve(slot(count) + 1);
  coarse.ranks.reserve(slot(count));
  coarse.edges.reserve(fine.edges.size() * 3 / 4);
  std::vector<std::uint32_t> place(slot(count), 0);  // of the edge to each vertex, plus 1, where it is of this row
  for (Vertex v = 0; v < fine.vertices(); ++v) {
    const Vertex other = mate[slot(v)];
    if (other < v) continue;
    const Vertex own = result.of[slot(v)];
    const auto begin = static_cast<std::uint32_t>(coarse.edges.size());
    const auto add = [&](Vertex member) {
      for (const auto& edge : fine.edges_of(member)) {
        const Vertex to = result.of[slot(edge.to)];
        if (to == own) continue;
        std::uint32_t& at = place[slot(to)];
        if (at > begin) {
          coarse.edges[at - 1].weight += edge.weight;
        } else {
          coarse.edges.push_back({to, edge.weight});
          at = static_cast<std::uint32_t>(coarse.edges.size());
        }
      }
    };
    add(v);
    if (other != v) add(other);
    coarse.ranks.push_back(fine.ranks_of(v) + (other != v ? fine.ranks_of(other) : 0));
    coarse.first.push_back(static_cast<std::uint32_t>(coarse.edges.size()));
  }
  return result;
}

}  // namespace

Coarser coarsened(const WeightedGraph& graph, std::int64_t most, std::span<const NodeId> part, Random& random) {
  return contracted(graph, matched(graph, most, part, random));
}

namespace {

using Vertices = std::vector<Vertex>;

class Pieces {
 public:
  Pieces(const WeightedGraph& graph, const NodeTree& tree)
      : graph_(graph), tree_(tree), node_(slot(graph.vertices()), -1), round_(node_.size(), 0) {}

  std::vector<NodeId> deal() {
    std::vector<bool> is_known(node_.size(), false);
    for (Vertex v = 0; v < graph_.vertices(); ++v) {
      if (is_known[slot(v)]) continue;
      groups_.push_back(by_distance({}, v));
      for (const Vertex member : groups_.back()) is_known[slot(member)] = true;
    }
    for (NodeId node = 0; node < tree_.nodes(); ++node) fill(node);
    return std::move(node_);
  }

 private:
  static constexpr std::size_t orders = 8;

  // A way to take some of a group: the first of an order.
  struct Take {
    std::size_t count = 0;
    std::size_t order = 0;
  };

  // All of a group and what else hangs together with the start among vertices without a node, the nearest first.
  Vertices by_distance(const Vertices& group, Vertex start) {
    ++turn_;
    Vertices order;
    const auto add = [&](Vertex v) {
      if (round_[slot(v)] == turn_ || node_[slot(v)] >= 0) return;
      round_[slot(v)] = turn_;
      order.push_back(v);
    };
    add(start);
    for (std::size_t at = 0, next = 0; at < order.size() || next < group.size();) {
      if (at < order.size()) {
        for (const auto& edge : graph_.edges_of(order[at])) add(edge.to);
        ++at;
      } else {
        add(group[next++]);  // pieces may have come off in between
      }
    }
    return order;
  }

  // A group in some orders, each from one of those that are bound least to the others.
  std::vector<Vertices> orders_of(const Vertices& group) {
    std::vector<std::pair<std::int64_t, Vertex>> ends;
    for (const Vertex v : group) {
      std::int64_t bound = 0;
      for (const auto& edge : graph_.edges_of(v)) bound += node_[slot(edge.to)] < 0 ? edge.weight : 0;
      ends.emplace_back(bound, v);
    }
    std::ranges::sort(ends);
    std::vector<Vertices> found;
    for (std::size_t i = 0; i < std::min(orders, ends.size()); ++i) found.push_back(by_distance(group, ends[i].second));
    return found;
  }

  // What is cut between the first k of an order and the others, for each k.
  std::vector<std::int64_t> cuts_of(const Vertices& order) {
    ++turn_;
    std::vector<std::int64_t> cuts{0};
    for (const Vertex v : order) {
      std::int64_t cut = cuts.back();
      for (const auto& edge : graph_.edges_of(v)) {
        if (node_[slot(edge.to)] < 0) cut += round_[slot(edge.to)] == turn_ ? -edge.weight : edge.weight;
      }
      round_[slot(v)] = turn_;
      cuts.push_back(cut);
    }
    return cuts;
  }

  void fill(NodeId node) {
    constexpr auto none = std::numeric_limits<std::int64_t>::max();
    const auto room = static_cast<std::size_t>(tree_.sizes[slot(node)]);
    std::vector<std::int64_t> least(room + 1, none);
    least[0] = 0;
    std::vector<std::vector<Vertices>> ordered;
    std::vector<std::vector<Take>> takes(groups_.size(), std::vector<Take>(room + 1));
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      ordered.push_back(orders_of(groups_[g]));
      std::vector<std::pair<std::int64_t, std::size_t>> cheapest(groups_[g].size() + 1, {none, 0});
      for (std::size_t i = 0; i < ordered[g].size(); ++i) {
        const std::vector<std::int64_t> cuts = cuts_of(ordered[g][i]);
        for (std::size_t k = 0; k < cuts.size(); ++k) cheapest[k] = std::min(cheapest[k], {cuts[k], i});
      }
      std::vector<std::int64_t> with = least;
      for (std::size_t count = 1; count <= std::min(groups_[g].size(), room); ++count) {
        const auto [cut, order] = cheapest[count];
        for (std::size_t sum = count; sum <= room; ++sum) {
          if (least[sum - count] == none || least[sum - count] + cut >= with[sum]) continue;
          with[sum] = least[sum - count] + cut;
          takes[g][sum] = {count, order};
        }
      }
      least = std::move(with);
    }
    std::size_t sum = room;
    for (std::size_t g = groups_.size(); g-- > 0;) {
      const auto [count, order] = takes[g][sum];
      sum -= count;
      for (std::size_t i = 0; i < count; ++i) node_[slot(ordered[g][order][i])] = node;
      std::erase_if(groups_[g], [&](Vertex v) { return node_[slot(v)] >= 0; });
    }
    std::erase_if(groups_, [](const Vertices& group) { return group.empty(); });
  }

  const WeightedGraph& graph_;
  const NodeTree& tree_;
  std::vector<NodeId> node_;
  std::vector<Vertices> groups_;  // what is left of each
  std::vector<std::uint32_t> round_;
  std::uint32_t turn_ = 0;
};

}  // namespace

std::vector<NodeId> dealt_in_pieces(const WeightedGraph& graph, const NodeTree& tree) { return Pieces(graph, tree).deal(); }

}  // namespace rankwise
