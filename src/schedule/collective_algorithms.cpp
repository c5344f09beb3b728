// The algorithms of collectives. Members of a team count from the root on; what is said of rank v is of member v.
#include <algorithm>
#include <bit>

#include "schedule/collective_exchanges.hpp"

namespace rankwise {

namespace {

using Spec = CollectiveSpec;

// Everything to everybody, in one round or along a tree: member v takes piece k from parent[v] in round at[v] + k.
struct Tree {
  std::vector<Index> parent;
  std::vector<Index> at;
};

void send_down(Rounds& rounds, const Team& team, const Tree& tree) {
  for (std::size_t k = 0; k < team.pieces.size(); ++k) {
    for (Index v = 1; v < team.size(); ++v) {
      const auto i = static_cast<std::size_t>(v);
      rounds.send(team, tree.parent[i], v, team.pieces[k], false, tree.at[i] + static_cast<Index>(k));
    }
  }
  rounds.seek(rounds.last() + 1);
}

template <typename Parent>
Tree tree_of(Index size, Parent parent_and_round) {
  Tree tree{{0}, {-1}};
  for (Index v = 1; v < size; ++v) {
    const auto [parent, at] = parent_and_round(v, tree);
    tree.parent.push_back(parent);
    tree.at.push_back(at);
  }
  return tree;
}

template <typename Parent>
void along(Rounds& rounds, const Team& team, Parent parent_and_round) {
  send_down(rounds, team, tree_of(team.size(), parent_and_round));
}

Index after(const Tree& tree, Index parent) { return tree.at[static_cast<std::size_t>(parent)] + 1; }

void bcast_linear(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  along(rounds, team, [](Index, const Tree&) { return std::pair(Index{0}, Index{0}); });
}

void bcast_chain(Rounds& rounds, const Team& team, const Spec& spec) {
  const Index chains = std::clamp<Index>(spec.radix, 1, std::max<Index>(1, team.size() - 1));
  const Index length = (team.size() - 1 + chains - 1) / chains;
  along(rounds, team, [&](Index v, const Tree& tree) {
    const Index parent = (v - 1) % length == 0 ? 0 : v - 1;
    return std::pair(parent, after(tree, parent));
  });
}

void bcast_pipeline(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  along(rounds, team, [](Index v, const Tree&) { return std::pair(v - 1, v - 1); });
}

// As Open MPI numbers it: the children of a level's i-th are the next level's i-th, (width + i)-th, ...
Tree level_by_level(Index size, Index children) {
  return tree_of(size, [&](Index v, const Tree& tree) {
    Index start = 1;
    Index above = 0;
    Index width = 1;
    while (v >= start + width * children) {
      above = start;
      width *= children;
      start += width;
    }
    const Index parent = above + (v - start) % width;
    return std::pair(parent, after(tree, parent));
  });
}

void bcast_tree(Rounds& rounds, const Team& team, const Spec& spec) {
  send_down(rounds, team, level_by_level(team.size(), std::max<Index>(2, spec.radix)));
}

// Down the left half of a binary tree one half of the vector, down the right half the other; then each gives its half to its
// mirror image, and the root to the last rank, where that has none.
void bcast_split(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  const Index size = team.size();
  if (size == 1) return;
  const Tree tree = level_by_level(size, 2);
  const Index pieces = team.part[0][0].count;
  for (Index k = 0; k < pieces; ++k) {
    for (Index v = 1; v < size; ++v) {
      const auto i = static_cast<std::size_t>(v);
      const Index half = team.part[(v - 1) % 2][0].first;
      rounds.send(team, tree.parent[i], v, {{half + k, 1}}, false, tree.at[i] + k);
    }
  }
  rounds.seek(rounds.last() + 1);
  for (Index v = 1; v + 1 < size; v += 2) {
    rounds.send(team, v, v + 1, team.part[0]);
    rounds.send(team, v + 1, v, team.part[1]);
  }
  if (size % 2 == 0) rounds.send(team, 0, size - 1, team.part[1]);
  rounds.next();
}

// The farthest children first; of radix q up to q - 1 in a round.
void bcast_knomial(Rounds& rounds, const Team& team, const Spec& spec) {
  const Index radix = std::max<Index>(2, spec.radix);
  Index levels = 0;
  for (Index reach = 1; reach < team.size(); reach *= radix) ++levels;
  along(rounds, team, [&](Index v, const Tree&) {
    Index step = 1;
    Index level = levels - 1;
    for (; v / step % radix == 0; step *= radix) --level;
    return std::pair(v - v / step % radix * step, level);
  });
}

// An algorithm whose radix is 2, whatever the spec says.
using Make = void (*)(Rounds& rounds, const Team& team, const Spec& spec);
template <Make make>
void binary(Rounds& rounds, const Team& team, const Spec& spec) {
  Spec of_two = spec;
  of_two.radix = 2;
  make(rounds, team, of_two);
}

constexpr Make bcast_binomial = binary<bcast_knomial>;

// The nearest children first, as Open MPI's binomial tree has it.
void bcast_near(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  along(rounds, team, [](Index v, const Tree&) {
    const auto bits = static_cast<std::uint64_t>(v);
    return std::pair(v - static_cast<Index>(std::bit_floor(bits)), static_cast<Index>(std::bit_width(bits)) - 1);
  });
}

// Member v gets the parts of all for whom it stands: those up to the next as far apart as itself.
void scatter_binomial(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  if (team.size() == 1) return;
  for (Index mask = power_below(team.size() - 1); mask > 0; mask /= 2, rounds.next()) {
    for (Index v = 0; v + mask < team.size(); v += 2 * mask) {
      rounds.send(team, v, v + mask, team.parts(v + mask, std::min(mask, team.size() - v - mask)));
    }
  }
}

// The same tree, but the nearest children first, as Open MPI's in-order binomial tree has it.
void scatter_in_order(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index v = 1; v < team.size(); ++v) {
    Index at = -1;
    for (Index k = 0; v >> k > 0; ++k) at += (v >> k & 1) * (k + 1);
    const Index reach = v & -v;
    rounds.send(team, v - reach, v, team.parts(v, std::min(reach, team.size() - v)), false, at);
  }
  rounds.seek(rounds.last() + 1);
}

// One rank after the other, or all at once.
template <bool at_once>
void scatter_linear(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index v = 1; v < team.size(); ++v) {
    rounds.send(team, 0, v, team.parts(v, 1));
    if (!at_once || v + 1 == team.size()) rounds.next();
  }
}

