#include "halo/relay.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rankwise {

namespace {

using Parcels = std::vector<Parcel>;
using Messages = std::map<Index, Parcels>;  // by peer

std::map<Index, Index> bytes_by_node(const std::vector<NodeTraffic::Message>& crossings) {
  std::map<Index, Index> bytes;
  for (const NodeTraffic::Message& crossing : crossings) bytes[crossing.node] += crossing.bytes;
  return bytes;
}

// The rank for each of the nodes: the heaviest first, the lower first of equals.
std::map<Index, Index> dealt(RelayKind kind, const std::vector<Index>& members, const std::map<Index, Index>& bytes) {
  std::vector<std::pair<Index, Index>> order;
  for (const auto& [node, weight] : bytes) order.emplace_back(-weight, node);
  std::ranges::sort(order);
  std::map<Index, Index> rank_for;
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank_for[order[i].second] = kind == RelayKind::leader ? members.front() : members[i % members.size()];
  }
  return rank_for;
}

Index or_none(const std::map<Index, Index>& ranks, Index node) {
  const auto found = ranks.find(node);
  return found == ranks.end() ? -1 : found->second;
}

class Part {
 public:
  Part(RelayKind kind, Index rank, const NodeTraffic& traffic, const std::vector<NodeOffice>& there)
      : kind_(kind), rank_(rank), traffic_(traffic), own_(offices(kind, traffic)), there_(there) {}

  Relay relay() {
    for (const auto& [parcel, node, bytes] : traffic_.inside) {
      if (parcel.source == rank_) out_[0][parcel.dest].push_back(parcel);
      if (parcel.dest == rank_) in_[0][parcel.source].push_back(parcel);
    }
    if (kind_ == RelayKind::two_step) {
      by_place();
    } else {
      by_office();
    }
    return made();
  }

 private:
  static const NodeOffice& of(const std::vector<NodeOffice>& offices, Index node) {
    const auto found = std::ranges::lower_bound(offices, node, {}, &NodeOffice::node);
    if (found == offices.end() || found->node != node) {
      invalid("node " + std::to_string(node) + " has said nothing of itself");
    }
    return *found;
  }
  static Index counterpart(const std::vector<Index>& from, Index rank, const std::vector<Index>& to) {
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(from, rank) - from.begin());
    return to[place % to.size()];
  }

  void by_office() {
    for (const auto& [parcel, node, bytes] : traffic_.out) {
      const Index by = of(own_, node).sender;
      if (by != rank_ && parcel.source == rank_) out_[0][by].push_back(parcel);
      if (by != rank_) continue;
      if (parcel.source != rank_) in_[0][parcel.source].push_back(parcel);
      out_[1][of(there_, node).receiver].push_back(parcel);
    }
    for (const auto& [parcel, node, bytes] : traffic_.in) {
      const Index by = of(own_, node).receiver;
      if (by != rank_ && parcel.dest == rank_) in_[2][by].push_back(parcel);
      if (by != rank_) continue;
      in_[1][of(there_, node).sender].push_back(parcel);
      if (parcel.dest != rank_) out_[2][parcel.dest].push_back(parcel);
    }
  }

  void by_place() {
    for (const auto& [parcel, node, bytes] : traffic_.out) {
      if (parcel.source == rank_) out_[0][counterpart(traffic_.members, rank_, of(there_, node).members)].push_back(parcel);
    }
    for (const auto& [parcel, node, bytes] : traffic_.in) {
      const Index by = counterpart(of(there_, node).members, parcel.source, traffic_.members);
      if (by != rank_ && parcel.dest == rank_) in_[1][by].push_back(parcel);
      if (by != rank_) continue;
      in_[0][parcel.source].push_back(parcel);
      if (parcel.dest != rank_) out_[1][parcel.dest].push_back(parcel);
    }
  }

  Relay made() {
    Relay relay;
    std::map<Parcel, Index> slot_of;
    for (std::size_t step = 0; step < steps(); ++step) {
      for (Messages* messages : {&out_[step], &in_[step]}) {
        for (auto& [peer, parcels] : *messages) {
          std::ranges::sort(parcels);
          for (const Parcel& parcel : parcels) slot_of.emplace(parcel, 0);
        }
      }
    }
    for (auto& [parcel, slot] : slot_of) {
      slot = static_cast<Index>(relay.slots.size());
      relay.slots.push_back(parcel);
    }
    relay.schedule.slots = static_cast<Index>(relay.slots.size());
    relay.schedule.steps.resize(steps());
    for (std::size_t s = 0; s < steps(); ++s) {
      Step& step = relay.schedule.steps[s];
      for (const auto& [kind, messages] : {std::pair{Op::Kind::recv, &in_[s]}, std::pair{Op::Kind::send, &out_[s]}}) {
        for (const auto& [peer, parcels] : *messages) {
          Op op;
          op.kind = kind;
          op.peer = peer;
          op.tag = static_cast<int>(s);
          for (const Parcel& parcel : parcels) op.slots.push_back({slot_of.at(parcel), 1});
          step.ops.push_back(std::move(op));
        }
      }
    }
    return relay;
  }

  [[nodiscard]] std::size_t steps() const { return kind_ == RelayKind::two_step ? 2 : 3; }

  RelayKind kind_;
  Index rank_;
  const NodeTraffic& traffic_;
  std::vector<NodeOffice> own_;
  const std::vector<NodeOffice>& there_;
  Messages out_[3];
  Messages in_[3];
};

}  // namespace

std::vector<NodeOffice> offices(RelayKind kind, const NodeTraffic& traffic) {
  const std::map<Index, Index> out = bytes_by_node(traffic.out);
  const std::map<Index, Index> in = bytes_by_node(traffic.in);
  const std::map<Index, Index> senders = dealt(kind, traffic.members, out);
  const std::map<Index, Index> receivers = dealt(kind, traffic.members, in);
  std::map<Index, Index> nodes = out;
  nodes.insert(in.begin(), in.end());
  std::vector<NodeOffice> all;
  for (const auto& [node, bytes] : nodes) {
    all.push_back({node, or_none(senders, node), or_none(receivers, node), traffic.members});
  }
  return all;
}

Relay make_relay(RelayKind kind, Index rank, const NodeTraffic& traffic, const std::vector<NodeOffice>& there) {
  return Part(kind, rank, traffic, there).relay();
}

}  // namespace rankwise
