#include "schedule/collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "schedule/check.hpp"

namespace rankwise {

namespace {

// What the blocks of a kind are, which ranks have them at first, and which must have them (or their sums) in the end.
struct CollectiveKind {
  enum class Data : std::uint8_t { vector, by_rank, by_pair };
  enum class Who : std::uint8_t { root, all, own, lower };  // own: a rank its own blocks; lower: of lower ranks and itself
  std::string_view id;
  Data data;
  Who from;
  Who to;
  bool sums;
};

using Data = CollectiveKind::Data;
using Who = CollectiveKind::Who;

constexpr std::array<CollectiveKind, 10> collective_kinds{{
    {"bcast", Data::vector, Who::root, Who::all, false},
    {"reduce", Data::vector, Who::all, Who::root, true},
    {"allreduce", Data::vector, Who::all, Who::all, true},
    {"allgather", Data::by_rank, Who::own, Who::all, false},
    {"alltoall", Data::by_pair, Who::own, Who::own, false},
    {"reduce_scatter", Data::vector, Who::all, Who::own, true},
    {"gather", Data::by_rank, Who::own, Who::root, false},
    {"scatter", Data::by_rank, Who::root, Who::own, false},
    {"barrier", Data::vector, Who::all, Who::all, true},
    {"scan", Data::vector, Who::all, Who::lower, true},
}};

std::string_view plain(std::string_view kind) { return kind == "reduce_scatter_block" ? "reduce_scatter" : kind; }

const CollectiveKind& kind_of(std::string_view id) {
  const auto* found = std::ranges::find(collective_kinds, plain(id), &CollectiveKind::id);
  if (found != collective_kinds.end()) return *found;
  std::string ids;
  for (const CollectiveKind& kind : collective_kinds) ids += (ids.empty() ? "" : ", ") + std::string(kind.id);
  invalid("collective '" + std::string(id.substr(0, 40)) + "' is unknown: choose one of " + ids);
}

Index leaders_of(const CollectiveSpec& spec) {
  Index most = 0;
  for (Index rank = 0; rank < spec.ranks; ++rank) most = std::max(most, spec.nodes.node_of(rank) + 1);
  return most;
}

// Into how many parts a spec's blocks are divided, and each of these into how many pieces.
std::pair<Index, Index> division(const CollectiveSpec& spec) {
  const CollectiveAlgorithm& algorithm = collective_algorithm(spec.kind, spec.algorithm);
  const CollectiveKind& kind = kind_of(spec.kind);
  if (kind.data == Data::by_rank) return {spec.ranks, 1};
  if (kind.data == Data::by_pair) return {spec.ranks * spec.ranks, 1};
  const bool in_nodes = algorithm.needs == Needs::nodes;
  const Divides divides = in_nodes ? collective_algorithm(spec.kind, spec.between).divides : algorithm.divides;
  const Index members = in_nodes ? leaders_of(spec) : spec.ranks;
  const Index parts = divides == Divides::nothing  ? 1
                      : divides == Divides::halves ? 2
                      : divides == Divides::ranks  ? members
                                                   : power_below(members);
  const Index part = (spec.bytes + parts - 1) / parts;
  const bool whole = !algorithm.segments || spec.segment_bytes <= 0 || part <= spec.segment_bytes;
  return {parts, whole ? 1 : (part + spec.segment_bytes - 1) / spec.segment_bytes};
}

}  // namespace

Blocks Team::all() const {
  Blocks all;
  for (const Blocks& piece : pieces) {
    for (const SlotRange& range : piece) join_slots(all, range);
  }
  return all;
}

Blocks Team::parts(Index first, Index count) const {
  const auto size = static_cast<Index>(part.size());
  Blocks found;
  for (Index i = 0; i < count; ++i) {
    for (const SlotRange& range : part[static_cast<std::size_t>((first + i) % size)]) join_slots(found, range);
  }
  return found;
}

void Rounds::send(const Team& team, Index from, Index to, Blocks blocks, bool adds, Index later) {
  last_ = std::max(last_, now_ + later);
  messages_.push_back({now_ + later, team.ranks[static_cast<std::size_t>(from)], team.ranks[static_cast<std::size_t>(to)],
                       std::move(blocks), adds});
}

void Rounds::reverse(std::size_t mark, Index first, bool adds) {
  Index last = first - 1;
  for (std::size_t i = mark; i < messages_.size(); ++i) last = std::max(last, messages_[i].round);
  for (std::size_t i = mark; i < messages_.size(); ++i) {
    CollectiveMessage& message = messages_[i];
    message.round = first + last - message.round;
    std::swap(message.from, message.to);
    message.adds = adds;
  }
  std::reverse(messages_.begin() + static_cast<std::ptrdiff_t>(mark), messages_.end());
  now_ = last + 1;
}

const CollectiveAlgorithm& collective_algorithm(std::string_view kind, std::string_view id) {
  std::string ids;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (algorithm.kind != kind_of(kind).id) continue;
    if (algorithm.id == id) return algorithm;
    ids += (ids.empty() ? "" : ", ") + std::string(algorithm.id);
  }
  invalid("algorithm '" + std::string(id.substr(0, 40)) + "' of " + std::string(kind) + " is unknown: choose one of " + ids);
}