void bcast_in_turn(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index v = 1; v < team.size(); ++v, rounds.next()) rounds.send(team, 0, v, team.all());
}

// In round s member v passes on part v - s; when sums are built up, part v - s - 1, so that member v ends with the sum of part v.
void ring(Rounds& rounds, const Team& team, bool adds) {
  for (Index s = 0; s < team.size() - 1; ++s, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) {
      const Index part = v - s - (adds ? 1 : 0) + team.size();
      rounds.send(team, v, (v + 1) % team.size(), team.parts(part, 1), adds);
    }
  }
}

void allgather_ring(Rounds& rounds, const Team& team, const Spec& /*spec*/) { ring(rounds, team, false); }
void reduce_scatter_ring(Rounds& rounds, const Team& team, const Spec& /*spec*/) { ring(rounds, team, true); }

// What one algorithm does, in reverse: a bcast becomes a reduce, a scatter a gather, a reduce-scatter by halving an allgather.
template <Make make, bool adds>
void backwards(Rounds& rounds, const Team& team, const Spec& spec) {
  const std::size_t mark = rounds.mark();
  const Index first = rounds.now();
  make(rounds, team, spec);
  rounds.reverse(mark, first, adds);
}

template <Make first, Make second>
void both(Rounds& rounds, const Team& team, const Spec& spec) {
  first(rounds, team, spec);
  second(rounds, team, spec);
}

constexpr Make gather_binomial = backwards<scatter_binomial, false>;

// Recursive halving among a power of two: each member keeps the sum of half of the parts that it held, and sends the other half.
// Nearest partners first, or farthest: then member v ends with part v. Returns the part of each.
std::vector<Index> halve(Rounds& rounds, const Team& team, bool nearest_first) {
  std::vector<Index> low(team.ranks.size(), 0);
  for (Index size = team.size() / 2, near = 1; size > 0; size /= 2, near *= 2, rounds.next()) {
    const Index mask = nearest_first ? near : size;
    for (Index v = 0; v < team.size(); ++v) {
      Index& held = low[static_cast<std::size_t>(v)];
      const bool upper = (v & mask) != 0;
      rounds.send(team, v, v ^ mask, team.parts(upper ? held : held + size, size), true);
      if (upper) held += size;
    }
  }
  return low;
}

