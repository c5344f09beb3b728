#include "mapping/graph_search.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "mapping/effort.hpp"

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

  // The cheapest vertex that a node can give to each neighbouring one. Known until something moves next to it.
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

namespace graph_rounds {

namespace {

using Vertex = WeightedGraph::Vertex;
using Members = std::vector<std::vector<Vertex>>;

Index sweep_of(const WeightedGraph& graph) { return static_cast<Index>(graph.edges.size()) + graph.vertices(); }

// Some neighbouring nodes, the vertices on them and the edges among these.
struct Window {
  std::vector<NodeId> nodes;
  std::vector<Vertex> vertices;
  WeightedGraph graph;
  NodeTree tree;
};

Members members_of(const GraphMap& map) {
  Members members(map.tree().sizes.size());
  for (Vertex v = 0; v < map.graph().vertices(); ++v) members[slot(map.node(v))].push_back(v);
  return members;
}

// Divides the nodes into windows of at most so many that talk to each other, grown from nodes drawn at random, each within a
// unit of the innermost level where within_units. A node that is left alone is in none.
std::vector<std::vector<NodeId>> windows_of(const GraphMap& map, const Members& members, std::size_t most, bool within_units,
                                            Random& random) {
  const NodeTree& tree = map.tree();
  std::vector<NodeId> order(tree.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[((random.bits() >> 32) * (i + 1)) >> 32]);
  const auto apart = [&](NodeId a, NodeId b) {
    return within_units && !tree.flat() && tree.unit_of_node[0][slot(a)] != tree.unit_of_node[0][slot(b)];
  };
  std::vector<bool> used(order.size(), false);
  std::vector<std::vector<NodeId>> windows;
  for (const NodeId start : order) {
    if (used[slot(start)]) continue;
    used[slot(start)] = true;
    std::vector<NodeId> window{start};
    for (std::size_t at = 0; at < window.size() && window.size() < most; ++at) {
      for (const Vertex v : members[slot(window[at])]) {
        for (const auto& edge : map.graph().edges_of(v)) {
          const NodeId other = map.node(edge.to);
          if (used[slot(other)] || window.size() >= most || apart(other, start)) continue;
          used[slot(other)] = true;
          window.push_back(other);
        }
      }
    }
    if (window.size() == 1) continue;
    std::ranges::sort(window);  // nodes of a unit follow each other
    windows.push_back(std::move(window));
  }
  return windows;
}

// number: where each vertex stands in its window.
Window window_of(const GraphMap& map, const Members& members, std::vector<NodeId> nodes, std::vector<Vertex>& number) {
  const NodeTree& whole = map.tree();
  Window window{std::move(nodes), {}, {}, {{}, std::vector<std::vector<std::int32_t>>(whole.unit_of_node.size()), whole.costs}};
  for (const NodeId node : window.nodes) {
    window.tree.sizes.push_back(whole.sizes[slot(node)]);
    for (std::size_t level = 0; level < whole.unit_of_node.size(); ++level) {
      window.tree.unit_of_node[level].push_back(whole.unit_of_node[level][slot(node)]);
    }
    for (const Vertex v : members[slot(node)]) {
      number[slot(v)] = static_cast<Vertex>(window.vertices.size());
      window.vertices.push_back(v);
    }
  }
  for (const Vertex v : window.vertices) {
    for (const auto& edge : map.graph().edges_of(v)) {
      if (!std::ranges::binary_search(window.nodes, map.node(edge.to))) continue;
      window.graph.edges.push_back({number[slot(edge.to)], edge.weight});
    }
    window.graph.first.push_back(static_cast<std::uint32_t>(window.graph.edges.size()));
  }
  return window;
}

// Where the window's vertices are, by its own numbers of nodes.
std::vector<NodeId> inside(const GraphMap& map, const Window& window) {
  std::vector<NodeId> result;
  result.reserve(window.vertices.size());
  for (const Vertex v : window.vertices) {
    result.push_back(static_cast<NodeId>(std::ranges::lower_bound(window.nodes, map.node(v)) - window.nodes.begin()));
  }
  return result;
}

// A way to change a map. What stands in front is tried first.
struct Round {
  std::size_t window_nodes;  // at most; 0: the whole map
  bool continued;            // anneals what is there
  bool from_scratch;         // divides again and anneals
  Heat heat;
  Index sweeps;
};
constexpr Heat hot{1300, 110, 250, 750};
constexpr Heat warm{700, 100, 600, 1600};
constexpr Heat cool{250, 60, 300, 900};
constexpr Heat loose{400, 80, 100, 300};  // for power laws: wrong sizes are cheap
constexpr std::array<Round, 7> rounds{{
    {0, true, false, warm, 150},
    {0, true, false, loose, 150},
    {4, false, true, warm, 50},
    {8, true, true, cool, 50},
    {16, true, true, cool, 50},
    {12, false, true, warm, 50},
    {24, true, false, warm, 150},
}};
constexpr int most_idle_rounds = 50;
// A sweep of more than so many edges leaves the caches: only windows are searched then.
constexpr Index largest_sweep = 4'000'000;
constexpr Index sweeps_of_a_window = 150;
// A slow cooling of the whole map comes first, where there is time for so many sweeps.
constexpr Index least_slow_sweeps = 300;
// Where a clock ends the search, how fast this machine is shows first.
constexpr Index sweeps_of_a_probe = 4;

Index steps_of(const Round& round, Index sweep) {
  const Index times = round.from_scratch ? halvings(static_cast<Index>(round.window_nodes)) : 0;
  return sweep * (round.sweeps * (Index{round.continued} + Index{round.from_scratch}) + 20 * times + 2);
}

// The best map of a window by a round: where its vertices are to go, by its own numbers; empty: where they are.
std::vector<NodeId> searched(const GraphMap& map, const Window& window, const Round& round, const MappingOptions& options,
                             std::uint64_t seed) {
  Random random(seed);
  Effort effort(options);
  const GraphMap start(window.graph, window.tree, inside(map, window));
  std::optional<GraphMap> best;
  const auto attempt = [&](GraphMap trial) {
    if (!anneal(trial, round.heat, round.sweeps * sweep_of(window.graph), random, effort)) return;
    repair(trial);
    if (trial.cost() <= (best ? best->cost() : start.cost())) best = std::move(trial);
  };
  if (round.continued) attempt(start);
  if (round.from_scratch && !effort.over()) {
    attempt({window.graph, window.tree, multisect(window.graph, window.tree, {.seed = random.bits()})});
  }
  return best ? best->nodes() : std::vector<NodeId>();
}

// Puts a window's vertices where a search has found them better, unless the rest of the map makes it worse.
void put(GraphMap& map, const Window& window, const std::vector<NodeId>& found) {
  const std::int64_t before = map.cost();
  std::vector<std::pair<Vertex, NodeId>> moved;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Vertex v = window.vertices[i];
    const NodeId to = window.nodes[slot(found[i])];
    if (map.node(v) == to) continue;
    moved.emplace_back(v, map.node(v));
    map.move(v, to, map.change(v, to));
  }
  if (map.cost() <= before) return;
  for (const auto& [v, from] : moved) map.move(v, from, map.change(v, from));
}

class Improvement {
 public:
  Improvement(GraphMap& map, const MappingOptions& options, Effort& effort)
      : map_(map), options_(options), effort_(effort), random_(options.seed), number_(slot(map.graph().vertices())) {}

