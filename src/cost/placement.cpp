#include "cost/placement.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace rankwise {

LinkClass link_between(const Location& a, const Location& b) {
  if (a.node != b.node) return LinkClass::other_node;
  if (a.socket != b.socket) return LinkClass::other_socket;
  if (a.core == b.core) return LinkClass::same_core;
  return a.cache >= 0 && a.cache == b.cache ? LinkClass::shared_cache : LinkClass::same_socket;
}

Placement Placement::blocked(Index ranks, Index ranks_per_node, Index per_socket, Index per_cache) {
  if (ranks < 1) invalid("a placement of " + std::to_string(ranks) + " ranks places nobody: give at least 1");
  if (ranks_per_node < 1) {
    invalid("ranks per node " + std::to_string(ranks_per_node) + " is too small: it must be at least 1");
  }
  if (per_socket < 0 || per_cache < 0) invalid("ranks per socket or cache are negative: give at least 1");
  Placement placement;
  placement.ranks_ = ranks;
  placement.per_node_ = std::min(ranks, ranks_per_node);
  placement.nodes_ = (ranks - 1) / ranks_per_node + 1;
  placement.per_socket_ = per_socket == 0 ? placement.per_node_ : std::min(per_socket, placement.per_node_);
  placement.per_cache_ = per_cache;
  placement.has_sockets_ = placement.per_socket_ < placement.per_node_;
  placement.only_nodes_ = !placement.has_sockets_ && per_cache == 0;
  return placement;
}

namespace {

// Throws where one number is used on two nodes.
void require_one_node(const std::vector<Location>& locations, Index Location::* part, const char* what) {
  std::unordered_map<Index, Index> node_of;
  for (const Location& location : locations) {
    const auto [known, added] = node_of.try_emplace(location.*part, location.node);
    if (!added && known->second != location.node) {
      invalid(std::string(what) + " " + std::to_string(location.*part) + " lies on nodes " + std::to_string(known->second) +
              " and " + std::to_string(location.node) + ": number them over the machine");
    }
  }
}

// How nodes are filled one after the other, each alike, and their sockets likewise; nothing for others.
struct Blocks {
  Index per_node;
  Index per_socket;
};

std::optional<Blocks> blocks_of(const std::vector<Location>& locations) {
  const auto ranks = static_cast<Index>(locations.size());
  const auto first_elsewhere = [&](Index Location::* part) {
    return std::find_if(locations.begin(), locations.end(), [&](const Location& l) { return l.*part != locations[0].*part; }) -
           locations.begin();
  };
  const Blocks blocks{first_elsewhere(&Location::node), first_elsewhere(&Location::socket)};
  const Index sockets = (blocks.per_node - 1) / blocks.per_socket + 1;
  for (Index rank = 0; rank < ranks; ++rank) {
    const Location& location = locations[static_cast<std::size_t>(rank)];
    const Index node = rank / blocks.per_node;
    const Index socket = node * sockets + rank % blocks.per_node / blocks.per_socket;
    if (location != Location{node, socket, rank, -1}) return {};
  }
  return blocks;
}

}  // namespace

Placement::Placement(std::vector<Location> locations) : locations_(std::move(locations)) {
  if (locations_.empty()) invalid("a placement of 0 ranks places nobody: give one location a rank");
  ranks_ = static_cast<Index>(locations_.size());
  for (const Location& location : locations_) {
    if (location.node < 0 || location.socket < 0 || location.core < 0) {
      invalid("a location of the placement is negative: count nodes, sockets and cores from 0");
    }
    nodes_ = std::max(nodes_, location.node + 1);
  }
  if (nodes_ > (Index{1} << 31)) invalid("the placement numbers its nodes beyond 2^31: number them from 0");
  if (const std::optional<Blocks> blocks = blocks_of(locations_)) {
    *this = blocked(ranks_, blocks->per_node, blocks->per_socket);
    return;
  }
  require_one_node(locations_, &Location::socket, "socket");
  std::unordered_map<Index, Index> socket_of;
  for (const Location& location : locations_) {
    const auto [known, added] = socket_of.try_emplace(location.node, location.socket);
    has_sockets_ = has_sockets_ || (!added && known->second != location.socket);
  }
}

Placement Placement::on_nodes(std::span<const std::int32_t> node_of_rank, std::span<const std::int32_t> socket_of_rank) {
  if (!socket_of_rank.empty() && socket_of_rank.size() != node_of_rank.size()) {
    invalid(std::to_string(node_of_rank.size()) + " ranks have nodes and " + std::to_string(socket_of_rank.size()) +
            " sockets: give each rank both");
  }
  std::vector<Location> locations;
  locations.reserve(node_of_rank.size());
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const std::int32_t node = node_of_rank[rank];
    locations.push_back({node, socket_of_rank.empty() ? node : socket_of_rank[rank], static_cast<Index>(rank), -1});
  }
  Placement placement(std::move(locations));
  placement.only_nodes_ = !placement.has_sockets_;
  return placement;
}

Placement Placement::with_levels(std::vector<Index> nodes_of_unit) const {
  for (std::size_t i = 0; i < nodes_of_unit.size(); ++i) {
    if (nodes_of_unit[i] < 1 || (i > 0 && nodes_of_unit[i] < nodes_of_unit[i - 1])) {
      invalid("the levels of switches do not grow: name the inner ones first");
    }
  }
  Placement copy = *this;
  copy.levels_ = std::move(nodes_of_unit);
  return copy;
}

Index Placement::most_on_a_node() const {
  if (locations_.empty()) return per_node_;
  std::unordered_map<Index, Index> ranks_of;
  Index most = 0;
  for (const Location& location : locations_) most = std::max(most, ++ranks_of[location.node]);
  return most;
}

Location Placement::operator[](Index rank) const {
  if (!locations_.empty()) return locations_[static_cast<std::size_t>(rank)];
  const Index node = rank / per_node_;
  const Index within = rank % per_node_;
  const Index sockets = (per_node_ - 1) / per_socket_ + 1;
  const Index socket = node * sockets + within / per_socket_;
  if (per_cache_ == 0) return {node, socket, rank, -1};
  const Index caches = (per_socket_ - 1) / per_cache_ + 1;
  return {node, socket, rank, socket * caches + within % per_socket_ / per_cache_};
}

std::size_t Placement::levels_between(Index node, Index other) const {
  std::size_t between = 0;
  while (between < levels_.size() && node / levels_[between] != other / levels_[between]) ++between;
  return between;
}

}  // namespace rankwise
