// The algorithms of collectives. Members of a team count from the root on; what is said of rank v is of member v.
#include <algorithm>
#include <bit>

#include "schedule/collectives.hpp"

namespace rankwise {

namespace {

using Spec = CollectiveSpec;

Index power_below(Index ranks) { return static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(ranks))); }

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
void along(Rounds& rounds, const Team& team, Parent parent_and_round) {
  Tree tree{{0}, {-1}};
  for (Index v = 1; v < team.size(); ++v) {
    const auto [parent, at] = parent_and_round(v, tree);
    tree.parent.push_back(parent);
    tree.at.push_back(at);
  }
  send_down(rounds, team, tree);
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
void bcast_tree(Rounds& rounds, const Team& team, const Spec& spec) {
  const Index children = std::max<Index>(2, spec.radix);
  along(rounds, team, [&](Index v, const Tree& tree) {
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

void bcast_binomial(Rounds& rounds, const Team& team, const Spec& spec) {
  Spec binary = spec;
  binary.radix = 2;
  bcast_knomial(rounds, team, binary);
}

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
using Make = void (*)(Rounds& rounds, const Team& team, const Spec& spec);
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
constexpr Make allgather_doubling = backwards<halve_far, false>;
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

void reduce_rabenseifner(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  const Team less = with_parts(folded(rounds, team, 0), team);
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

void reduce_scatter_halving(Rounds& rounds, const Team& team, const Spec& spec) {
  const Team less = folded(rounds, team, 1);
  halve_far(rounds, less, spec);
  unfold(rounds, team, true);
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

void allgather_linear(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index d = 1; d < team.size(); ++d) {
    for (Index v = 0; v < team.size(); ++v) rounds.send(team, v, (v + d) % team.size(), team.parts(v, 1));
  }
  rounds.next();
}

void allgather_bruck(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index k = 1; k < team.size(); k *= 2, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) {
      rounds.send(team, v, (v + team.size() - k) % team.size(), team.parts(v, std::min(k, team.size() - k)));
    }
  }
}

// Own parts to one neighbour, then two at a time to the neighbours on either side by turns.
void allgather_neighbor(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  const Index size = team.size();
  for (Index v = 0; v < size; ++v) rounds.send(team, v, v ^ 1, team.parts(v, 1));
  rounds.next();
  std::vector<Index> pair(team.ranks.size());
  for (Index v = 0; v < size; ++v) pair[static_cast<std::size_t>(v)] = v - v % 2;
  for (Index s = 1; s < size / 2; ++s, rounds.next()) {
    std::vector<Index> arrived(pair.size());
    for (Index v = 0; v < size; ++v) {
      const Index to = (v + ((v % 2 == 0) == (s % 2 == 0) ? 1 : size - 1)) % size;
      rounds.send(team, v, to, team.parts(pair[static_cast<std::size_t>(v)], 2));
      arrived[static_cast<std::size_t>(to)] = pair[static_cast<std::size_t>(v)];
    }
    pair = arrived;
  }
}

Blocks block_of(const Team& team, Index from, Index to) { return {{from * team.size() + to, 1}}; }

void alltoall_linear(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index d = 1; d < team.size(); ++d) {
    for (Index v = 0; v < team.size(); ++v) {
      rounds.send(team, v, (v + d) % team.size(), block_of(team, v, (v + d) % team.size()));
    }
  }
  rounds.next();
}

// Member v and one other at a time; exclusive: the same one both ways.
template <bool exclusive>
void alltoall_pairwise(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index d = 1; d < team.size(); ++d, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) {
      const Index to = exclusive ? v ^ d : (v + d) % team.size();
      rounds.send(team, v, to, block_of(team, v, to));
    }
  }
}

// Two ranks at a time, each with its partners in their order: their blocks change places in one buffer.
void alltoall_in_place(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  const Index first = rounds.now();
  for (Index v = 0; v < team.size(); ++v) {
    for (Index w = v + 1; w < team.size(); ++w) {
      rounds.seek(first + v + w - 1);
      rounds.send(team, v, w, block_of(team, v, w));
      rounds.send(team, w, v, block_of(team, w, v));
    }
  }
  rounds.next();
}

// In the round of bit k every block that still has so far to go moves on by k.
void alltoall_bruck(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  const Index size = team.size();
  for (Index k = 1; k < size; k *= 2, rounds.next()) {
    for (Index v = 0; v < size; ++v) {
      Blocks moving;
      for (Index far = k; far < size; ++far) {
        if ((far & k) == 0) continue;
        const Index origin = (v - (far & (k - 1)) + size) % size;
        moving.push_back(block_of(team, origin, (origin + far) % size)[0]);
      }
      rounds.send(team, v, (v + k) % size, std::move(moving));
    }
  }
}

void reduce_scatter_pairwise(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index d = 1; d < team.size(); ++d, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) {
      rounds.send(team, v, (v + d) % team.size(), team.parts((v + d) % team.size(), 1), true);
    }
  }
}

