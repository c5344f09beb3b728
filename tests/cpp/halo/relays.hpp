// The relays of all ranks at once, and their proof.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "halo/relay.hpp"
#include "schedule/check.hpp"

namespace rankwise {

// The relays of all ranks, for parcels and their bytes, and the node of each rank (by its lowest rank): what the ranks tell
// each other is looked up.
struct RelayPattern {
  std::vector<Index> node_of_rank;
  std::vector<Parcel> parcels;
  std::vector<Index> bytes;  // of each parcel
};
inline std::vector<Relay> make_relays(RelayKind kind, const RelayPattern& pattern) {
  const auto node_of = [&](Index rank) { return pattern.node_of_rank[static_cast<std::size_t>(rank)]; };
  std::map<Index, NodeTraffic> traffic;
  const auto ranks = static_cast<Index>(pattern.node_of_rank.size());
  for (Index rank = 0; rank < ranks; ++rank) traffic[node_of(rank)].members.push_back(rank);
  for (std::size_t i = 0; i < pattern.parcels.size(); ++i) {
    const Parcel& parcel = pattern.parcels[i];
    const Index from = node_of(parcel.source);
    const Index to = node_of(parcel.dest);
    if (from == to) {
      traffic[from].inside.push_back({parcel, from, pattern.bytes[i]});
      continue;
    }
    traffic[from].out.push_back({parcel, to, pattern.bytes[i]});
    traffic[to].in.push_back({parcel, from, pattern.bytes[i]});
  }
  std::map<Index, std::vector<NodeOffice>> told;  // to each node
  for (const auto& [node, own] : traffic) {
    for (const NodeOffice& office : offices(kind, own)) {
      told[office.node].push_back({node, office.sender, office.receiver, own.members});
    }
  }
  std::vector<Relay> relays;
  for (Index rank = 0; rank < ranks; ++rank) {
    relays.push_back(make_relay(kind, rank, traffic[node_of(rank)], told[node_of(rank)]));
  }
  return relays;
}

// What is wrong with the relays of all ranks: as check_delivery, and both ends of a message list the same parcels in the same
// order.
inline std::vector<std::string> check_relays(const RelayPattern& pattern, const std::vector<Relay>& relays) {
  if (relays.size() != pattern.node_of_rank.size()) {
    return {"there are relays of " + std::to_string(relays.size()) + " ranks, not of " +
            std::to_string(pattern.node_of_rank.size())};
  }
  std::map<Parcel, Index> number;
  for (const Parcel& parcel : pattern.parcels) number.emplace(parcel, static_cast<Index>(number.size()));
  std::vector<RankSchedule> schedules;
  std::vector<std::vector<Index>> held;
  std::vector<std::vector<Index>> expected;
  for (std::size_t r = 0; r < relays.size(); ++r) {
    const auto rank = static_cast<Index>(r);
    // What has come to one stays until it is read, after the last step.
    if (!relays[r].schedule.place.empty()) return {"rank " + std::to_string(r) + " lets parcels share memory"};
    schedules.push_back(relays[r].schedule);
    held.emplace_back();
    expected.emplace_back();
    for (const Parcel& parcel : relays[r].slots) {
      const auto known = number.find(parcel);
      const Index token = known == number.end() ? -1 : known->second;
      held.back().push_back(parcel.source == rank ? token : -1);
      // A parcel that is only passed on must be that one, too, for its next message to be right.
      expected.back().push_back(token);
    }
  }
  std::vector<std::string> findings = check_delivery(schedules, held, expected);
  for (const auto& [parcel, token] : number) {
    const auto& at = relays[static_cast<std::size_t>(parcel.dest)].slots;
    if (std::ranges::find(at, parcel) != at.end()) continue;
    findings.push_back("rank " + std::to_string(parcel.dest) + " never gets what rank " + std::to_string(parcel.source) +
                       " has for it");
  }
  return findings;
}

}  // namespace rankwise