void halve_near(Rounds& rounds, const Team& team, const Spec& /*spec*/) { halve(rounds, team, true); }
void halve_far(Rounds& rounds, const Team& team, const Spec& /*spec*/) { halve(rounds, team, false); }
constexpr Make regrow_near = backwards<halve_near, false>;

// The largest power of two of members. Of the first 2 e every second hands what it has to its neighbour and stands by; the
// parts of both become the neighbour's. kept: 1 where the odd ones stay, as in allreduce, 0 the even ones, among them the root.
Team folded(Rounds& rounds, const Team& team, Index kept) {
  const Index extra = team.size() - power_below(team.size());
  Team less{{}, {}, team.pieces};
  for (Index v = 0; v < team.size(); ++v) {
    const auto i = static_cast<std::size_t>(v);
    const bool pair = v < 2 * extra;
    if (pair && v % 2 != kept) {
      rounds.send(team, v, v ^ 1, team.all(), true);
      continue;
    }
    less.ranks.push_back(team.ranks[i]);
    less.part.push_back(pair ? team.parts(v - kept, 2) : team.part.empty() ? Blocks{} : team.parts(v, 1));
  }
  if (extra > 0) rounds.next();
  return less;
}

// The way back: those that stood by get what they are to have.
void unfold(Rounds& rounds, const Team& team, bool parts_only) {
  const Index extra = team.size() - power_below(team.size());
  for (Index v = 0; v < 2 * extra; v += 2) rounds.send(team, v + 1, v, parts_only ? team.parts(v, 1) : team.all());
  if (extra > 0) rounds.next();
}

// Likewise, as Open MPI has it: of the first 2 e each even member and its neighbour add one half of the vector each, and the even
// ones go on with the whole.
Team folded_by_halves(Rounds& rounds, const Team& team) {
  const Index extra = team.size() - power_below(team.size());
  const Index half = power_below(team.size()) / 2;
  Team less{{}, {}, team.pieces};
  for (Index v = 0; v < team.size(); ++v) {
    if (v < 2 * extra) rounds.send(team, v, v ^ 1, v % 2 == 0 ? team.parts(half, half) : team.parts(0, half), true);
    if (v >= 2 * extra || v % 2 == 0) less.ranks.push_back(team.ranks[static_cast<std::size_t>(v)]);
  }
  if (extra > 0) rounds.next();
  for (Index v = 1; v < 2 * extra; v += 2) rounds.send(team, v, v - 1, team.parts(half, half));
  if (extra > 0) rounds.next();
  return less;
}

// A team that sends the vector whole, or in the parts of a power of two.
Team with_parts(Team less, const Team& team) {
  less.part.assign(team.part.begin(),
                   team.part.begin() + static_cast<std::ptrdiff_t>(std::min(less.ranks.size(), team.part.size())));
  return less;
}

void allreduce_doubling(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  const Team less = folded(rounds, team, 1);
  for (Index mask = 1; mask < less.size(); mask *= 2, rounds.next()) {
    for (Index v = 0; v < less.size(); ++v) rounds.send(less, v, v ^ mask, team.all(), true);
  }
  unfold(rounds, team, false);
}

void allreduce_rabenseifner(Rounds& rounds, const Team& team, const Spec& spec) {
  const Team less = with_parts(folded(rounds, team, 1), team);
  halve_near(rounds, less, spec);
  regrow_near(rounds, less, spec);
  unfold(rounds, team, false);
}

void allreduce_rabenseifner_halves(Rounds& rounds, const Team& team, const Spec& spec) {
  const Team less = with_parts(folded_by_halves(rounds, team), team);
  halve_near(rounds, less, spec);
  regrow_near(rounds, less, spec);
  const Index extra = team.size() - less.size();
  for (Index v = 0; v < 2 * extra; v += 2) rounds.send(team, v, v + 1, team.all());
  if (extra > 0) rounds.next();
}

