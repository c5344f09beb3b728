#include "halo/node_aware.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rankwise {

namespace {

using Packets = std::vector<Packet>;
using Messages = std::map<Index, Packets>;  // by peer

std::map<Index, Index> bytes_by_node(const std::vector<NodeTraffic::Message>& crossings) {
  std::map<Index, Index> bytes;
  for (const NodeTraffic::Message& crossing : crossings) bytes[crossing.node] += crossing.bytes;
  return bytes;
}

// The rank for each of the nodes: the heaviest first, the lower first of equals.
std::map<Index, Index> dealt(NodeAwareKind kind, const std::vector<Index>& members, const std::map<Index, Index>& bytes) {
  std::vector<std::pair<Index, Index>> order;
  for (const auto& [node, weight] : bytes) order.emplace_back(-weight, node);
  std::ranges::sort(order);
  std::map<Index, Index> rank_for;
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank_for[order[i].second] = kind == NodeAwareKind::leader ? members.front() : members[i % members.size()];
  }
  return rank_for;
}

Index or_none(const std::map<Index, Index>& ranks, Index node) {
  const auto found = ranks.find(node);
  return found == ranks.end() ? -1 : found->second;
}

class Part {
 public:
  Part(NodeAwareKind kind, Index rank, const NodeTraffic& traffic, const std::vector<NodeLeaders>& there)
      : kind_(kind), rank_(rank), traffic_(traffic), own_(node_leaders(kind, traffic)), there_(there) {}

  NodeAwareSchedule schedule() {
    for (const auto& [packet, node, bytes] : traffic_.inside) {
      if (packet.source == rank_) out_[0][packet.dest].push_back(packet);
      if (packet.dest == rank_) in_[0][packet.source].push_back(packet);
    }
    if (kind_ == NodeAwareKind::two_step) {
      by_place();
    } else {
      by_leaders();
    }
    return made();
  }

 private:
  static const NodeLeaders& of(const std::vector<NodeLeaders>& node_leaders, Index node) {
    const auto found = std::ranges::lower_bound(node_leaders, node, {}, &NodeLeaders::node);
    if (found == node_leaders.end() || found->node != node) {
      invalid("node " + std::to_string(node) + " has said nothing of itself");
    }
    return *found;
  }
  static Index counterpart(const std::vector<Index>& from, Index rank, const std::vector<Index>& to) {
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(from, rank) - from.begin());
    return to[place % to.size()];
  }

  void by_leaders() {
    for (const auto& [packet, node, bytes] : traffic_.out) {
      const Index by = of(own_, node).sender;
      if (by != rank_ && packet.source == rank_) out_[0][by].push_back(packet);
      if (by != rank_) continue;
      if (packet.source != rank_) in_[0][packet.source].push_back(packet);
      out_[1][of(there_, node).receiver].push_back(packet);
    }
    for (const auto& [packet, node, bytes] : traffic_.in) {
      const Index by = of(own_, node).receiver;
      if (by != rank_ && packet.dest == rank_) in_[2][by].push_back(packet);
      if (by != rank_) continue;
      in_[1][of(there_, node).sender].push_back(packet);
      if (packet.dest != rank_) out_[2][packet.dest].push_back(packet);
    }
  }

  void by_place() {
    for (const auto& [packet, node, bytes] : traffic_.out) {
      if (packet.source == rank_) out_[0][counterpart(traffic_.members, rank_, of(there_, node).members)].push_back(packet);
    }
    for (const auto& [packet, node, bytes] : traffic_.in) {
      const Index by = counterpart(of(there_, node).members, packet.source, traffic_.members);
      if (by != rank_ && packet.dest == rank_) in_[1][by].push_back(packet);
      if (by != rank_) continue;
      in_[0][packet.source].push_back(packet);
      if (packet.dest != rank_) out_[1][packet.dest].push_back(packet);
    }
  }

  NodeAwareSchedule made() {
    NodeAwareSchedule part;
    std::map<Packet, Index> slot_of;
    for (std::size_t step = 0; step < steps(); ++step) {
      for (Messages* messages : {&out_[step], &in_[step]}) {
        for (auto& [peer, packets] : *messages) {
          std::ranges::sort(packets);
          for (const Packet& packet : packets) slot_of.emplace(packet, 0);
        }
      }
    }
    for (auto& [packet, slot] : slot_of) {
      slot = static_cast<Index>(part.slots.size());
      part.slots.push_back(packet);
    }
    part.schedule.slots = static_cast<Index>(part.slots.size());
    part.schedule.steps.resize(steps());
    for (std::size_t s = 0; s < steps(); ++s) {
      Step& step = part.schedule.steps[s];
      for (const auto& [kind, messages] : {std::pair{Op::Kind::recv, &in_[s]}, std::pair{Op::Kind::send, &out_[s]}}) {
        for (const auto& [peer, packets] : *messages) {
          Op op;
          op.kind = kind;
          op.peer = peer;
          op.tag = static_cast<int>(s);
          for (const Packet& packet : packets) op.slots.push_back({slot_of.at(packet), 1});
          step.ops.push_back(std::move(op));
        }
      }
    }
    return part;
  }

  [[nodiscard]] std::size_t steps() const { return kind_ == NodeAwareKind::two_step ? 2 : 3; }

  NodeAwareKind kind_;
  Index rank_;
  const NodeTraffic& traffic_;
  std::vector<NodeLeaders> own_;
  const std::vector<NodeLeaders>& there_;
  Messages out_[3];
  Messages in_[3];
};

}  // namespace

std::vector<NodeLeaders> node_leaders(NodeAwareKind kind, const NodeTraffic& traffic) {
  const std::map<Index, Index> out = bytes_by_node(traffic.out);
  const std::map<Index, Index> in = bytes_by_node(traffic.in);
  const std::map<Index, Index> senders = dealt(kind, traffic.members, out);
  const std::map<Index, Index> receivers = dealt(kind, traffic.members, in);
  std::map<Index, Index> nodes = out;
  nodes.insert(in.begin(), in.end());
  std::vector<NodeLeaders> all;
  for (const auto& [node, bytes] : nodes) {
    all.push_back({node, or_none(senders, node), or_none(receivers, node), traffic.members});
  }
  return all;
}

NodeAwareSchedule node_aware_schedule(NodeAwareKind kind, Index rank, const NodeTraffic& traffic,
                                      const std::vector<NodeLeaders>& there) {
  return Part(kind, rank, traffic, there).schedule();
}

}  // namespace rankwise
