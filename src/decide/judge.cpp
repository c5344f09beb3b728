#include "decide/judge.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "decide/representatives.hpp"

namespace rankwise {

std::vector<std::array<Index, 2>> fft_grids(const std::array<Index, 3>& n, Index complex_points, Index ranks) {
  std::vector<std::array<Index, 2>> grids;
  for (Index p1 = ranks; p1 >= 1; --p1) {
    if (ranks % p1 != 0 || p1 > std::min(n[0], n[1])) continue;
    if (ranks / p1 <= std::min(n[1], complex_points)) grids.push_back({p1, ranks / p1});
  }
  return grids;
}

namespace {

// One message from node to node, gathered and handed out within them: three exchanges. Nodes are taken as equally full.
double by_node_s(const Grid& grid, int axis, double block, const Placement& placement, const Machine& machine) {
  const auto& shape = grid.dims();
  // The ranks along the axis and their nodes, as the first of them sees it.
  const Index ranks = shape[static_cast<std::size_t>(axis)];
  const Index step = axis == 0 ? shape[1] : 1;
  std::vector<std::int32_t> nodes;
  for (Index i = 0; i < ranks; ++i) nodes.push_back(static_cast<std::int32_t>(placement.node(i * step)));
  std::vector<std::int32_t> distinct = nodes;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const auto many = static_cast<Index>(distinct.size());
  const Index each = (ranks + many - 1) / many;
  double time_s = 0.0;
  const auto add = [&](Index count, Index on_node, double bytes) {
    if (count < 2) return;
    const Placement there = Placement::blocked(count, on_node);
    const Grid row({count}, {false});
    const Walk walk = walk_of(transpose_program(row, {0}, false), Layout(row, there));
    time_s += walk.cost(std::max<Index>(1, static_cast<Index>(bytes)), machine).time_s();
  };
  const double on_all = block * static_cast<double>(ranks) / static_cast<double>(each);
  add(each, each, on_all);
  add(many, 1, block * static_cast<double>(each * each));
  add(each, each, on_all);
  return time_s;
}

// Of fields that are transformed together; bytes: of all of them.
double group_s(const FftExchanges& variant, double bytes, const Placement& placement, const Machine& machine) {
  const Grid grid({variant.grid[0], variant.grid[1]}, {false, false});
  const Layout layout(grid, placement);
  double time_s = 0.0;
  for (const int axis : {1, 0}) {
    const Index ranks = variant.grid[static_cast<std::size_t>(axis)];
    if (ranks == 1) continue;
    const auto slices = static_cast<double>(axis == 0 && variant.grid[1] == 1 ? variant.chunks : 1);
    const double block = bytes / static_cast<double>(ranks) / slices;
    if (variant.method == TransposeMethod::node_aware) {
      time_s += slices * by_node_s(grid, axis, block, placement, machine);
      continue;
    }
    const Walk walk = walk_of(transpose_program(grid, {axis}, variant.method == TransposeMethod::pairwise), layout);
    time_s += slices * walk.cost(std::max<Index>(1, static_cast<Index>(block)), machine).time_s();
  }
  return static_cast<double>(variant.passes) * time_s;
}

// Visits (how many, fields) of the groups of a batch.
template <class Visit>
void each_size(const FftExchanges& variant, Visit visit) {
  for (const auto& [groups, fields] : fft_groups(variant.batch, variant.together)) {
    visit(static_cast<double>(groups), static_cast<double>(fields));
  }
}

// Fields that travel together take memory for as many: beyond so much of it messages are long whatever they hold.
constexpr double most_together_bytes = 16e6;

}  // namespace

std::vector<std::pair<Index, Index>> fft_groups(Index batch, Index together) {
  const Index whole = std::min(together, batch);
  std::vector<std::pair<Index, Index>> groups{{batch / whole, whole}};
  if (batch % whole != 0) groups.emplace_back(1, batch % whole);
  return groups;
}

std::vector<Index> fft_together(Index ranks, Index batch, double field_bytes) {
  std::vector<Index> found{1};
  while (ranks > 1 && found.back() < batch && 2.0 * static_cast<double>(found.back()) * field_bytes <= most_together_bytes) {
    found.push_back(std::min(2 * found.back(), batch));
  }
  return found;
}

double fft_hidden(Index groups, Index chunks, Index in_flight) {
  const auto all = static_cast<double>(groups);
  return in_flight > 1 ? all - 1.0 : all * 2.0 / 3.0 * (1.0 - 1.0 / static_cast<double>(chunks));
}

double fft_s(const FftExchanges& variant, double bytes, double local_s, const Placement& placement, const Machine& machine) {
  double time_s = 0.0;
  double hidden_s = 0.0;
  each_size(variant, [&](double groups, double fields) {
    const double exchange_s = group_s(variant, fields * bytes, placement, machine);
    time_s += groups * (fields * local_s + exchange_s);
    const Index chunks = variant.grid[1] == 1 ? variant.chunks : 1;
    const double hidden = fft_hidden(static_cast<Index>(groups), chunks, variant.in_flight);
    if (placement.nodes() > 1) hidden_s += hidden * std::min(fields * local_s, exchange_s);
  });
  return time_s - hidden_s;
}

namespace {

// Which ranks of other nodes have to do with the node, and where all of them are: members first, in their order.
class Numbering {
 public:
  explicit Numbering(const std::vector<Index>& members) {
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
    for (const auto& [packet, node, bytes] : steps[s].inside) {
      add(of(packet.source), s, Op::Kind::send, packet.dest, bytes);
      add(of(packet.dest), s, Op::Kind::recv, packet.source, bytes);
    }
    for (const auto& [packet, node, bytes] : steps[s].out) {
      numbers.add(packet.dest, node);
      add(of(packet.source), s, Op::Kind::send, packet.dest, bytes);
    }
    for (const auto& [packet, node, bytes] : steps[s].in) {
      numbers.add(packet.source, node);
      add(of(packet.dest), s, Op::Kind::recv, packet.source, bytes);
    }
  }
  return numbers.cost(std::move(schedules), machine);
}

HaloCost cost_of_node_aware(NodeAwareKind kind, const NodeTraffic& traffic, const std::vector<NodeLeaders>& there,
                            const Machine& machine) {
  Numbering numbers(traffic.members);
  for (const NodeLeaders& leaders : there) {
    for (const Index rank : leaders.members) numbers.add(rank, leaders.node);
  }
  std::map<Packet, Index> bytes_of;
  for (const auto* messages : {&traffic.inside, &traffic.out, &traffic.in}) {
    for (const NodeTraffic::Message& message : *messages) bytes_of[message.packet] = message.bytes;
  }
  std::vector<RankSchedule> schedules;
  for (const Index rank : traffic.members) {
    NodeAwareSchedule part = node_aware_schedule(kind, rank, traffic, there);
    for (Step& step : part.schedule.steps) {
      for (Op& op : step.ops) {
        Index bytes = 0;
        for (const SlotRange& slot : op.slots) bytes += 8 + bytes_of.at(part.slots[static_cast<std::size_t>(slot.first)]);
        op.slots = {{0, bytes}};
        op.tag = 0;
        part.schedule.slots = std::max(part.schedule.slots, bytes);
      }
    }
    schedules.push_back(std::move(part.schedule));
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
