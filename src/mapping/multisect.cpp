#include "mapping/graph_search.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "mapping/effort.hpp"

namespace rankwise {

namespace multisection {

namespace {

using Vertex = WeightedGraph::Vertex;
using Side = std::uint8_t;  // 0 or 1

constexpr Vertex coarsest = 60;

// How good a division is: what its sizes are off beyond what is allowed, then what it cuts.
using Value = std::pair<std::int64_t, std::int64_t>;

// A graph in two halves, the first of which is to hold target ranks.
class Halves {
 public:
  Halves(const WeightedGraph& graph, std::int64_t target, std::vector<Side> side)
      : graph_(graph), target_(target), side_(std::move(side)), gain_(side_.size()), state_(side_.size(), 0) {
    largest_ = graph.ranks.empty() ? 1 : *std::ranges::max_element(graph.ranks);
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      if (side_[slot(v)] == 0) excess_ += graph.ranks_of(v);
      bool outer = false;
      for (const auto& edge : graph.edges_of(v)) {
        if (side_[slot(edge.to)] == side_[slot(v)]) continue;
        cut_ += edge.weight;
        outer = true;
      }
      if (outer) border_.push_back(v);
    }
    cut_ /= 2;
    excess_ -= target;
  }

  [[nodiscard]] std::vector<Side>& side() { return side_; }
  [[nodiscard]] Value value(std::int64_t slack) const { return {std::max<std::int64_t>(0, std::abs(excess_) - slack), cut_}; }
  [[nodiscard]] std::int64_t largest() const { return largest_; }

  // From all in the second half: takes in what is bound most to the first, from a vertex drawn at random.
  void grow(Random& random) {
    begin_pass();
    Vertex left = graph_.vertices();
    while (excess_ < 0 && left > 0) {
      Vertex v = top(1);
      if (v == no_vertex) {
        auto drawn = static_cast<Vertex>(((random.bits() >> 32) * static_cast<std::uint64_t>(graph_.vertices())) >> 32);
        while (side_[slot(drawn)] == 0) drawn = drawn + 1 == graph_.vertices() ? 0 : drawn + 1;
        v = drawn;
        know(v);
      }
      if (2 * excess_ + graph_.ranks_of(v) > 0 && left < graph_.vertices()) break;  // nearer without it
      shift(v);
      --left;
    }
    border_.clear();
    for (Vertex v = 0; v < graph_.vertices(); ++v) {
      if (std::ranges::any_of(graph_.edges_of(v), [&](const auto& e) { return side_[slot(e.to)] != side_[slot(v)]; })) {
        border_.push_back(v);
      }
    }
  }

  // Passes of moves, each vertex once a pass, of which the best beginning is kept (Fiduccia, Mattheyses 1982).
  void refine(std::int64_t slack, int passes) {
    const std::int64_t reach = std::max(slack, largest_);
    const std::size_t patience = 8 + std::min<std::size_t>(side_.size() / 10, 300);
    std::vector<Vertex> moved;
    while (passes-- > 0) {
      begin_pass();
      if (border_.empty() && excess_ != 0) border_.assign({heaviest_of(excess_ > 0 ? Side{0} : Side{1})});
      for (const Vertex v : border_) know(v);
      moved.clear();
      const Value before = value(slack);
      Value best = before;
      std::size_t kept = 0;
      while (moved.size() - kept < patience) {
        const Vertex v = next(slack, reach);
        if (v == no_vertex) break;
        shift(v);
        moved.push_back(v);
        if (value(slack) < best) {
          best = value(slack);
          kept = moved.size();
        }
      }
      while (moved.size() > kept) {
        back(moved.back());
        moved.pop_back();
      }
      border_ = std::move(known_);
      if (best == before) break;
    }
  }

 private:
  static constexpr std::uint8_t unknown = 0, waiting = 1, done = 2;
  static constexpr Vertex small = 128;
  static constexpr std::int64_t absent = std::numeric_limits<std::int64_t>::min();
  using Entry = std::pair<std::int64_t, Vertex>;

