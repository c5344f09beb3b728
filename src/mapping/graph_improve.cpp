#include "mapping/graph_improve.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "mapping/multisect.hpp"
#include "mapping/parallel.hpp"

namespace rankwise {

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
  bool anew;                 // divides anew and anneals
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
  const Index times = round.anew ? halvings(static_cast<Index>(round.window_nodes)) : 0;
  return sweep * (round.sweeps * (Index{round.continued} + Index{round.anew}) + 20 * times + 2);
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
  if (round.anew && !effort.over()) {
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