// Halved among a power of two of members, then gathered at the first.
void halve_and_gather(Rounds& rounds, const Team& less) {
  std::vector<Index> low = halve(rounds, less, true);
  for (Index mask = less.size() / 2, size = 1; mask > 0; mask /= 2, size *= 2, rounds.next()) {
    for (Index v = mask; v < 2 * mask; ++v) {
      Index& held = low[static_cast<std::size_t>(v - mask)];
      const Index sent = low[static_cast<std::size_t>(v)];
      rounds.send(less, v, v - mask, less.parts(sent, size));
      held = std::min(held, sent);
    }
  }
}

void reduce_rabenseifner(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  halve_and_gather(rounds, with_parts(folded(rounds, team, 0), team));
}

void reduce_rabenseifner_halves(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  halve_and_gather(rounds, with_parts(folded_by_halves(rounds, team), team));
}

void reduce_scatter_halving(Rounds& rounds, const Team& team, const Spec& spec) {
  const Team less = folded(rounds, team, 1);
  halve_far(rounds, less, spec);
  unfold(rounds, team, true);
}

// Halved with the nearest partners first, so that the parts lie mirrored; each then goes to whose it is.
void reduce_scatter_butterfly(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  const Team less = folded(rounds, team, 1);
  const Index extra = team.size() - less.size();
  const std::vector<Index> low = halve(rounds, less, true);
  for (Index v = 0; v < less.size(); ++v) {
    const Index holder = v < extra ? 2 * v + 1 : v + extra;
    const Index held = low[static_cast<std::size_t>(v)];
    const Index first = held < extra ? 2 * held : held + extra;
    for (Index owner = first; owner < first + (held < extra ? 2 : 1); ++owner) {
      if (owner != holder) rounds.send(team, holder, owner, team.parts(owner, 1));
    }
  }
  rounds.next();
}

// A ring for each piece of the parts, then all parts once around.
void allreduce_segmented_ring(Rounds& rounds, const Team& team, const Spec& spec) {
  const Index pieces = team.part.empty() ? 1 : team.part[0][0].count;
  for (Index k = 0; k < pieces; ++k) {
    Team piece = team;
    for (Blocks& part : piece.part) part = {{part[0].first + k, 1}};
    reduce_scatter_ring(rounds, piece, spec);
  }
  allgather_ring(rounds, team, spec);
}

// q - 1 partners a round among a power of q; the others hand over before and get the result after.
void allreduce_multiplying(Rounds& rounds, const Team& team, const Spec& spec) {
  const Index radix = std::max<Index>(2, spec.radix);
  Index power = 1;
  while (power * radix <= team.size()) power *= radix;
  for (Index v = power; v < team.size(); ++v) rounds.send(team, v, v % power, team.all(), true);
  if (power < team.size()) rounds.next();
  for (Index step = 1; step < power; step *= radix, rounds.next()) {
    for (Index v = 0; v < power; ++v) {
      for (Index j = 1; j < radix; ++j) {
        const Index digit = v / step % radix;
        rounds.send(team, v, v + ((digit + j) % radix - digit) * step, team.all(), true);
      }
    }
  }
  for (Index v = power; v < team.size(); ++v) rounds.send(team, v % power, v, team.all());
  if (power < team.size()) rounds.next();
}

// Ranks beyond the largest power of two stand by, each with one before it, as Open MPI has it.
constexpr Make barrier_doubling = binary<allreduce_multiplying>;

// One collective after the other, each by an algorithm of its own; among leaders, whose algorithm this is, by binomial trees.
void in_stages(Rounds& rounds, const Team& team, const Spec& spec, const char* first, const char* second) {
  const auto stage = [&](const std::string& named) {
    return spec.algorithm == "node-aware" || named.empty() ? std::string("binomial") : named;
  };
  Spec of_first = spec;  // the radix is the second's
  of_first.radix = 2;
  collective_algorithm(first, stage(spec.within)).make(rounds, team, of_first);
  collective_algorithm(second, stage(spec.between)).make(rounds, team, spec);
}

void allreduce_reduce_bcast(Rounds& rounds, const Team& team, const Spec& spec) {
  in_stages(rounds, team, spec, "reduce", "bcast");
}
void allgather_gather_bcast(Rounds& rounds, const Team& team, const Spec& spec) {
  in_stages(rounds, team, spec, "gather", "bcast");
}
void reduce_scatter_stages(Rounds& rounds, const Team& team, const Spec& spec) {
  in_stages(rounds, team, spec, "reduce", "scatter");
}