  // Whether looking at all gains is quicker than keeping them in order.
  [[nodiscard]] bool is_small() const { return graph_.vertices() <= small; }

  void begin_pass() {
    for (const Vertex v : known_) state_[slot(v)] = unknown;
    for (const Vertex v : border_) state_[slot(v)] = unknown;
    known_.clear();
    for (auto& heap : heaps_) heap.clear();
    for (auto& keys : keys_) keys.assign(is_small() ? side_.size() : 0, absent);
  }

  void push(Vertex v) {
    if (is_small()) {
      keys_[side_[slot(v)]][slot(v)] = gain_[slot(v)] * small + v;
      return;
    }
    auto& heap = heaps_[side_[slot(v)]];
    heap.emplace_back(gain_[slot(v)], v);
    std::ranges::push_heap(heap);
  }

  void know(Vertex v) {
    if (state_[slot(v)] != unknown) return;
    std::int64_t gain = 0;
    for (const auto& edge : graph_.edges_of(v)) gain += side_[slot(edge.to)] == side_[slot(v)] ? -edge.weight : edge.weight;
    gain_[slot(v)] = gain;
    state_[slot(v)] = waiting;
    known_.push_back(v);
    push(v);
  }

  // The vertex of a half whose move gains most; none: none is known.
  Vertex top(Side half) {
    if (is_small()) {
      std::int64_t most = absent;
      for (const std::int64_t key : keys_[half]) most = std::max(most, key);
      return most == absent ? no_vertex : static_cast<Vertex>(most & (small - 1));
    }
    auto& heap = heaps_[half];
    while (!heap.empty()) {
      const auto [gain, v] = heap.front();
      if (state_[slot(v)] == waiting && gain == gain_[slot(v)] && side_[slot(v)] == half) return v;
      std::ranges::pop_heap(heap);
      heap.pop_back();
    }
    return no_vertex;
  }

  Vertex next(std::int64_t slack, std::int64_t reach) {
    std::array<Vertex, 2> tops{no_vertex, no_vertex};
    for (const Side half : {Side{0}, Side{1}}) {
      if (half == 0 ? excess_ < -slack : excess_ > slack) continue;  // the other one has too much
      const Vertex v = top(half);
      if (v == no_vertex) continue;
      const std::int64_t after = half == 0 ? excess_ - graph_.ranks_of(v) : excess_ + graph_.ranks_of(v);
      if (std::abs(after) <= std::max(reach, std::abs(excess_))) tops[half] = v;
    }
    if (tops[0] == no_vertex) return tops[1];
    if (tops[1] == no_vertex) return tops[0];
    const std::int64_t first = gain_[slot(tops[0])];
    const std::int64_t second = gain_[slot(tops[1])];
    return first > second || (first == second && excess_ > 0) ? tops[0] : tops[1];
  }

  void turn(Vertex v) {
    Side& own = side_[slot(v)];
    excess_ += own == 0 ? -graph_.ranks_of(v) : graph_.ranks_of(v);
    own ^= 1;
  }

  void shift(Vertex v) {
    cut_ -= gain_[slot(v)];
    state_[slot(v)] = done;
    if (is_small()) keys_[side_[slot(v)]][slot(v)] = absent;
    turn(v);
    for (const auto& edge : graph_.edges_of(v)) {
      const Vertex other = edge.to;
      if (state_[slot(other)] == waiting) {
        const std::int64_t both = 2 * std::int64_t{edge.weight};
        gain_[slot(other)] += side_[slot(other)] == side_[slot(v)] ? -both : both;
        push(other);
      } else if (state_[slot(other)] == unknown) {
        know(other);
      }
    }
  }

  void back(Vertex v) {
    for (const auto& edge : graph_.edges_of(v)) cut_ += side_[slot(edge.to)] == side_[slot(v)] ? edge.weight : -edge.weight;
    turn(v);
  }

  [[nodiscard]] Vertex heaviest_of(Side half) const {
    Vertex best = 0;
    for (Vertex v = 0; v < graph_.vertices(); ++v) {
      if (side_[slot(v)] == half && (side_[slot(best)] != half || graph_.ranks_of(v) > graph_.ranks_of(best))) best = v;
    }
    return best;
  }

