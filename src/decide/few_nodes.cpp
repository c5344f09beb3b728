#include "decide/few_nodes.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decide/few.hpp"
#include "schedule/algorithms.hpp"

namespace rankwise {

namespace {

// Nodes differ where they are no boxes of the grid, so that more of them are walked.
constexpr Index most_operations_of_nodes = 6000;
constexpr int crossing_tag = 1 << 20;  // of messages between nodes that stand for others: above all others

// Ranks of whole nodes, and what each of their messages does.
class OfNodes {
 public:
  explicit OfNodes(const Placement& placement) : placement_(placement), spans_(3 + placement.levels().size()) {}

  // Adds the way a message takes to what was counted of a node; returns its number.
  std::uint32_t add(Index rank, Index peer, std::size_t node) {
    const Location own = placement_[rank];
    const Location its = placement_[peer];
    const LinkClass link = link_between(own, its);
    const std::size_t span = link == LinkClass::other_node     ? between_nodes + placement_.levels_between(own.node, its.node)
                             : link == LinkClass::other_socket ? std::size_t{in_node}
                                                               : std::size_t{in_socket};
    messages_.push_back({node, span});
    links_.emplace_back(link);
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }

  [[nodiscard]] std::shared_ptr<const Census> census(std::size_t nodes) const {
    auto census = std::make_shared<Census>();
    census->spans = spans_;
    census->links = links_;
    const std::vector<std::uint32_t> nothing(messages_.size() * spans_, 0);
    for (std::size_t node = 0; node < nodes; ++node) census->units.push_back({UnitCounts::Of::node, 0, nothing});
    // Nodes of a unit of switches are taken to do alike.
    for (std::size_t level = 0; level < placement_.levels().size(); ++level) {
      census->units.push_back({UnitCounts::Of::level, level, nothing});
    }
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const auto& [node, span] = messages_[i];
      census->units[node].counts[i * spans_ + span] = 1;
      for (std::size_t level = 0; node == 0 && level < placement_.levels().size(); ++level) {
        census->units[nodes + level].counts[i * spans_ + span] = static_cast<std::uint32_t>(placement_.levels()[level]);
      }
    }
    return census;
  }

 private:
  struct Message {
    std::size_t node;
    std::size_t span;
  };
  const Placement& placement_;
  std::size_t spans_;
  std::vector<Message> messages_;
  std::vector<std::optional<LinkClass>> links_;
};

// One part of an exchange that knows nodes, as the ranks of some nodes carry it out. What goes to other nodes is taken for
// what comes from them: in each step the n-th message that leaves a node for the n-th that comes.
template <class Make>
LinkedSchedules of_nodes(const NodeMap& map, const std::vector<Index>& nodes, OfNodes& counted, Make&& make) {
  LinkedSchedules part;
  std::unordered_map<Index, Index> number_of;  // of the ranks that are walked
  for (const Index node : nodes) {
    for (Index i = 0; i < map.members(node); ++i) number_of.emplace(map.member(node, i), number_of.size());
  }
  struct Crossing {
    std::size_t number;
    Op* op;
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::size_t first = part.schedules.size();
    for (Index i = 0; i < map.members(nodes[n]); ++i) {
      const Index rank = map.member(nodes[n], i);
      RankSchedule& schedule = part.schedules.emplace_back(make(rank));
      for (Step& step : schedule.steps) {
        for (Op& op : step.ops) {
          const bool moves = op.kind == Op::Kind::send || op.kind == Op::Kind::recv;
          part.partners.push_back(moves ? counted.add(rank, op.peer, n) : 0);
        }
      }
    }
    for (std::size_t s = 0; s < part.schedules[first].steps.size(); ++s) {
      std::vector<Crossing> out;
      std::vector<Crossing> in;
      for (std::size_t own = first; own < part.schedules.size(); ++own) {
        for (Op& op : part.schedules[own].steps[s].ops) {
          if (op.kind != Op::Kind::send && op.kind != Op::Kind::recv) {
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
        // Nobody to meet: at a border a node may send more than it gets.
        Crossing& alone = i < out.size() ? out[i] : in[i];
        *alone.op = Op{Op::Kind::copy, static_cast<Index>(alone.number), 0, alone.op->slots, alone.op->slots, alone.op->after};
      }
    }
  }
  return part;
}

}  // namespace

Walk walk_of_nodes(const ExchangeSpec& spec, const Placement& placement) {
  const NodeMap& map = spec.nodes;
  const Index count = map.node_of(map.ranks() - 1) + 1;
  const Index middle = map.node_of(map.ranks() / 2);
  Index of_one = 0;
  for (Index i = 0; i < map.members(middle); ++i) of_one += make_schedule(spec, map.member(middle, i)).operations();
  // Nodes differ where they are no boxes of the grid.
  if (of_one <= most_operations_of_nodes / count) return Walk(spec).at(placement);
  const std::vector<Index> nodes{middle};
  OfNodes counted(placement);
  std::vector<LinkedSchedules> parts;
  parts.push_back(of_nodes(map, nodes, counted, [&spec](Index rank) { return make_schedule(spec, rank); }));
  if (includes_reduce(spec)) {
    parts.push_back(of_nodes(map, nodes, counted, [&spec](Index rank) { return make_reduce(spec, rank); }));
  }
  const auto census = counted.census(nodes.size());
  for (LinkedSchedules& part : parts) part.census = census;
  return Walk(spec.mode, std::move(parts));
}

Walk walk_of_node(const NodeMap& map, const Placement& placement, SendMode mode,
                  const std::function<RankSchedule(Index rank)>& make) {
  OfNodes counted(placement);
  std::vector<LinkedSchedules> parts;
  parts.push_back(of_nodes(map, {0}, counted, make));
  parts.front().census = counted.census(1);
  return Walk(mode, std::move(parts));
}

NodeMap nodes_of(const Placement& placement) {
  if (placement.is_blocked()) return NodeMap::blocked(placement.ranks(), placement.ranks_per_node());
  std::vector<Index> node_of_rank;
  for (Index rank = 0; rank < placement.ranks(); ++rank) node_of_rank.push_back(placement.node(rank));
  return NodeMap::of(node_of_rank);
}

}  // namespace rankwise
