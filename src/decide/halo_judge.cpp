#include "decide/halo_judge.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "decide/few_nodes.hpp"

namespace rankwise {

namespace {

// Which ranks of other nodes have to do with the node, and where all of them are: members first, in their order.
class Numbering {
 public:
  explicit Numbering(const std::vector<Index>& members) : members_(members) {
    for (const Index rank : members) add(rank, members.front());
  }
  void add(Index rank, Index node) {
    if (!number_.try_emplace(rank, static_cast<Index>(node_.size())).second) return;
    const auto known = seat_.try_emplace(node, static_cast<std::int32_t>(seat_.size())).first;
    node_.push_back(known->second);
  }
  [[nodiscard]] Index of(Index rank) const { return number_.at(rank); }

  // What the members do: op by op their peers' own numbers.
  [[nodiscard]] HaloCost cost(std::vector<RankSchedule> of_members, const Machine& machine) const {
    for (RankSchedule& schedule : of_members) {
      for (Step& step : schedule.steps) {
        for (Op& op : step.ops) op.peer = of(op.peer);
      }
    }
    const Placement placement = Placement::on_nodes(node_);
    const NodeMap map = NodeMap::of({node_.begin(), node_.end()});
    const auto make = [&](Index rank) { return of_members[static_cast<std::size_t>(rank)]; };
    const Walk walk = walk_of_node(map, placement, SendMode::isend, make);
    const Cost found = walk.cost(1, machine);
    return {found.time_s(), found.low_s, found.high_s};
  }

 private:
  const std::vector<Index>& members_;
  std::map<Index, Index> number_;
  std::map<Index, std::int32_t> seat_;  // of a node
  std::vector<std::int32_t> node_;
};

void add(RankSchedule& schedule, std::size_t step, Op::Kind kind, Index peer, Index bytes) {
  Op op;
  op.kind = kind;
  op.peer = peer;
  op.slots = {{0, bytes}};
  schedule.slots = std::max(schedule.slots, bytes);
  schedule.steps[step].ops.push_back(std::move(op));
}

}  // namespace

HaloCost cost_of_steps(const std::vector<NodeTraffic>& steps, const Machine& machine) {
  const std::vector<Index>& members = steps.front().members;
  Numbering numbers(members);
  std::vector<RankSchedule> schedules(members.size());
  for (RankSchedule& schedule : schedules) schedule.steps.resize(steps.size());
  const auto of = [&](Index rank) -> RankSchedule& { return schedules[static_cast<std::size_t>(numbers.of(rank))]; };
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (const auto& [parcel, node, bytes] : steps[s].inside) {
      add(of(parcel.source), s, Op::Kind::send, parcel.dest, bytes);
      add(of(parcel.dest), s, Op::Kind::recv, parcel.source, bytes);
    }
    for (const auto& [parcel, node, bytes] : steps[s].out) {
      numbers.add(parcel.dest, node);
      add(of(parcel.source), s, Op::Kind::send, parcel.dest, bytes);
    }
    for (const auto& [parcel, node, bytes] : steps[s].in) {
      numbers.add(parcel.source, node);
      add(of(parcel.dest), s, Op::Kind::recv, parcel.source, bytes);
    }
  }
  return numbers.cost(std::move(schedules), machine);
}

HaloCost cost_of_relay(RelayKind kind, const NodeTraffic& traffic, const std::vector<NodeOffice>& there,
                       const Machine& machine) {
  Numbering numbers(traffic.members);
  for (const NodeOffice& office : there) {
    for (const Index rank : office.members) numbers.add(rank, office.node);
  }
  std::map<Parcel, Index> bytes_of;
  for (const auto* messages : {&traffic.inside, &traffic.out, &traffic.in}) {
    for (const NodeTraffic::Message& message : *messages) bytes_of[message.parcel] = message.bytes;
  }
  std::vector<RankSchedule> schedules;
  for (const Index rank : traffic.members) {
    Relay relay = make_relay(kind, rank, traffic, there);
    for (Step& step : relay.schedule.steps) {
      for (Op& op : step.ops) {
        Index bytes = 0;
        for (const SlotRange& slot : op.slots) bytes += 8 + bytes_of.at(relay.slots[static_cast<std::size_t>(slot.first)]);
        op.slots = {{0, bytes}};
        op.tag = 0;
        relay.schedule.slots = std::max(relay.schedule.slots, bytes);
      }
    }
    schedules.push_back(std::move(relay.schedule));
  }
  return numbers.cost(std::move(schedules), machine);
}

std::vector<std::size_t> worth_trying(const std::vector<HaloCost>& costs, std::size_t most) {
  constexpr double margin = 2.0;
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return costs[i].time_s; });
  const HaloCost& best = costs[order.front()];
  std::erase_if(order, [&](std::size_t i) { return costs[i].low_s > margin * best.high_s; });
  if (order.size() > most) order.resize(most);
  return order;
}

}  // namespace rankwise
