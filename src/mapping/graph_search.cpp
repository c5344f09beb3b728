#include "mapping/graph_search.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace rankwise {

GraphMap::GraphMap(const WeightedGraph& graph, const NodeTree& tree, std::vector<NodeId> node_of_vertex)
    : graph_(&graph), tree_(&tree), node_(std::move(node_of_vertex)), surplus_(tree.sizes.size()) {
  for (std::size_t i = 0; i < surplus_.size(); ++i) surplus_[i] = -static_cast<std::int32_t>(tree.sizes[i]);
  for (Vertex v = 0; v < graph.vertices(); ++v) surplus_[static_cast<std::size_t>(node(v))] += graph.ranks_of(v);
  cost_ = cost_of(graph, tree, node_);
}

bool anneal(GraphMap& map, const Heat& heat, Index steps, Random& random, Effort& effort) {
  static const ExponentialDraws draws;
  constexpr Index block = 1024;
  const WeightedGraph& graph = map.graph();
  const std::int64_t unit = graph.mean_weight();
  const auto vertices = static_cast<std::uint64_t>(graph.vertices());
  const double begun_s = effort.left_s();
  int blocks = 0;
  for (Index done = 0; done < steps;) {
    if (effort.over()) return false;
    if (++blocks % 128 == 0) steps = effort.fitting(steps, done, begun_s);
    const std::int64_t rest = ((steps - done) << 10) / steps;  // 1024 at the start, 0 at the end
    const std::int64_t temperature = (heat.cold + (((heat.hot - heat.cold) * rest >> 10) * rest >> 10)) * unit;
    const std::int64_t price = (heat.cold_price + ((heat.hot_price - heat.cold_price) * rest >> 10)) * unit;
    for (Index i = 0; i < block; ++i) {
      const std::uint64_t bits = random.bits();  // 32 for the vertex, 16 for where it goes, 12 for the odds
      const auto vertex = static_cast<GraphMap::Vertex>(((bits >> 32) * vertices) >> 32);
      const auto edges = graph.edges_of(vertex);
      ++done;
      if (edges.empty()) continue;
      const NodeId to = map.node(edges[(((bits >> 16) & 0xffff) * edges.size()) >> 16].to);
      const NodeId from = map.node(vertex);
      if (to == from) continue;
      done += static_cast<Index>(edges.size());
      const std::int64_t change = map.change(vertex, to);
      const std::int64_t ranks = graph.ranks_of(vertex);
      const std::int64_t energy = (change << 10) + price * 2 * ranks * (map.surplus(to) - map.surplus(from) + ranks);
      if (energy > 0 && energy << 10 > temperature * draws.draw(bits >> 3)) continue;
      map.move(vertex, to, change);
    }
  }
  return true;
}

namespace {

// By how much a vertex is bound to each node.
class Bounds {
 public:
  explicit Bounds(const NodeTree& tree) : weight_(tree.sizes.size(), 0), is_near_(tree.sizes.size(), false) {}

  void add(const GraphMap& map, GraphMap::Vertex vertex) {
    for (const auto& edge : map.graph().edges_of(vertex)) {
      const NodeId node = map.node(edge.to);
      if (!is_near_[slot(node)]) {
        is_near_[slot(node)] = true;
        near_.push_back(node);
      }
      weight_[slot(node)] += edge.weight;
    }
  }
  void clear() {
    for (const NodeId node : near_) {
      weight_[slot(node)] = 0;
      is_near_[slot(node)] = false;
    }
    near_.clear();
  }
  [[nodiscard]] const std::vector<NodeId>& near() const { return near_; }
  [[nodiscard]] std::int64_t to(NodeId node) const { return weight_[slot(node)]; }

 private:
  std::vector<std::int64_t> weight_;
  std::vector<std::uint8_t> is_near_;
  std::vector<NodeId> near_;
};

}  // namespace

void smooth(GraphMap& map, std::int64_t slack, int passes) {
  Bounds bounds(map.tree());
  for (bool moved = true; moved && passes > 0; --passes) {
    moved = false;
    for (GraphMap::Vertex v = 0; v < map.graph().vertices(); ++v) {
      const NodeId from = map.node(v);
      const std::int64_t ranks = map.graph().ranks_of(v);
      bounds.add(map, v);
      NodeId best = from;
      for (const NodeId to : bounds.near()) {
        if (to == from || map.surplus(to) + ranks > slack || map.surplus(from) - ranks < -slack) continue;
        const std::int64_t gain = bounds.to(to) - bounds.to(best);
        const std::int64_t fuller = map.surplus(to) - (best == from ? map.surplus(from) - 2 * ranks : map.surplus(best));
        if (gain > 0 || (gain == 0 && fuller < 0)) best = to;
      }
      if (best != from) {
        map.move(v, best, (bounds.to(from) - bounds.to(best)) * map.tree().costs.front());
        moved = true;
      }
      bounds.clear();
    }
  }
}

namespace {

// Gives single ranks along chains of neighbouring nodes from those with too many to those with too few.
class Repair {
 public:
  using Vertex = GraphMap::Vertex;