  // What a short annealing of the whole map would gain; less than 0 where it is worse.
  std::int64_t try_out(const Heat& heat, Index sweeps) {
    GraphMap trial = map_;
    if (anneal(trial, heat, sweeps * sweep_of(map_.graph()), random_, effort_)) repair(trial);
    return map_.cost() - trial.cost();
  }

  // The gain of a round.
  std::int64_t run(const Round& round) {
    const std::int64_t before = map_.cost();
    if (round.window_nodes == 0) {
      GraphMap trial = map_;
      if (!anneal(trial, round.heat, round.sweeps * sweep_of(map_.graph()), random_, effort_)) return 0;
      repair(trial);
      if (trial.cost() <= map_.cost()) map_ = std::move(trial);
    } else {
      search_windows(round);
    }
    return before - map_.cost();
  }

 private:
  void search_windows(const Round& round) {
    const Members members = members_of(map_);
    const bool within_units = !map_.tree().flat() && random_.bits() >> 63 == 0;
    const auto most = static_cast<std::size_t>(2 + round.window_nodes / 2 + (random_.bits() >> 32) % round.window_nodes);
    const auto chosen = windows_of(map_, members, most, within_units, random_);
    std::vector<Window> windows;
    windows.reserve(chosen.size());
    for (const auto& nodes : chosen) windows.push_back(window_of(map_, members, nodes, number_));
    const std::uint64_t seed = random_.bits();
    std::vector<std::vector<NodeId>> found(windows.size());
    for_all(windows.size(), static_cast<std::size_t>(std::max(1, options_.threads)),
            [&](std::size_t i, std::size_t) { found[i] = searched(map_, windows[i], round, options_, seed + i); });
    for (std::size_t i = 0; i < windows.size(); ++i) put(map_, windows[i], found[i]);
  }

