#include "mapping/graph_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
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

// The vertices of both halves whose moves are known, by gain, in buckets: of each gain below 64, and of larger ones that differ
// by less than a 32nd. Of one bucket the last that came goes first.
class Gains {
 public:
  explicit Gains(std::size_t vertices) : entries_(vertices) {
    for (auto& half : first_) half.fill(no_vertex);
  }

  void clear() {
    for (const Side half : {Side{0}, Side{1}}) {
      for (std::size_t word = 0; word < words; ++word) {
        for (auto& bits = filled_[half][word]; bits != 0; bits &= bits - 1) {
          first_[half][word * 64 + static_cast<std::size_t>(std::countr_zero(bits))] = no_vertex;
        }
      }
      highest_[half] = 0;
    }
  }
  void add(Side half, Vertex v, std::int64_t gain) {
    const std::size_t bucket = bucket_of(gain);
    Vertex& first = first_[half][bucket];
    entries_[slot(v)] = {first, no_vertex, static_cast<std::uint32_t>(bucket)};
    if (first != no_vertex) entries_[slot(first)].before = v;
    first = v;
    filled_[half][bucket / 64] |= std::uint64_t{1} << bucket % 64;
    highest_[half] = std::max(highest_[half], bucket / 64);
  }
  void remove(Side half, Vertex v) {
    const auto [after, before, bucket] = entries_[slot(v)];
    if (after != no_vertex) entries_[slot(after)].before = before;
    if (before != no_vertex) {
      entries_[slot(before)].after = after;
      return;
    }
    first_[half][bucket] = after;
    if (after == no_vertex) filled_[half][bucket / 64] &= ~(std::uint64_t{1} << bucket % 64);
  }
  // Of a half the vertex whose move gains most; none: none is known.
  Vertex top(Side half) {
    std::size_t& word = highest_[half];
    while (word > 0 && filled_[half][word] == 0) --word;
    if (filled_[half][word] == 0) return no_vertex;
    return first_[half][word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(filled_[half][word]))];
  }

 private:
  static constexpr std::size_t words = 28;
  static constexpr std::int64_t zero = words * 32;  // the bucket of no gain

  // Weights together are below 2^31, so that a gain is below 2^32.
  static std::size_t bucket_of(std::int64_t gain) {
    const auto size = static_cast<std::uint64_t>(std::abs(gain));
    const int shift = std::max(0, static_cast<int>(std::bit_width(size)) - 6);
    const auto away = static_cast<std::int64_t>((size >> shift) + static_cast<std::uint64_t>(32 * shift));
    return static_cast<std::size_t>(gain < 0 ? zero - away : zero + away);
  }

  struct Entry {
    Vertex after, before;
    std::uint32_t bucket;
  };
  std::vector<Entry> entries_;
  std::array<std::array<Vertex, words * 64>, 2> first_;
  std::array<std::array<std::uint64_t, words>, 2> filled_{};
  std::array<std::size_t, 2> highest_{};
};

