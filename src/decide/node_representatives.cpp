#include "decide/representatives.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/algorithms.hpp"

namespace rankwise {

namespace {

constexpr int crossing_tag = 1 << 20;  // of messages between nodes that stand for others: above all others

// What each message of the ranks of a node does.
class OfNode {
 public:
  explicit OfNode(const Placement& placement) : placement_(placement), spans_(3 + placement.levels().size()) {}

  // Adds the way a message takes to what was counted; returns its number.
  std::uint32_t add(Index rank, Index peer) {
    const Route route = route_between(placement_[rank], placement_[peer], placement_.levels());
    span_of_.push_back(route.span);
    links_.emplace_back(route.link);
    return static_cast<std::uint32_t>(links_.size() - 1);
  }
  // Likewise of one that another node sends or receives, of which nothing is counted.
  std::uint32_t add_elsewhere() {
    span_of_.emplace_back();
    links_.emplace_back(LinkClass::other_node);
    return static_cast<std::uint32_t>(links_.size() - 1);
  }

  [[nodiscard]] std::shared_ptr<const Census> census() const {
    auto census = std::make_shared<Census>();
    census->spans = spans_;
    census->links = links_;
    const auto units_of = [&](UnitCounts::Of of, std::size_t level, Index nodes) {
      UnitCounts unit{of, level, std::vector<std::uint32_t>(span_of_.size() * spans_, 0)};
      for (std::size_t i = 0; i < span_of_.size(); ++i) {
        if (span_of_[i]) unit.counts[i * spans_ + *span_of_[i]] = static_cast<std::uint32_t>(nodes);
      }
      census->units.push_back(std::move(unit));
    };
    units_of(UnitCounts::Of::node, 0, 1);
    // Nodes of a unit of switches are taken to do alike.
    const std::vector<Index>& levels = placement_.levels();
    for (std::size_t level = 0; level < levels.size(); ++level) units_of(UnitCounts::Of::level, level, levels[level]);
    return census;
  }