  explicit Repair(GraphMap& map)
      : map_(map),
        unit_(6 * map.graph().mean_weight()),
        members_(map.tree().sizes.size()),
        hops_(members_.size()),
        offers_(members_.size()),
        known_(members_.size(), false),
        places_(members_.size()),
        bounds_(map.tree()) {
    for (Vertex v = 0; v < map.graph().vertices(); ++v) members_[slot(map.node(v))].push_back(v);
  }

  void run() {
    for (NodeId node = 0; node < map_.tree().nodes(); ++node) {
      while (map_.surplus(node) > 0) {
        if (!give_along_chain(node)) give_directly(node);
      }
    }
  }

 private:
  struct Hop {
    std::int64_t price = 0;
    NodeId from = -1;
    std::uint32_t search = 0;
  };
  struct Offer {
    NodeId to;
    std::int64_t change;
    Vertex vertex;
  };
  struct Place {
    std::uint32_t turn = 0;
    std::uint32_t at = 0;  // among the offers of the node whose turn it is
  };

  // The cheapest vertex that a node can give to each neighbouring one. Known until something moves beside it.
  const std::vector<Offer>& offers_of(NodeId node) {
    auto& offers = offers_[slot(node)];
    if (known_[slot(node)]) return offers;
    known_[slot(node)] = true;
    offers.clear();
    ++turn_;
    for (const Vertex v : members_[slot(node)]) {
      bounds_.add(map_, v);
      for (const NodeId to : bounds_.near()) {
        if (to == node) continue;
        const std::int64_t change =
            map_.tree().flat() ? (bounds_.to(node) - bounds_.to(to)) * map_.tree().costs.front() : map_.change(v, to);
        Place& place = places_[slot(to)];
        if (place.turn != turn_) {
          place = {turn_, static_cast<std::uint32_t>(offers.size())};
          offers.push_back({to, change, v});
        } else if (change < offers[place.at].change) {
          offers[place.at] = {to, change, v};
        }
      }
      bounds_.clear();
    }
    return offers;
  }

  bool give_along_chain(NodeId start) {
    ++search_;
    using Entry = std::pair<std::int64_t, NodeId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> front;
    hops_[slot(start)] = {0, -1, search_};
    front.emplace(0, start);
    while (!front.empty()) {
      const auto [price, node] = front.top();
      front.pop();
      if (price > hops_[slot(node)].price) continue;
      if (map_.surplus(node) < 0) {
        follow(node);
        return true;
      }
      for (const Offer& offer : offers_of(node)) {
        const std::int64_t through = price + std::max<std::int64_t>(1, 2 * offer.change + unit_);
        Hop& hop = hops_[slot(offer.to)];
        if (hop.search == search_ && hop.price <= through) continue;
        hop = {through, node, search_};
        front.emplace(through, offer.to);
      }
    }
    return false;
  }

  // Moves from the chain's end, so that no node runs empty on the way.
  void follow(NodeId end) {
    for (NodeId to = end; hops_[slot(to)].from >= 0; to = hops_[slot(to)].from) {
      const NodeId from = hops_[slot(to)].from;
      const auto& offers = offers_of(from);  // the last move may have changed what is cheapest
      const auto offer = std::ranges::find(offers, to, &Offer::to);
      give(offer != offers.end() ? offer->vertex : members_[slot(from)].front(), to);
    }
  }

  // To the node that lacks most, wherever it is.
  void give_directly(NodeId from) {
    NodeId to = 0;
    for (NodeId node = 0; node < map_.tree().nodes(); ++node) {
      if (map_.surplus(node) < map_.surplus(to)) to = node;
    }
    Vertex best = members_[slot(from)].front();
    for (const Vertex v : members_[slot(from)]) {
      if (map_.change(v, to) < map_.change(best, to)) best = v;
    }
    give(best, to);
  }

  void give(Vertex vertex, NodeId to) {
    auto& left = members_[slot(map_.node(vertex))];
    left.erase(std::ranges::find(left, vertex));
    members_[slot(to)].push_back(vertex);
    known_[slot(map_.node(vertex))] = known_[slot(to)] = false;
    for (const auto& edge : map_.graph().edges_of(vertex)) known_[slot(map_.node(edge.to))] = false;
    map_.move(vertex, to, map_.change(vertex, to));
  }

  GraphMap& map_;
  std::int64_t unit_;
  std::vector<std::vector<Vertex>> members_;
  std::vector<Hop> hops_;
  std::vector<std::vector<Offer>> offers_;  // of each node
  std::vector<bool> known_;                 // whether they are up to date
  std::vector<Place> places_;
  Bounds bounds_;
  std::uint32_t search_ = 0;
  std::uint32_t turn_ = 0;
};

}  // namespace

void repair(GraphMap& map) {
  bool exact = true;
  for (NodeId node = 0; node < map.tree().nodes(); ++node) exact = exact && map.surplus(node) == 0;
  if (!exact) Repair(map).run();
}

}  // namespace rankwise
