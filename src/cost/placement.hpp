// Where each rank sits: node, socket, cache and core, each numbered over the whole machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cost/machine.hpp"

namespace rankwise {

struct Location {
  Index node = 0;
  Index socket = 0;
  Index core = 0;
  Index cache = -1;  // the largest that cores share; -1: not known
  bool operator==(const Location&) const = default;
};

// The class of the link between two ranks.
[[nodiscard]] LinkClass link_between(const Location& a, const Location& b);

// How far apart two ranks are, as resources tell it: within a socket, on two of a node, on two nodes, and beyond so many
// levels of switches.
enum Span : std::size_t { in_socket, in_node, between_nodes };  // then one for each level

// What a message between two ranks takes.
struct Route {
  LinkClass link = LinkClass::same_core;
  std::size_t span = in_socket;
};
// levels: how many nodes a unit of switches has, the inner first.
[[nodiscard]] Route route_between(const Location& a, const Location& b, const std::vector<Index>& levels);

// The location of every rank. Nodes that are filled one after the other, as a scheduler does, take no memory.
class Placement {
 public:
  // Nodes of ranks_per_node ranks, the last one of what is left; of a node the first per_socket ranks on its first socket,
  // and of a socket the first per_cache ranks at its first cache (0: one socket a node; no cache is known).
  // Throws std::invalid_argument for numbers that do not fit.
  [[nodiscard]] static Placement blocked(Index ranks, Index ranks_per_node, Index per_socket = 0, Index per_cache = 0);
  // Any locations, one a rank. Throws std::invalid_argument for negative numbers, and a socket of two nodes.
  explicit Placement(std::vector<Location> locations);
  // The node of each rank and its socket, numbered over the machine (none: one socket a node); a core for each rank. Throws
  // std::invalid_argument like the constructor, and for another number of sockets than of nodes.
  [[nodiscard]] static Placement on_nodes(std::span<const std::int32_t> node_of_rank,
                                          std::span<const std::int32_t> socket_of_rank = {});

  // The same with levels of switches: so many nodes in a unit of each, the inner first. Throws std::invalid_argument.
  [[nodiscard]] Placement with_levels(std::vector<Index> nodes_of_unit) const;
  // The same with the location of each rank at hand, where they are often asked for.
  [[nodiscard]] Placement listed() const;
  // Of nodes that are filled one after the other: so many ranks likewise.
  [[nodiscard]] Placement of_first(Index ranks) const {
    return blocked(ranks, per_node_, per_socket_, per_cache_).with_levels(levels_);
  }

  [[nodiscard]] Index ranks() const { return ranks_; }
  [[nodiscard]] Index nodes() const { return nodes_; }
  [[nodiscard]] Index most_on_a_node() const;
  [[nodiscard]] bool has_sockets() const { return has_sockets_; }
  // Whether no more is known of ranks than their nodes: one socket a node, no caches, a core each.
  [[nodiscard]] bool knows_only_nodes() const { return only_nodes_; }
  [[nodiscard]] Location operator[](Index rank) const;
  [[nodiscard]] Index node(Index rank) const {
    return locations_.empty() ? rank / per_node_ : locations_[static_cast<std::size_t>(rank)].node;
  }
  [[nodiscard]] const std::vector<Index>& levels() const { return levels_; }
  // Whether nodes are filled one after the other, ranks_per_node() each.
  [[nodiscard]] bool is_blocked() const { return locations_.empty(); }
  [[nodiscard]] Index ranks_per_node() const { return per_node_; }

 private:
  Placement() = default;