// Up a binary tree whose subtrees are ranks in a row, so that sums keep their order; it ends with the last member, which sends
// to the root.
void reduce_in_order(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  struct Part {
    Index first;
    Index size;
    Index parent;
    Index depth;
  };
  struct Sent {
    Index from;
    Index to;
    Index depth;
  };
  std::vector<Part> parts{{0, team.size(), -1, 0}};
  std::vector<Sent> sent;
  Index deepest = 0;
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    if (part.size == 0) continue;
    const Index top = part.first + part.size - 1;
    if (part.parent >= 0) sent.push_back({top, part.parent, part.depth});
    deepest = std::max(deepest, part.depth);
    const Index right = part.size / 2;
    parts.push_back({part.first, right, top, part.depth + 1});
    parts.push_back({part.first + right, part.size - right - 1, top, part.depth + 1});
  }
  const Index first = rounds.now();
  for (const auto& [from, to, depth] : sent) {
    rounds.seek(first + deepest - depth);
    rounds.send(team, from, to, team.all(), true);
  }
  rounds.seek(first + deepest);
  if (team.size() > 1) rounds.send(team, team.size() - 1, 0, team.all());
  rounds.next();
}

// In the nodes, among one leader of each, and in the nodes again; the pieces of a vector follow each other from stage to stage.
void node_aware(Rounds& rounds, const Team& team, const Spec& spec) {
  const std::string kind = spec.kind;
  const bool scatters = kind == "scatter";
  const bool by_rank = kind == "allgather" || kind == "gather" || scatters;
  const std::string into = kind == "bcast" || scatters ? "" : by_rank ? "gather" : "reduce";
  const std::string out = kind == "reduce" || kind == "gather" ? "" : scatters ? kind : "bcast";
  Team leaders;
  std::vector<Team> nodes;
  std::vector<Index> place(team.ranks.size(), -1);  // of a node: its place among the leaders
  for (Index v = 0; v < team.size(); ++v) {
    const Index rank = team.ranks[static_cast<std::size_t>(v)];
    Index& at = place[static_cast<std::size_t>(spec.nodes.node_of(rank))];
    if (at < 0) {
      at = static_cast<Index>(nodes.size());
      nodes.emplace_back();
      leaders.ranks.push_back(rank);
    }
    Team& node = nodes[static_cast<std::size_t>(at)];
    node.ranks.push_back(rank);
    if (by_rank) node.part.push_back(team.part[static_cast<std::size_t>(v)]);
  }
  for (const Team& node : nodes) leaders.part.push_back(node.part.empty() ? Blocks{} : node.parts(0, node.size()));
  if (!by_rank) leaders.part = team.part;  // as many pieces as leaders
  const auto in_nodes = [&](const std::string& stage, const Blocks& piece) {
    const Index first = rounds.now();
    Index end = first;
    for (Team& node : nodes) {
      rounds.seek(first);
      node.pieces = {piece};
      if (node.size() > 1) collective_algorithm(stage, spec.within).make(rounds, node, spec);
      end = std::max(end, rounds.now());
    }
    rounds.seek(end);
  };
  Index next = rounds.now();
  for (const Blocks& piece : team.pieces) {
    rounds.seek(next);
    leaders.pieces = {piece};
    if (!into.empty()) {
      in_nodes(into, piece);
      next = rounds.now();
    }
    if (leaders.size() > 1) collective_algorithm(kind, spec.between).make(rounds, leaders, spec);
    if (into.empty()) next = rounds.now();
    if (!out.empty()) in_nodes(out, piece);
  }
}

constexpr const char* thakur = "Thakur, Rabenseifner and Gropp 2005";
constexpr const char* ompi = "Open MPI, coll/base";
constexpr const char* mpich = "MPICH, src/mpi/coll";