std::string why_not(const CollectiveSpec& spec) {
  const CollectiveAlgorithm& algorithm = collective_algorithm(spec.kind, spec.algorithm);
  const std::string ranks = std::to_string(spec.ranks);
  if (spec.ranks < 1) return ranks + " ranks are too few: give at least 1";
  if (spec.root < 0 || spec.root >= spec.ranks) return "there is no root " + std::to_string(spec.root) + " among " + ranks;
  if (spec.bytes < 0 || spec.segment_bytes < 0) return "a size is below 0";
  const Needs needs = algorithm.needs;
  if (needs == Needs::power_of_two && !std::has_single_bit(static_cast<std::uint64_t>(spec.ranks))) {
    return std::string(algorithm.id) + " needs a power of two of ranks, not " + ranks;
  }
  if (needs == Needs::even_ranks && spec.ranks % 2 != 0) {
    return std::string(algorithm.id) + " needs an even number of ranks, not " + ranks;
  }
  if (needs == Needs::nodes) {
    if (spec.nodes.ranks() != spec.ranks) return std::string(algorithm.id) + " needs to know the node of each rank";
    if (collective_algorithm(spec.kind, spec.between).needs == Needs::nodes) return "node-aware is not among leaders";
    CollectiveSpec among = spec;
    among.algorithm = spec.between;
    among.ranks = leaders_of(spec);
    among.root = 0;
    return why_not(among);
  }
  const auto [parts, pieces] = division(spec);
  if (!spec.counts.empty() && static_cast<Index>(spec.counts.size()) != parts * pieces) {
    return std::to_string(spec.counts.size()) + " counts are not of " + std::to_string(parts * pieces) + " blocks";
  }
  return "";
}

Index CollectivePlan::bytes(const CollectiveMessage& message) const {
  Index bytes = 0;
  for (const auto& [first, count] : message.blocks) {
    bytes += offset[static_cast<std::size_t>(first + count)] - offset[static_cast<std::size_t>(first)];
  }
  return bytes;
}

CollectivePlan plan_collective(const CollectiveSpec& spec) {
  if (const std::string why = why_not(spec); !why.empty()) invalid(why);
  const auto [parts, pieces] = division(spec);
  const CollectiveKind& kind = kind_of(spec.kind);
  CollectivePlan plan;
  plan.offset.assign(static_cast<std::size_t>(parts * pieces + 1), 0);
  for (std::size_t i = 0; i + 1 < plan.offset.size(); ++i) {
    const auto at = static_cast<Index>(i) + 1;
    plan.offset[i + 1] = !spec.counts.empty()        ? plan.offset[i] + spec.counts[i]
                         : kind.data != Data::vector ? at * spec.bytes
                         : parts == 1                ? std::min(pieces == 1 ? spec.bytes : at * spec.segment_bytes, spec.bytes)
                                                     : spec.bytes * at / (parts * pieces);
  }
  Team team;
  const auto count = static_cast<std::size_t>(spec.ranks);
  for (std::size_t v = 0; v < count; ++v) {
    const Index rank = (spec.root + static_cast<Index>(v)) % spec.ranks;
    team.ranks.push_back(rank);
    const bool by_rank = kind.data == Data::by_rank || kind.to == Who::own;
    if (static_cast<Index>(v) < parts) {
      team.part.push_back({{(by_rank && parts == spec.ranks ? rank : static_cast<Index>(v)) * pieces, pieces}});
    }
  }
  while (static_cast<Index>(team.part.size()) < parts && kind.data == Data::vector) {  // halves of a rank alone
    team.part.push_back({{static_cast<Index>(team.part.size()) * pieces, pieces}});
  }
  const bool together = parts > 1 || kind.data != Data::vector;
  for (Index k = 0; !together && k < pieces; ++k) team.pieces.push_back({{k, 1}});
  if (together) team.pieces.push_back({{0, parts * pieces}});
  Rounds rounds;
  collective_algorithm(spec.kind, spec.algorithm).make(rounds, team, spec);
  plan.messages = std::move(rounds.messages());
  std::ranges::stable_sort(plan.messages, {}, &CollectiveMessage::round);
  plan.rounds = plan.messages.empty() ? 0 : plan.messages.back().round + 1;
  return plan;
}