  const WeightedGraph& graph_;
  std::int64_t target_;
  std::vector<Side> side_;
  std::vector<std::int64_t> gain_;
  std::vector<std::uint8_t> state_;
  std::vector<Vertex> border_;
  std::vector<Vertex> known_;
  std::array<std::vector<Entry>, 2> heaps_;
  std::array<std::vector<std::int64_t>, 2> keys_;  // of a small graph: gains and vertices in one
  std::int64_t largest_ = 1;
  std::int64_t excess_ = 0;  // of the first half
  std::int64_t cut_ = 0;
};

// A small graph in halves: the best of some grown from vertices drawn at random.
std::vector<Side> grown(const WeightedGraph& graph, std::int64_t target, int tries, Random& random) {
  std::vector<Side> best;
  Value least{std::numeric_limits<std::int64_t>::max(), 0};
  for (int i = 0; i < tries; ++i) {
    Halves halves(graph, target, std::vector<Side>(slot(graph.vertices()), Side{1}));
    halves.grow(random);
    halves.refine(halves.largest(), 4);
    const Value value = halves.value(halves.largest());
    if (value >= least) continue;
    least = value;
    best = std::move(halves.side());
  }
  return best;
}

// Which half each vertex goes to; the first holds target ranks, exactly where every vertex is one rank.
std::vector<Side> halved(const WeightedGraph& graph, std::int64_t target, std::int64_t total, int tries, Random& random) {
  std::vector<Coarser> levels;
  const WeightedGraph* finest = &graph;
  while (finest->vertices() > coarsest) {
    const std::int64_t most = std::max<std::int64_t>(2, std::min(target, total - target) / 8 + 1);
    Coarser next = coarsened(*finest, most, {}, random);
    if (next.graph.vertices() > finest->vertices() - finest->vertices() / 20) break;
    levels.push_back(std::move(next));
    finest = &levels.back().graph;
  }
  std::vector<Side> side = grown(*finest, target, tries, random);
  for (std::size_t level = levels.size() + 1; level-- > 0;) {
    const WeightedGraph& own = level == 0 ? graph : levels[level - 1].graph;
    if (level < levels.size()) {
      std::vector<Side> fine(slot(own.vertices()));
      for (std::size_t v = 0; v < fine.size(); ++v) fine[v] = side[slot(levels[level].of[v])];
      side = std::move(fine);
    }
    Halves halves(own, target, std::move(side));
    halves.refine(level == 0 ? 0 : halves.largest(), level == 0 ? 6 : 4);
    side = std::move(halves.side());
  }
  return side;
}

// Makes the halves exact where the moves could not.
void make_exact(const WeightedGraph& graph, std::int64_t target, std::int64_t total, std::vector<Side>& side) {
  const NodeTree two{{target, total - target}, {}, {1}};
  GraphMap map(graph, two, {side.begin(), side.end()});
  if (map.surplus(0) == 0) return;
  repair(map);
  for (std::size_t v = 0; v < side.size(); ++v) side[v] = static_cast<Side>(map.nodes()[v]);
}

struct Share {
  WeightedGraph graph;
  std::vector<Vertex> whole;  // each vertex in the graph of all
};

// What is in each group of vertices, without what leads out of it.
template <class Group>
std::vector<Share> shares_of(const WeightedGraph& graph, std::span<const Group> group, std::size_t groups) {
  std::vector<Share> shares(groups);
  const auto share = [&](Vertex v) -> Share& { return shares[static_cast<std::size_t>(group[slot(v)])]; };
  std::vector<Vertex> number(group.size());
  std::vector<std::size_t> edges(groups, 0);
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    number[slot(v)] = static_cast<Vertex>(share(v).whole.size());
    share(v).whole.push_back(v);
    edges[static_cast<std::size_t>(group[slot(v)])] += graph.edges_of(v).size();
  }
  for (std::size_t g = 0; g < groups; ++g) {
    Share& own = shares[g];
    own.graph.first.reserve(own.whole.size() + 1);
    own.graph.edges.reserve(edges[g]);
    for (const Vertex v : own.whole) {
      if (!graph.ranks.empty()) own.graph.ranks.push_back(graph.ranks_of(v));
      for (const auto& edge : graph.edges_of(v)) {
        if (group[slot(edge.to)] == group[slot(v)]) own.graph.edges.push_back({number[slot(edge.to)], edge.weight});
      }
      own.graph.first.push_back(static_cast<std::uint32_t>(own.graph.edges.size()));
    }
  }
  return shares;
}

class Multisection {
 public:
  // smallest: of so many nodes that follow each other no halves are made; their vertices get the first one.
  Multisection(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options, NodeId smallest = 1)
      : tree_(tree),
        seed_(options.seed),
        smallest_(smallest),
        tries_(options.hasty && tree.nodes() > 100 ? 2
               : tree.nodes() > 2000               ? 4
                                                   : 10),
        node_(slot(graph.vertices())) {}