constexpr CollectiveAlgorithm collectives[] = {
    {"bcast", "linear", "the root sends to each rank", ompi, bcast_linear},
    {"bcast", "chain", "along chains of ranks", ompi, bcast_chain, Divides::nothing, Needs::nothing, true, true},
    {"bcast", "pipeline", "along one chain, piece by piece", ompi, bcast_pipeline, Divides::nothing, Needs::nothing, true},
    {"bcast", "tree", "down a tree of so many children", ompi, bcast_tree, Divides::nothing, Needs::nothing, true, true},
    {"bcast", "binomial", "down a binomial tree", mpich, bcast_binomial},
    {"bcast", "binomial-nearest-first", "down a binomial tree, the nearest first", ompi, bcast_near},
    {"bcast", "k-nomial", "down a tree whose radix is k", ompi, bcast_knomial, Divides::nothing, Needs::nothing, false, true},
    {"bcast", "scatter-doubling-allgather", "scattered, then gathered by recursive doubling", thakur,
     both<scatter_binomial, allgather_doubling>, Divides::ranks},
    {"bcast", "scatter-ring-allgather", "scattered, then gathered around a ring", thakur,
     both<scatter_binomial, allgather_ring>, Divides::ranks},
    {"bcast", "split-binary", "a half down each side of a binary tree, then exchanged", ompi, bcast_split, Divides::halves,
     Needs::nothing, true},
    {"bcast", "node-aware", "among one rank of each node, then in the nodes", mpich, node_aware, Divides::nothing, Needs::nodes,
     true},
    {"reduce", "linear", "each rank sends to the root, one after the other", ompi, backwards<bcast_in_turn, true>},
    {"reduce", "chain", "along chains of ranks", ompi, backwards<bcast_chain, true>, Divides::nothing, Needs::nothing, true,
     true},
    {"reduce", "pipeline", "along one chain, piece by piece", ompi, backwards<bcast_pipeline, true>, Divides::nothing,
     Needs::nothing, true},
    {"reduce", "tree", "up a tree of so many children", ompi, backwards<bcast_tree, true>, Divides::nothing, Needs::nothing,
     true, true},
    {"reduce", "binomial", "up a binomial tree", mpich, backwards<bcast_binomial, true>},
    {"reduce", "k-nomial", "up a tree whose radix is k", ompi, backwards<bcast_knomial, true>, Divides::nothing, Needs::nothing,
     false, true},
    {"reduce", "rabenseifner", "recursive halving, then gathered", thakur, reduce_rabenseifner, Divides::power},
    {"reduce", "rabenseifner-halves", "recursive halving, then gathered; odd ranks add a half", ompi,
     reduce_rabenseifner_halves, Divides::power},
    {"reduce", "in-order-tree", "up a binary tree whose sums keep the order of ranks", ompi, reduce_in_order},
    {"reduce", "node-aware", "in the nodes, then among one rank of each", mpich, node_aware, Divides::nothing, Needs::nodes,
     true},
    {"allreduce", "linear", "reduce, then bcast, both by the root alone", ompi,
     both<backwards<bcast_linear, true>, bcast_linear>},
    {"allreduce", "reduce-bcast", "reduce, then bcast, each by an algorithm of its own", ompi, allreduce_reduce_bcast},
    {"allreduce", "recursive-doubling", "the whole vector with partners twice as far each time", thakur, allreduce_doubling},
    {"allreduce", "recursive-multiplying", "the whole vector with k - 1 partners a round", mpich, allreduce_multiplying,
     Divides::nothing, Needs::nothing, false, true},
    {"allreduce", "ring", "reduce-scatter and allgather around a ring", ompi, both<reduce_scatter_ring, allgather_ring>,
     Divides::ranks},
    {"allreduce", "segmented-ring", "the ring, piece by piece", ompi, allreduce_segmented_ring, Divides::ranks, Needs::nothing,
     true},
    {"allreduce", "rabenseifner", "recursive halving, then doubling", thakur, allreduce_rabenseifner, Divides::power},
    {"allreduce", "rabenseifner-halves", "recursive halving, then doubling; odd ranks add a half", ompi,
     allreduce_rabenseifner_halves, Divides::power},
    {"allreduce", "node-aware", "in the nodes, among one rank of each, and in the nodes again", mpich, node_aware,
     Divides::nothing, Needs::nodes, true},
    {"allgather", "linear", "each block to each rank at once", ompi, allgather_linear, Divides::ranks},
    {"allgather", "gather-bcast", "gathered, then bcast, each by an algorithm of its own", mpich, allgather_gather_bcast,
     Divides::ranks},
    {"allgather", "bruck", "twice as many blocks each time, for any number of ranks", "Bruck et al. 1997", allgather_bruck,
     Divides::ranks},
    {"allgather", "recursive-doubling", "twice as many blocks each time, with partners both ways", thakur, allgather_doubling,
     Divides::ranks, Needs::power_of_two},
    {"allgather", "ring", "around a ring", thakur, allgather_ring, Divides::ranks},
    {"allgather", "neighbor-exchange", "two blocks at a time, with both neighbours in turn", "Chen et al. 2005",
     allgather_neighbor, Divides::ranks, Needs::even_ranks},
    {"allgather", "node-aware", "gathered in the nodes, among one rank of each, bcast in the nodes", mpich, node_aware,
     Divides::ranks, Needs::nodes},
    {"alltoall", "linear", "all at once", ompi, alltoall_linear},
    {"alltoall", "pairwise", "one partner to send to and one to receive from each time", thakur, alltoall_pairwise<false>},
    {"alltoall", "pairwise-exchange", "one partner at a time", mpich, alltoall_pairwise<true>, Divides::nothing,
     Needs::power_of_two},
    {"alltoall", "in-place", "two ranks at a time, for one buffer", mpich, alltoall_in_place},
    {"alltoall", "bruck", "half of the blocks each time, passed on", "Bruck et al. 1997", alltoall_bruck},
    {"reduce_scatter", "reduce-scatter", "reduce, then scatter, each by an algorithm of its own", ompi, reduce_scatter_stages,
     Divides::ranks},
    {"reduce_scatter", "recursive-halving", "half of the vector each time", thakur, reduce_scatter_halving, Divides::ranks},
    {"reduce_scatter", "butterfly", "half of the vector each time, the nearest first, then to whom they belong", ompi,
     reduce_scatter_butterfly, Divides::ranks},
    {"reduce_scatter", "ring", "around a ring", ompi, reduce_scatter_ring, Divides::ranks},
    {"reduce_scatter", "pairwise", "one partner to send to and one to receive from each time", thakur, reduce_scatter_pairwise,
     Divides::ranks},
    {"gather", "linear", "each rank sends to the root, one after the other", ompi, backwards<scatter_linear<false>, false>,
     Divides::ranks},
    {"gather", "linear-nonblocking", "each rank sends to the root, all at once", ompi, backwards<scatter_linear<true>, false>,
     Divides::ranks},
    {"gather", "binomial", "up a binomial tree", mpich, gather_binomial, Divides::ranks},
    {"gather", "node-aware", "in the nodes, then among one rank of each", ompi, node_aware, Divides::ranks, Needs::nodes},
    {"scatter", "linear", "the root sends to each rank, one after the other", ompi, scatter_linear<false>, Divides::ranks},
    {"scatter", "linear-nonblocking", "the root sends to each rank, all at once", ompi, scatter_linear<true>, Divides::ranks},
    {"scatter", "binomial", "down a binomial tree", mpich, scatter_binomial, Divides::ranks},
    {"scatter", "binomial-in-order", "down a binomial tree, the nearest first", ompi, scatter_in_order, Divides::ranks},
    {"scatter", "node-aware", "among one rank of each node, then in the nodes", ompi, node_aware, Divides::ranks, Needs::nodes},
    {"barrier", "linear", "to the root and back", ompi, both<backwards<bcast_linear, true>, bcast_linear>},
    {"barrier", "tree", "up and down a binomial tree", ompi, both<backwards<bcast_binomial, true>, bcast_binomial>},
    {"barrier", "recursive-doubling", "with partners twice as far each time", ompi, barrier_doubling},
    {"barrier", "dissemination", "to ranks twice as far each time", "Hensgen, Finkel and Manber 1988", barrier_dissemination},
    {"barrier", "double-ring", "twice around a ring", ompi, barrier_double_ring},
    {"barrier", "node-aware", "in the nodes, among one rank of each, and in the nodes again", mpich, node_aware,
     Divides::nothing, Needs::nodes},
    {"scan", "linear", "from rank to rank", ompi, scan_linear},
    {"scan", "recursive-doubling", "to ranks twice as far each time", "Hillis and Steele 1986", scan_doubling},
};

}  // namespace

std::span<const CollectiveAlgorithm> collective_algorithms() { return collectives; }

}  // namespace rankwise
