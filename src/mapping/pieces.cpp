#include "mapping/pieces.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace rankwise {

namespace {

using Vertex = WeightedGraph::Vertex;
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