  void run(Share share, NodeId from, NodeId to, int threads) {
    if (to - from <= smallest_) {
      for (const Vertex v : share.whole) node_[slot(v)] = from;
      return;
    }
    const NodeId middle = middle_of(from, to);
    const auto begin = tree_.sizes.begin();
    const Index first = std::accumulate(begin + from, begin + middle, Index{0});
    const Index total = std::accumulate(begin + middle, begin + to, first);
    Random random(mixed(seed_ ^ mixed((static_cast<std::uint64_t>(from) << 32) + static_cast<std::uint64_t>(to))));
    std::vector<Side> side = halved(share.graph, first, total, tries_, random);
    if (share.graph.ranks.empty()) make_exact(share.graph, first, total, side);
    std::vector<Share> halves = shares_of<Side>(share.graph, side, 2);
    for (Share& half : halves) {
      for (Vertex& v : half.whole) v = share.whole[slot(v)];
    }
    share = {};
    side = {};
    run_both(
        threads > 1, [&] { run(std::move(halves[0]), from, middle, std::max(1, threads / 2)); },
        [&] { run(std::move(halves[1]), middle, to, std::max(1, threads - threads / 2)); });
  }

  std::vector<NodeId> take() { return std::move(node_); }

 private:
  // The boundary nearest to the middle: of the outermost units that the nodes are in several of, else of nodes.
  [[nodiscard]] NodeId middle_of(NodeId from, NodeId to) const {
    for (std::size_t level = tree_.unit_of_node.size(); level-- > 0;) {
      const auto& unit = tree_.unit_of_node[level];
      if (unit[slot(from)] == unit[slot(to - 1)]) continue;
      NodeId best = from;
      for (NodeId node = from + 1; node < to; ++node) {
        if (unit[slot(node)] == unit[slot(node - 1)]) continue;
        if (best == from || std::abs(2 * node - from - to) < std::abs(2 * best - from - to)) best = node;
      }
      return best;
    }
    return from + (to - from) / 2;
  }