  GraphMap& map_;
  const MappingOptions& options_;
  Effort& effort_;
  Random random_;
  std::vector<Vertex> number_;
};

}  // namespace

}  // namespace graph_rounds

void improve(GraphMap& map, const MappingOptions& options) {
  using namespace graph_rounds;
  Effort effort(options);
  Improvement improvement(map, options, effort);
  const Index sweep = sweep_of(map.graph());
  const auto spend = [&](Index sweeps) {
    effort.spend(sweeps * sweep);
    effort.recount();
  };
  if (sweep > largest_sweep) {
    if (options.left_s) {  // how fast is this machine?
      improvement.run({24, true, false, hot, sweeps_of_a_probe});
      spend(sweeps_of_a_probe);
    }
    while (effort.left() >= sweep && !effort.over()) {
      const Index sweeps = std::min(sweeps_of_a_window, effort.left() / sweep);
      improvement.run({24, true, false, hot, sweeps});
      spend(sweeps_of_a_window);
    }
    return;
  }
  if (options.left_s) {
    improvement.try_out(warm, sweeps_of_a_probe);
    spend(sweeps_of_a_probe);
  }
  if (effort.left() / 2 / sweep >= least_slow_sweeps) {
    constexpr Index sweeps_of_a_trial = 80;
    std::array<std::pair<std::int64_t, Heat>, 2> trials{{{0, hot}, {0, loose}}};
    for (auto& [gain, heat] : trials) {
      gain = improvement.try_out(heat, sweeps_of_a_trial);
      spend(sweeps_of_a_trial);
    }
    const Heat& heat = trials[0].first >= trials[1].first ? hot : loose;
    const Index half = effort.left() / sweep / 2 + sweeps_of_a_trial;
    improvement.run({0, true, false, heat, half});
    spend(half);
  }
  std::array<double, rounds.size()> gain_a_step{};
  int idle = 0;
  for (std::size_t turn = 0; idle < most_idle_rounds && !effort.over(); ++turn) {
    // Each once, then the best, and every third time the next one.
    std::size_t chosen = turn < rounds.size() ? turn : turn / 3 % rounds.size();
    if (turn >= rounds.size() && turn % 3 != 0) {
      const auto best = std::ranges::max_element(gain_a_step);
      if (*best > 0) chosen = static_cast<std::size_t>(best - gain_a_step.begin());
    }
    Round round = rounds[chosen];
    if (round.window_nodes > 0 && map.tree().nodes() < 3) round = rounds[0];
    Index needed = steps_of(round, sweep);
    if (needed > effort.left()) {
      if (options.left_s && turn > 0 && map.tree().nodes() >= 3) {
        round = rounds.back();  // as many windows as the clock allows
      } else if (turn > 0) {
        break;
      } else {
        round.sweeps = std::max<Index>(1, effort.left() / sweep - 2);
      }
      needed = std::min(effort.left() - 1, steps_of(round, sweep));
    }
    const std::int64_t gain = improvement.run(round);
    effort.spend(needed);
    effort.recount();
    gain_a_step[chosen] = (gain_a_step[chosen] + static_cast<double>(gain) / static_cast<double>(needed)) / 2;
    idle = gain > 0 ? 0 : idle + 1;
  }
}

}  // namespace rankwise