  Index ranks_ = 0;
  Index nodes_ = 0;
  Index per_node_ = 0;  // of blocked nodes
  Index per_socket_ = 0;
  Index per_cache_ = 0;
  bool has_sockets_ = false;
  bool only_nodes_ = false;
  std::vector<Location> locations_;  // empty: blocked
  std::vector<Index> levels_;
};

// How many messages of the ranks of a node leave it: counted for offsets on the grid of ranks, so that a few ranks can stand
// for all (decide/representatives.hpp) and still know what they share with their neighbours.

// The rank at an offset of the ranks of one kind.
struct Partner {
  Index kind = 0;
  Coords offset;
  bool operator==(const Partner&) const = default;
};

// The ranks of a socket, a node or a unit of switches: how many of them have each partner at each span.
struct UnitCounts {
  enum class Of : std::uint8_t { socket, node, level };
  Of of = Of::node;
  std::size_t level = 0;
  std::vector<std::uint32_t> counts;  // [partner * spans + span]
  auto operator<=>(const UnitCounts&) const = default;
};

// What was counted; units that are alike stand once.
struct Census {
  std::size_t spans = 3;
  double whole = 1.0;  // what a rank counts that sends all that whoever stands for it sends
  // The link to each partner, of that rank of each kind whose partners are farthest away; where it lacks one, and between
  // members of teams, the farthest that any rank's is. Nothing where nobody has the partner.
  std::vector<std::optional<LinkClass>> links;
  std::vector<UnitCounts> units;

  [[nodiscard]] double count(const UnitCounts& unit, std::size_t partner, std::size_t span) const {
    return unit.counts[partner * spans + span] / whole;
  }
};

// How far messages really go along an axis, down and up; further round a ring there are none.
struct Reach {
  Index lower;
  Index upper;
  bool operator==(const Reach&) const = default;
};

class Layout {
 public:
  // Throws std::invalid_argument when the placement is of another number of ranks, and it must outlive the layout. between: called
  // now and then where counting takes long; what it throws ends that.
  Layout(const Grid& ranks, const Placement& placement, std::function<void()> between = {});

  // kind_of: the kind of a rank, -1 where it has none of the partners. Counts every node; of nodes that are filled one after
  // the other, where there are many, 16 (of small nodes more) spread evenly over the grid, first and last included (the load
  // found is 0.97 of the busiest node's or more in nine of ten grids, 0.875 at worst).
  // members: kinds are the members of teams, who take the farthest link of any; others those of the rank of their kind whose
  // partners are farthest away.
  // grid: of the ranks; its borders may differ from one count to the next. reach: of each axis, where borders that messages
  // do not cross are closed; empty: they go all around. label: names kind_of, so that what was counted for
  // the same partners before is given again. share: of the blocks that whoever stands for a rank sends to a partner, how much that
  // rank sends; none: all of them.
  using Share = std::function<double(const Coords& coords, const Partner& partner)>;
  [[nodiscard]] std::shared_ptr<const Census> census(const Grid& grid, const std::vector<Partner>& partners,
                                                     const std::vector<Reach>& reach, bool members,
                                                     const std::vector<Index>& label,
                                                     const std::function<Index(Index rank, const Coords& coords)>& kind_of,
                                                     const Share& share = {}) const;

  [[nodiscard]] const Placement& placement() const { return placement_; }

 private:
  [[nodiscard]] Census count(const Grid& grid, const std::vector<Partner>& partners, const std::vector<Reach>& reach,
                             bool members, const std::function<Index(Index rank, const Coords& coords)>& kind_of,
                             const Share& share) const;
  [[nodiscard]] std::vector<Index> chosen(Index units, Index ranks, std::size_t partners, Index most) const;

  const Placement& placement_;
  std::function<void()> between_;
  std::vector<Index> ranks_by_node_;   // of a placement that is not blocked
  std::vector<std::int32_t> node_of_;  // likewise, where no more is known of ranks: next to each other, to be looked up fast
  std::vector<std::size_t> first_;
  struct Known {
    std::vector<bool> periodic;
    std::vector<Index> label;
    std::vector<Partner> partners;
    std::vector<Reach> reach;
    std::shared_ptr<const Census> census;
  };
  mutable std::vector<Known> known_;
};

}  // namespace rankwise