void barrier_dissemination(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index k = 1; k < team.size(); k *= 2, rounds.next()) {
    for (Index v = 0; v < team.size(); ++v) rounds.send(team, v, (v + k) % team.size(), team.all(), true);
  }
}

// Ranks beyond the largest power of two stand by, each with one before it, as Open MPI has it.
void barrier_doubling(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  const Index power = power_below(team.size());
  for (Index v = power; v < team.size(); ++v) rounds.send(team, v, v - power, team.all(), true);
  if (power < team.size()) rounds.next();
  for (Index mask = 1; mask < power; mask *= 2, rounds.next()) {
    for (Index v = 0; v < power; ++v) rounds.send(team, v, v ^ mask, team.all(), true);
  }
  for (Index v = power; v < team.size(); ++v) rounds.send(team, v - power, v, team.all(), true);
  if (power < team.size()) rounds.next();
}

void barrier_double_ring(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index s = 0; s < 2 * team.size() && team.size() > 1; ++s, rounds.next()) {
    rounds.send(team, s % team.size(), (s + 1) % team.size(), team.all(), true);
  }
}

void scan_linear(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index v = 0; v + 1 < team.size(); ++v, rounds.next()) rounds.send(team, v, v + 1, team.all(), true);
}

void scan_doubling(Rounds& rounds, const Team& team, const Spec& /*spec*/) {
  for (Index k = 1; k < team.size(); k *= 2, rounds.next()) {
    for (Index v = 0; v + k < team.size(); ++v) rounds.send(team, v, v + k, team.all(), true);
  }
}

void allreduce_reduce_bcast(Rounds& rounds, const Team& team, const Spec& spec) {
  const auto stage = [&](const std::string& named) {  // among leaders: what is named is theirs
    return spec.algorithm == "node-aware" || named.empty() ? std::string("binomial") : named;
  };
  Spec of_reduce = spec;  // the radix is the bcast's
  of_reduce.radix = 2;
  collective_algorithm("reduce", stage(spec.within)).make(rounds, team, of_reduce);
  collective_algorithm("bcast", stage(spec.between)).make(rounds, team, spec);
}

// In the nodes, among one leader of each, and in the nodes again; the pieces of a vector follow each other from stage to stage.
void node_aware(Rounds& rounds, const Team& team, const Spec& spec) {
  const std::string kind = spec.kind;
  const std::string into = kind == "bcast" ? "" : kind == "allgather" ? "gather" : "reduce";
  const std::string out = kind == "reduce" ? "" : "bcast";
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
    if (kind == "allgather") node.part.push_back(team.part[static_cast<std::size_t>(v)]);
  }
  for (const Team& node : nodes) leaders.part.push_back(node.part.empty() ? Blocks{} : node.parts(0, node.size()));
  if (kind != "allgather") leaders.part = team.part;  // as many pieces as leaders
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
     both<scatter_binomial, allgather_doubling>, Divides::ranks, Needs::power_of_two},
    {"bcast", "scatter-ring-allgather", "scattered, then gathered around a ring", thakur,
     both<scatter_binomial, allgather_ring>, Divides::ranks},
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
    {"allreduce", "node-aware", "in the nodes, among one rank of each, and in the nodes again", mpich, node_aware,
     Divides::nothing, Needs::nodes, true},
    {"allgather", "linear", "each block to each rank at once", ompi, allgather_linear, Divides::ranks},
    {"allgather", "gather-bcast", "gathered by a binomial tree, then bcast", mpich, both<gather_binomial, bcast_binomial>,
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
    {"reduce_scatter", "reduce-scatter", "reduce by a binomial tree, then scatter", ompi,
     both<backwards<bcast_binomial, true>, scatter_binomial>, Divides::ranks},
    {"reduce_scatter", "recursive-halving", "half of the vector each time", thakur, reduce_scatter_halving, Divides::ranks},
    {"reduce_scatter", "ring", "around a ring", ompi, reduce_scatter_ring, Divides::ranks},
    {"reduce_scatter", "pairwise", "one partner to send to and one to receive from each time", thakur, reduce_scatter_pairwise,
     Divides::ranks},
    {"gather", "linear", "each rank sends to the root, one after the other", ompi, backwards<scatter_linear<false>, false>,
     Divides::ranks},
    {"gather", "linear-nonblocking", "each rank sends to the root, all at once", ompi, backwards<scatter_linear<true>, false>,
     Divides::ranks},
    {"gather", "binomial", "up a binomial tree", mpich, gather_binomial, Divides::ranks},
    {"scatter", "linear", "the root sends to each rank, one after the other", ompi, scatter_linear<false>, Divides::ranks},
    {"scatter", "linear-nonblocking", "the root sends to each rank, all at once", ompi, scatter_linear<true>, Divides::ranks},
    {"scatter", "binomial", "down a binomial tree", mpich, scatter_binomial, Divides::ranks},
    {"scatter", "binomial-in-order", "down a binomial tree, the nearest first", ompi, scatter_in_order, Divides::ranks},
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