 private:
  const Placement& placement_;
  std::size_t spans_;
  std::vector<std::optional<std::size_t>> span_of_;  // of each message; none: it is elsewhere
  std::vector<std::optional<LinkClass>> links_;
};

// One part of an exchange that knows nodes, as the ranks of one carry it out. What goes to other nodes is taken for what comes
// from them: in each step the n-th message that leaves the node for the n-th that comes. Where one of them has more, further
// ranks have the other ends, one for each rank of the node.
template <class Make>
LinkedSchedules of_node(const NodeMap& map, Index node, OfNode& counted, Make&& make) {
  LinkedSchedules part;
  std::unordered_map<Index, Index> number_of;  // of the ranks that are walked
  for (Index i = 0; i < map.members(node); ++i) number_of.emplace(map.member(node, i), i);
  const auto members = static_cast<std::size_t>(map.members(node));
  struct Crossing {
    std::size_t number;
    Op* op;
  };
  for (Index i = 0; i < map.members(node); ++i) {
    const Index rank = map.member(node, i);
    RankSchedule& schedule = part.schedules.emplace_back(make(rank));
    for (Step& step : schedule.steps) {
      for (Op& op : step.ops) {
        part.partners.push_back(op.moves() ? counted.add(rank, op.peer) : 0);
      }
    }
  }
  const std::size_t steps = part.schedules.front().steps.size();
  std::vector<RankSchedule> elsewhere(members);
  for (RankSchedule& schedule : elsewhere) schedule.steps.resize(steps);
  for (std::size_t s = 0; s < steps; ++s) {
    std::vector<Crossing> out;
    std::vector<Crossing> in;
    for (std::size_t own = 0; own < part.schedules.size(); ++own) {
      for (Op& op : part.schedules[own].steps[s].ops) {
        if (!op.moves()) {
          op.peer = static_cast<Index>(own);
        } else if (const auto known = number_of.find(op.peer); known != number_of.end()) {
          op.peer = known->second;
        } else {
          (op.kind == Op::Kind::send ? out : in).push_back({own, &op});
        }
      }
    }
    for (std::size_t i = 0; i < std::max(out.size(), in.size()); ++i) {
      if (i < out.size() && i < in.size()) {
        out[i].op->peer = static_cast<Index>(in[i].number);
        in[i].op->peer = static_cast<Index>(out[i].number);
        out[i].op->tag = in[i].op->tag = crossing_tag + static_cast<int>(i);
        continue;
      }
      Crossing& alone = i < out.size() ? out[i] : in[i];
      alone.op->tag = crossing_tag + static_cast<int>(i);
      Op& other = elsewhere[alone.number].steps[s].ops.emplace_back(*alone.op);
      other.kind = alone.op->kind == Op::Kind::send ? Op::Kind::recv : Op::Kind::send;
      other.after.clear();
      other.peer = static_cast<Index>(alone.number);
      alone.op->peer = static_cast<Index>(members + alone.number);
    }
  }
  const auto is_idle = [](const RankSchedule& schedule) { return schedule.operations() == 0; };
  if (std::ranges::all_of(elsewhere, is_idle)) return part;
  for (RankSchedule& schedule : elsewhere) {
    schedule.slots = part.schedules.front().slots;
    for (Index i = schedule.operations(); i > 0; --i) part.partners.push_back(counted.add_elsewhere());
    part.schedules.push_back(std::move(schedule));
  }
  return part;
}

}  // namespace

Index operations_of_nodes(const ExchangeSpec& spec) {
  const NodeMap& map = spec.nodes;
  const Index middle = map.node_of(spec.grid.middle());
  Index of_one = 0;
  for (Index i = 0; i < map.members(middle); ++i) of_one += make_schedule(spec, map.member(middle, i)).operations();
  return of_one * (map.node_of(map.ranks() - 1) + 1);
}

namespace {

// Of the nodes around the middle of the grid, which need not do the same, the one of the rank that has most to do.
struct BusiestNode {
  explicit BusiestNode(const ExchangeSpec& spec) {
    const NodeMap& map = spec.nodes;
    const Index middle = map.node_of(spec.grid.middle());
    const Index last = map.node_of(map.ranks() - 1);
    Index most = -1;
    for (Index one = std::max<Index>(0, middle - 1); one <= std::min(last, middle + 1); ++one) {
      std::vector<RankSchedule> made;
      Index operations = 0;  // of the rank that has most
      for (Index i = 0; i < map.members(one); ++i) {
        made.push_back(make_schedule(spec, map.member(one, i)));
        operations = std::max(operations, made.back().operations());
      }
      if (made.empty() || operations <= most) continue;
      most = operations;
      node = one;
      schedules = std::move(made);
    }
  }
  Index node = 0;
  std::vector<RankSchedule> schedules;  // of its ranks
};

}  // namespace

Walk walk_of_nodes(const ExchangeSpec& spec, const Placement& placement) {
  const NodeMap& map = spec.nodes;
  BusiestNode busiest(spec);
  const Index node = busiest.node;
  OfNode counted(placement);
  std::vector<LinkedSchedules> parts;
  auto next = busiest.schedules.begin();
  parts.push_back(of_node(map, node, counted, [&next](Index) { return std::move(*next++); }));
  if (includes_reduce(spec)) {
    parts.push_back(of_node(map, node, counted, [&spec](Index rank) { return make_reduce(spec, rank); }));
  }
  const auto census = counted.census();
  for (LinkedSchedules& part : parts) part.census = census;
  return Walk(spec.mode, std::move(parts), Walk::Of::node);
}

Walk walk_of_node(const NodeMap& map, const Placement& placement, SendMode mode,
                  const std::function<RankSchedule(Index rank)>& make) {
  OfNode counted(placement);
  std::vector<LinkedSchedules> parts;
  parts.push_back(of_node(map, 0, counted, make));
  parts.front().census = counted.census();
  return Walk(mode, std::move(parts));
}

NodeMap nodes_of(const Placement& placement) {
  if (placement.is_blocked()) return NodeMap::blocked(placement.ranks(), placement.ranks_per_node());
  std::vector<Index> node_of_rank;
  for (Index rank = 0; rank < placement.ranks(); ++rank) node_of_rank.push_back(placement.node(rank));
  return NodeMap::of(node_of_rank);
}

}  // namespace rankwise