// A graph in two halves, the first of which is to hold target ranks.
class Halves {
 public:
  Halves(const WeightedGraph& graph, std::int64_t target, std::vector<Side> side)
      : graph_(graph),
        side_(std::move(side)),
        gain_(side_.size()),
        state_(side_.size()),
        gains_(side_.size()),
        excess_(-target) {
    largest_ = graph.ranks.empty() ? 1 : *std::ranges::max_element(graph.ranks);
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      if (side_[slot(v)] == 0) excess_ += graph.ranks_of(v);
    }
    find_border();
  }

  [[nodiscard]] std::vector<Side>& side() { return side_; }
  [[nodiscard]] Value value(std::int64_t slack) const { return {std::max<std::int64_t>(0, std::abs(excess_) - slack), cut_}; }
  [[nodiscard]] std::int64_t largest() const { return largest_; }

  // From all in the second half: takes in what is bound most to the first, from a vertex drawn at random.
  void grow(Random& random) {
    begin_pass();
    Vertex left = graph_.vertices();
    while (excess_ < 0 && left > 0) {
      Vertex v = gains_.top(1);
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
    find_border();
  }

  // Passes of moves, each vertex once a pass, of which the best beginning is kept (Fiduccia, Mattheyses 1982).
  void refine(std::int64_t slack, int passes) {
    const std::int64_t reach = std::max(slack, largest_);
    const std::size_t patience = 8 + std::min<std::size_t>(side_.size() / 10, 300);
    std::vector<Vertex> moved;
    while (passes-- > 0) {
      begin_pass();
      if (border_.empty() && excess_ != 0) know(heaviest_of(excess_ > 0 ? Side{0} : Side{1}));
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
        turn(moved.back(), false);
        moved.pop_back();
      }
      if (best == before) break;
    }
  }

 private:
  enum class State : std::uint8_t { unknown, waiting, done };

  // Sets what a vertex would gain; returns what its edges to the other half weigh.
  std::int64_t weigh(Vertex v) {
    std::array<std::int64_t, 2> weights{};  // to its own half, to the other one
    for (const auto& edge : graph_.edges_of(v)) weights[side_[slot(edge.to)] ^ side_[slot(v)]] += edge.weight;
    gain_[slot(v)] = weights[1] - weights[0];
    return weights[1];
  }

  void find_border() {
    cut_ = 0;
    border_.clear();
    for (Vertex v = 0; v < graph_.vertices(); ++v) {
      const std::int64_t across = weigh(v);
      cut_ += across;
      state_[slot(v)] = across == 0 ? State::unknown : State::waiting;
      if (across != 0) border_.push_back(v);
    }
    cut_ /= 2;
  }

  void begin_pass() {
    gains_.clear();
    for (const Vertex v : border_) {
      state_[slot(v)] = State::waiting;
      gains_.add(side_[slot(v)], v, gain_[slot(v)]);
    }
  }

  void know(Vertex v) {
    weigh(v);
    state_[slot(v)] = State::waiting;
    border_.push_back(v);
    gains_.add(side_[slot(v)], v, gain_[slot(v)]);
  }

  Vertex next(std::int64_t slack, std::int64_t reach) {
    std::array<Vertex, 2> tops{no_vertex, no_vertex};
    for (const Side half : {Side{0}, Side{1}}) {
      if (half == 0 ? excess_ < -slack : excess_ > slack) continue;  // the other one has too much
      const Vertex v = gains_.top(half);
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

  void shift(Vertex v) {
    state_[slot(v)] = State::done;
    gains_.remove(side_[slot(v)], v);
    turn(v, true);
  }

  // To the other half. goes_on: whether more is moved in this pass.
  void turn(Vertex v, bool goes_on) {
    Side& own = side_[slot(v)];
    excess_ += own == 0 ? -graph_.ranks_of(v) : graph_.ranks_of(v);
    own ^= 1;
    cut_ -= gain_[slot(v)];
    gain_[slot(v)] = -gain_[slot(v)];
    for (const auto& edge : graph_.edges_of(v)) {
      const Vertex other = edge.to;
      if (state_[slot(other)] == State::unknown) {
        know(other);
        continue;
      }
      const std::int64_t both = 2 * std::int64_t{edge.weight};
      gain_[slot(other)] += side_[slot(other)] == own ? -both : both;
      if (!goes_on || state_[slot(other)] != State::waiting) continue;
      gains_.remove(side_[slot(other)], other);
      gains_.add(side_[slot(other)], other, gain_[slot(other)]);
    }
  }

  [[nodiscard]] Vertex heaviest_of(Side half) const {
    Vertex best = 0;
    for (Vertex v = 0; v < graph_.vertices(); ++v) {
      if (side_[slot(v)] == half && (side_[slot(best)] != half || graph_.ranks_of(v) > graph_.ranks_of(best))) best = v;
    }
    return best;
  }

  const WeightedGraph& graph_;
  std::vector<Side> side_;
  std::vector<std::int64_t> gain_;
  std::vector<State> state_;
  std::vector<Vertex> border_;  // and what lay next to what was moved: those whose gain is known
  Gains gains_;
  std::int64_t largest_ = 1;
  std::int64_t excess_;  // of the first half
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

// How many halves are grown of a small graph.
int tries_for(NodeId nodes, bool hasty) { return hasty && nodes > 100 ? 2 : nodes > 2000 ? 4 : 10; }

class Multisection {
 public:
  // smallest: of so many nodes that follow each other no halves are made; their vertices get the first one.
  Multisection(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options, NodeId smallest = 1)
      : tree_(tree),
        seed_(options.seed),
        smallest_(smallest),
        tries_(tries_for(tree.nodes(), options.hasty)),
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

Index multisect_steps(Index vertices, Index edges, Index nodes, bool hasty, Index done) {
  const Index tries = multisection::tries_for(static_cast<NodeId>(nodes), hasty);
  return (15 * vertices + 5 * edges) * (halvings(nodes) - done) + 650 * tries * nodes;
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
