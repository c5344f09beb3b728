// The node-aware schedules of all ranks at once, and their proof.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "halo/node_aware.hpp"
#include "schedule/check.hpp"

namespace rankwise {

// The node-aware schedules of all ranks, for packets and their bytes, and the node of each rank (by its lowest rank): what the ranks tell
// each other is looked up.
struct NodePattern {
  std::vector<Index> node_of_rank;
  std::vector<Packet> packets;
  std::vector<Index> bytes;  // of each packet
};
inline std::vector<NodeAwareSchedule> node_aware_schedules(NodeAwareKind kind, const NodePattern& pattern) {
  const auto node_of = [&](Index rank) { return pattern.node_of_rank[static_cast<std::size_t>(rank)]; };
  std::map<Index, NodeTraffic> traffic;
  const auto ranks = static_cast<Index>(pattern.node_of_rank.size());
  for (Index rank = 0; rank < ranks; ++rank) traffic[node_of(rank)].members.push_back(rank);
  for (std::size_t i = 0; i < pattern.packets.size(); ++i) {
    const Packet& packet = pattern.packets[i];
    const Index from = node_of(packet.source);
    const Index to = node_of(packet.dest);
    if (from == to) {
      traffic[from].inside.push_back({packet, from, pattern.bytes[i]});
      continue;
    }
    traffic[from].out.push_back({packet, to, pattern.bytes[i]});
    traffic[to].in.push_back({packet, from, pattern.bytes[i]});
  }
  std::map<Index, std::vector<NodeLeaders>> told;  // to each node
  for (const auto& [node, own] : traffic) {
    for (const NodeLeaders& leaders : node_leaders(kind, own)) {
      told[leaders.node].push_back({node, leaders.sender, leaders.receiver, own.members});
    }
  }
  std::vector<NodeAwareSchedule> parts;
  for (Index rank = 0; rank < ranks; ++rank) {
    parts.push_back(node_aware_schedule(kind, rank, traffic[node_of(rank)], told[node_of(rank)]));
  }
  return parts;
}

// What is wrong with the node-aware schedules of all ranks: as check_delivery, and both ends of a message list the same packets in the same
// order.
inline std::vector<std::string> check_node_aware(const NodePattern& pattern, const std::vector<NodeAwareSchedule>& parts) {
  if (parts.size() != pattern.node_of_rank.size()) {
    return {"there are schedules of " + std::to_string(parts.size()) + " ranks, not of " +
            std::to_string(pattern.node_of_rank.size())};
  }
  std::map<Packet, Index> number;
  for (const Packet& packet : pattern.packets) number.emplace(packet, static_cast<Index>(number.size()));
  std::vector<RankSchedule> schedules;
  std::vector<std::vector<Index>> held;
  std::vector<std::vector<Index>> expected;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const auto rank = static_cast<Index>(r);
    // What has come to one stays until it is read, after the last step.
    if (!parts[r].schedule.place.empty()) return {"rank " + std::to_string(r) + " lets packets share memory"};
    schedules.push_back(parts[r].schedule);
    held.emplace_back();
    expected.emplace_back();
    for (const Packet& packet : parts[r].slots) {
      const auto known = number.find(packet);
      const Index token = known == number.end() ? -1 : known->second;
      held.back().push_back(packet.source == rank ? token : -1);
      // A packet that is only passed on must be that one, too, for its next message to be right.
      expected.back().push_back(token);
    }
  }
  std::vector<std::string> findings = check_delivery(schedules, held, expected);
  for (const auto& [packet, token] : number) {
    const auto& at = parts[static_cast<std::size_t>(packet.dest)].slots;
    if (std::ranges::find(at, packet) != at.end()) continue;
    findings.push_back("rank " + std::to_string(packet.dest) + " never gets what rank " + std::to_string(packet.source) +
                       " has for it");
  }
  return findings;
}

}  // namespace rankwise
