// Where each rank sits: node, socket, cache and core, each numbered over the whole machine.
#pragma once

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
  // How many levels of switches lie between two nodes: 0 within a unit of the innermost.
  [[nodiscard]] std::size_t levels_between(Index node, Index other) const;
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

}  // namespace rankwise