namespace {

bool meet(const Blocks& a, const Blocks& b) {
  return std::ranges::any_of(a, [&](const SlotRange& one) {
    return std::ranges::any_of(b, [&](const SlotRange& other) {
      return one.first < other.first + other.count && other.first < one.first + one.count;
    });
  });
}

// Lets what is to be added land apart where the step still sends from its place, or several receives add, and be added later.
void land_apart(RankSchedule& schedule, Index blocks) {
  for (Step& step : schedule.steps) {
    Index spare = blocks;
    const std::size_t messages = step.ops.size();
    for (std::size_t i = 0; i < messages; ++i) {
      if (step.ops[i].kind != Op::Kind::recv || !step.ops[i].adds) continue;
      std::vector<std::size_t> before{i};
      for (std::size_t j = 0; j < messages; ++j) {
        if (step.ops[j].kind == Op::Kind::send && meet(step.ops[i].slots, step.ops[j].slots)) before.push_back(j);
      }
      if (before.size() == 1) continue;
      const Index count = step.ops[i].blocks();
      Op add{Op::Kind::copy, 0, 0, std::exchange(step.ops[i].slots, {{spare, count}}), {{spare, count}}, before, 0.0, true};
      step.ops[i].adds = false;
      step.ops.push_back(std::move(add));
      spare += count;
    }
    schedule.slots = std::max(schedule.slots, spare);
  }
}

}  // namespace

std::vector<RankSchedule> collective_schedules(const CollectiveSpec& spec, bool in_bytes) {
  const CollectivePlan plan = plan_collective(spec);
  std::vector<RankSchedule> schedules(static_cast<std::size_t>(spec.ranks));
  for (RankSchedule& schedule : schedules) schedule.steps.resize(static_cast<std::size_t>(plan.rounds));
  for (const CollectiveMessage& message : plan.messages) {
    const Blocks slots = in_bytes ? Blocks{{0, plan.bytes(message)}} : message.blocks;
    const auto add = [&](Index rank, Op op) {
      RankSchedule& schedule = schedules[static_cast<std::size_t>(rank)];
      for (const SlotRange& range : op.slots) schedule.slots = std::max(schedule.slots, range.first + range.count);
      schedule.steps[static_cast<std::size_t>(message.round)].ops.push_back(std::move(op));
    };
    add(message.from, {Op::Kind::send, message.to, 0, slots, {}, {}});
    add(message.to, {Op::Kind::recv, message.from, 0, slots, {}, {}, 0.0, message.adds});
  }
  if (in_bytes) return schedules;
  for (RankSchedule& schedule : schedules) {
    schedule.slots = static_cast<Index>(plan.offset.size()) - 1;
    land_apart(schedule, schedule.slots);
  }
  return schedules;
}

std::vector<std::string> check_collective(const CollectiveSpec& spec, const std::vector<RankSchedule>& schedules) {
  const CollectiveKind& kind = kind_of(spec.kind);
  const auto [parts, pieces] = division(spec);
  const Index blocks = parts * pieces;
  // Whose block it is, where blocks are of ranks; of a pair: the one whose it is first, or in the end.
  const auto owner = [&](Index block, bool at_first) {
    return kind.data == Data::by_pair ? (at_first ? block / spec.ranks : block % spec.ranks)
           : pieces == 1 || parts > 1 ? block / pieces
                                      : block;
  };
  const auto has = [&](Who who, Index rank, Index block, bool at_first) {
    return who == Who::root ? rank == spec.root : who == Who::own ? owner(block, at_first) == rank : true;
  };
  std::vector<std::vector<SlotOf>> held;
  std::vector<ExpectedSum> expected;
  for (Index rank = 0; rank < spec.ranks; ++rank) {
    const RankSchedule& schedule = schedules[static_cast<std::size_t>(rank)];
    std::vector<SlotOf>& of_rank = held.emplace_back(static_cast<std::size_t>(std::max(schedule.slots, blocks)), SlotOf{-1, 0});
    for (Index block = 0; block < blocks; ++block) {
      if (has(kind.from, rank, block, true)) of_rank[static_cast<std::size_t>(block)] = {rank, block};
      if (!has(kind.to, rank, block, false)) continue;
      ExpectedSum& sum = expected.emplace_back(ExpectedSum{rank, block, {}, kind.id != "barrier"});
      for (Index from = 0; from <= (kind.to == Who::lower ? rank : spec.ranks - 1); ++from) {
        if (has(kind.from, from, block, true)) sum.from.push_back({from, block});
      }
    }
  }
  return check_sums(schedules, held, expected);
}

}  // namespace rankwise