  const NodeTree& tree_;
  std::uint64_t seed_;
  NodeId smallest_;
  int tries_;
  std::vector<NodeId> node_;
};

Share all_of(const WeightedGraph& graph) {
  Share all{graph, std::vector<Vertex>(slot(graph.vertices()))};
  std::iota(all.whole.begin(), all.whole.end(), 0);
  return all;
}

// A graph beyond the caches: halving all of it again and again would coarsen it as often.
constexpr Vertex large = 200'000;
constexpr NodeId nodes_in_group = 64;
constexpr int smoothings = 2;

// The groups of nodes of each vertex of a large graph: halved coarse, made exact fine.
GraphMap grouped(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options, NodeTree& groups,
                 std::vector<NodeId>& first_nodes) {
  Random random(options.seed);
  const Index most = std::max<Index>(2, *std::ranges::min_element(tree.sizes) / 4);
  Coarser coarse = coarsened(graph, most, {}, random);
  while (coarse.graph.vertices() > graph.vertices() / 8) {
    Coarser next = coarsened(coarse.graph, most, {}, random);
    if (next.graph.vertices() > coarse.graph.vertices() - coarse.graph.vertices() / 20) break;
    for (Vertex& of : coarse.of) of = next.of[slot(of)];
    coarse.graph = std::move(next.graph);
  }
  Multisection halves(coarse.graph, tree, options, nodes_in_group);
  halves.run(all_of(coarse.graph), 0, tree.nodes(), std::max(1, options.threads));
  const std::vector<NodeId> found = halves.take();
  first_nodes = found;
  std::ranges::sort(first_nodes);
  const auto repeated = std::ranges::unique(first_nodes);
  first_nodes.erase(repeated.begin(), repeated.end());
  first_nodes.push_back(tree.nodes());
  std::vector<NodeId> group(tree.sizes.size());
  for (std::size_t g = 0; g + 1 < first_nodes.size(); ++g) {
    group[slot(first_nodes[g])] = static_cast<NodeId>(g);
    const auto begin = tree.sizes.begin();
    groups.sizes.push_back(std::accumulate(begin + first_nodes[g], begin + first_nodes[g + 1], Index{0}));
  }
  std::vector<NodeId> fine(coarse.of.size());
  for (std::size_t v = 0; v < fine.size(); ++v) fine[v] = group[slot(found[slot(coarse.of[v])])];
  GraphMap map(graph, groups, std::move(fine));
  // Single vertices go where they gain, while sizes stay near; in the last passes where they are lacked, at a small loss.
  for (int pass = 0; pass < smoothings + 2; ++pass) {
    const bool balances = pass >= smoothings;
    const std::int64_t dearest = balances ? (pass - smoothings + 1) * graph.mean_weight() : 0;
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      const NodeId from = map.node(v);
      NodeId last = from;
      for (const auto& edge : graph.edges_of(v)) {
        const NodeId to = map.node(edge.to);
        if (to == from || to == last) continue;
        last = to;
        const std::int64_t change = map.change(v, to);
        if (change > dearest || (change >= 0 && map.surplus(from) <= map.surplus(to) + 1)) continue;
        if (balances ? map.surplus(from) <= 0 || map.surplus(to) >= 0 : map.surplus(to) >= most || map.surplus(from) <= -most) {
          continue;
        }
        map.move(v, to, change);
        break;
      }
    }
  }
  repair(map);
  return map;
}

// first_nodes: of each group, and how many nodes there are.
std::vector<NodeId> within(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options,
                           std::span<const NodeId> group, std::span<const NodeId> first_nodes) {
  std::vector<Share> shares = shares_of<NodeId>(graph, group, first_nodes.size() - 1);
  Multisection whole(graph, tree, options);
  for_all(shares.size(), static_cast<std::size_t>(std::max(1, options.threads)),
          [&](std::size_t g, std::size_t) { whole.run(std::move(shares[g]), first_nodes[g], first_nodes[g + 1], 1); });
  return whole.take();
}

}  // namespace

}  // namespace multisection

Index multisect_steps(Index vertices, Index edges, Index nodes, Index done) {
  const Index of_a_vertex = nodes > 100 ? 40 : 100;
  return of_a_vertex * (vertices + edges / 20) * (halvings(nodes) - done) + 1000 * nodes;
}

std::vector<NodeId> multisect(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options) {
  using namespace multisection;
  if (graph.vertices() < large || tree.nodes() < 4 * nodes_in_group) {
    Multisection whole(graph, tree, options);
    whole.run(all_of(graph), 0, tree.nodes(), std::max(1, options.threads));
    return whole.take();
  }
  NodeTree groups;
  std::vector<NodeId> first_nodes;
  const GraphMap map = grouped(graph, tree, options, groups, first_nodes);
  return within(graph, tree, options, map.nodes(), first_nodes);
}

std::vector<NodeId> multisect_within(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options,
                                     std::span<const NodeId> group, std::span<const NodeId> first_nodes) {
  return multisection::within(graph, tree, options, group, first_nodes);
}

}  // namespace rankwise
