#include "schedule/schedule.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "grid/names.hpp"
#include "schedule/algorithms.hpp"
#include "schedule/teams.hpp"

namespace rankwise {

namespace {

constexpr std::array<Name<SendMode>, 5> send_modes{{{"ssend", SendMode::ssend},
                                                    {"send", SendMode::send},
                                                    {"isend", SendMode::isend},
                                                    {"isend-self", SendMode::isend_self},
                                                    {"persistent", SendMode::persistent}}};
constexpr std::array<Name<Shell>, 3> shells{
    {{"full", Shell::full}, {"eighth", Shell::eighth}, {"all-pairs", Shell::all_pairs}}};
constexpr std::array<Name<TeamBoxes>, 2> team_boxes_names{
    {{"pooled", TeamBoxes::pooled}, {"replicated", TeamBoxes::replicated}}};

void check_but_nodes(const ExchangeSpec& spec);

void check_rank(const ExchangeSpec& spec, Index rank) {
  if (rank >= 0 && rank < spec.ranks()) return;
  invalid("rank " + std::to_string(rank) + " is outside the grid of " + std::to_string(spec.ranks()) + " ranks");
}

}  // namespace

SendMode parse_send_mode(const std::string& name) { return parsed(send_modes, name, "send mode"); }
std::string to_string(SendMode mode) { return named(send_modes, mode); }
std::vector<std::string> send_mode_ids() { return ids(send_modes); }
Shell parse_shell(const std::string& name) { return parsed(shells, name, "shell"); }
std::string to_string(Shell shell) { return named(shells, shell); }
std::vector<std::string> shell_ids() { return ids(shells); }
TeamBoxes parse_team_boxes(const std::string& name) { return parsed(team_boxes_names, name, "team boxes"); }
std::string to_string(TeamBoxes boxes) { return named(team_boxes_names, boxes); }
std::vector<std::string> team_boxes_ids() { return ids(team_boxes_names); }

Index count_slots(const std::vector<SlotRange>& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), Index{0},
                         [](Index sum, const SlotRange& range) { return sum + range.count; });
}

void join_slots(std::vector<SlotRange>& ranges, const SlotRange& next) {
  if (!ranges.empty() && ranges.back().first + ranges.back().count == next.first) {
    ranges.back().count += next.count;
  } else {
    ranges.push_back(next);
  }
}

std::size_t Op::total(const std::vector<std::size_t>& of_slot) const {
  std::size_t all = 0;
  each_slot(slots, [&](Index slot) { all += of_slot[static_cast<std::size_t>(slot)]; });
  return all;
}

bool RankSchedule::adds() const { return std::ranges::any_of(ops(), &Op::adds); }

Index RankSchedule::places() const { return place.empty() ? slots : 1 + *std::max_element(place.begin(), place.end()); }

Index RankSchedule::place_of(Index slot) const { return place.empty() ? slot : place[static_cast<std::size_t>(slot)]; }

Index RankSchedule::operations() const {
  Index count = 0;
  for (const Op& op : ops()) count += op.times;
  return count;
}

Index RankSchedule::messages_sent() const {
  Index messages = 0;
  for (const Op& op : ops()) messages += op.kind == Op::Kind::send ? 1 : 0;
  return messages;
}

Index RankSchedule::blocks_sent() const {
  Index blocks = 0;
  for (const Op& op : ops()) blocks += op.kind == Op::Kind::send ? op.blocks() : 0;
  return blocks;
}

std::size_t RankSchedule::sent(const std::vector<std::size_t>& of_slot) const {
  std::size_t all = 0;
  for (const Op& op : ops()) all += op.kind == Op::Kind::send ? op.total(of_slot) : 0;
  return all;
}

ExchangeSpec make_spec(const std::string& algorithm, SendMode mode, std::vector<Index> dims, std::vector<bool> periodic,
                       const std::vector<int>& cutoff, Shell shell, Index replication, TeamBoxes team_boxes) {
  if (shell == Shell::all_pairs) periodic.assign(dims.size(), true);
  Grid grid(std::move(dims), std::move(periodic));
  Window window = shell == Shell::all_pairs ? Window::all_pairs(grid) : Window(cutoff, shell);
  ExchangeSpec spec{algorithm, mode, std::move(grid), std::move(window), replication, team_boxes};
  check_but_nodes(spec);
  return spec;
}

std::string why_not(const std::string& algorithm, SendMode mode, Shell shell) {
  return std::string(exchange_algorithm(algorithm).why_not(mode, shell));
}

void check_spec(const ExchangeSpec& spec) {
  check_but_nodes(spec);
  if (!exchange_algorithm(spec.algorithm).needs_nodes) return;
  if (!spec.nodes.is_known()) {
    invalid(spec.algorithm + " needs to know which ranks share a node: say how many do, or choose an algorithm that does not");
  }
  if (spec.nodes.ranks() != spec.ranks()) {
    invalid("the nodes have " + std::to_string(spec.nodes.ranks()) + " ranks, the grid " + std::to_string(spec.ranks()) +
            ": give one node a rank");
  }
}

namespace {

void check_but_nodes(const ExchangeSpec& spec) {
  const Shell shell = spec.window.shell();
  if (const std::string reason = why_not(spec.algorithm, spec.mode, shell); !reason.empty()) invalid(reason);
  if (spec.window.ndim() != spec.grid.ndim()) {
    invalid("the cutoff has " + std::to_string(spec.window.ndim()) + " axes, the grid " + std::to_string(spec.grid.ndim()) +
            ": give one cutoff an axis");
  }
  if (exchange_algorithm(spec.algorithm).has_teams) {
    (void)Teams(spec);
  } else if (spec.replication != 1 || spec.team_boxes != TeamBoxes::pooled) {
    invalid("replication " + std::to_string(spec.replication) + " needs teams, which " + spec.algorithm +
            " does not have: choose team-shift, or replication 1");
  }
}

}  // namespace

RankSchedule make_schedule(const ExchangeSpec& spec, Index rank) {
  check_spec(spec);
  check_rank(spec, rank);
  return exchange_algorithm(spec.algorithm).make(spec, rank);
}

RankSchedule make_reduce(const ExchangeSpec& spec, Index rank) {
  check_spec(spec);
  check_rank(spec, rank);
  return exchange_algorithm(spec.algorithm).make_reduce(spec, rank);
}

RankSchedule make_alike(const ExchangeSpec& spec, Index rank) {
  const ExchangeAlgorithm& algorithm = exchange_algorithm(spec.algorithm);
  if (algorithm.make_alike == nullptr || is_blocking(spec.mode)) return make_schedule(spec, rank);
  check_spec(spec);
  check_rank(spec, rank);
  return algorithm.make_alike(spec, rank);
}

RankSchedule make_alike_reduce(const ExchangeSpec& spec, Index rank) {
  const bool reverses = exchange_algorithm(spec.algorithm).make_reduce == reversed_import;
  return reverses ? reversed(make_alike(spec, rank), spec.mode) : make_reduce(spec, rank);
}

bool includes_reduce(const ExchangeSpec& spec) {
  return spec.window.shell() == Shell::eighth || exchange_algorithm(spec.algorithm).has_teams;
}

namespace {

std::vector<RankSchedule> of_all_ranks(const ExchangeSpec& spec, RankSchedule (*make)(const ExchangeSpec&, Index)) {
  check_spec(spec);
  std::vector<RankSchedule> schedules;
  schedules.reserve(static_cast<std::size_t>(spec.ranks()));
  for (Index rank = 0; rank < spec.ranks(); ++rank) schedules.push_back(make(spec, rank));
  return schedules;
}

}  // namespace

std::vector<RankSchedule> make_schedules(const ExchangeSpec& spec) { return of_all_ranks(spec, make_schedule); }
std::vector<RankSchedule> make_reduces(const ExchangeSpec& spec) { return of_all_ranks(spec, make_reduce); }

Index rank_at_offset(const Grid& grid, Index rank, const Coords& offset, int direction) {
  return grid.cell_at_offset(grid.coords(rank), offset, direction);
}

std::vector<Index> origins(const ExchangeSpec& spec, Index rank) {
  return exchange_algorithm(spec.algorithm).origins(spec, rank);
}

Index own_slot(const ExchangeSpec& spec, Index rank) { return exchange_algorithm(spec.algorithm).own_slot(spec, rank); }

std::vector<SlotOf> contributions_to(const ExchangeSpec& spec, Index rank) {
  return exchange_algorithm(spec.algorithm).contributions_to(spec, rank);
}

void chain_sends(Step& step, SendMode mode) {
  if (!is_blocking(mode)) return;
  std::size_t previous = step.ops.size();
  for (std::size_t i = 0; i < step.ops.size(); ++i) {
    if (step.ops[i].kind != Op::Kind::send) continue;
    if (previous < step.ops.size()) step.ops[i].after.push_back(previous);
    previous = i;
  }
}

RankSchedule reversed(const RankSchedule& schedule, SendMode mode) {
  RankSchedule back;
  back.slots = schedule.slots;
  back.place = schedule.place;
  back.passing = schedule.passing;
  back.neighborhood = schedule.neighborhood;
  for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step) {
    Step turned;
    for (const Op& op : step->ops) {
      Op other = op;
      other.after.clear();
      if (op.kind == Op::Kind::send) other.kind = Op::Kind::recv;
      if (op.kind == Op::Kind::recv) other.kind = Op::Kind::send;
      if (op.kind == Op::Kind::copy) std::swap(other.slots, other.source);
      other.adds = other.kind == Op::Kind::recv || other.kind == Op::Kind::copy;
      turned.ops.push_back(std::move(other));
    }
    for (std::size_t i = 0; i < step->ops.size(); ++i) {
      for (const std::size_t before : step->ops[i].after) {
        // The order of blocking sends among themselves is made again.
        const bool chained = step->ops[i].kind == Op::Kind::send && step->ops[before].kind == Op::Kind::send;
        if (!chained) turned.ops[before].after.push_back(i);
      }
    }
    chain_sends(turned, mode);
    back.steps.push_back(std::move(turned));
  }
  return back;
}

NodeMap NodeMap::blocked(Index ranks, Index ranks_per_node) {
  if (ranks_per_node < 1) invalid(std::to_string(ranks_per_node) + " ranks a node are too few: give at least 1");
  NodeMap map;
  map.ranks_ = ranks;
  map.per_node_ = ranks_per_node;
  return map;
}

NodeMap NodeMap::of(const std::vector<Index>& node_of_rank) {
  auto table = std::make_shared<Table>();
  std::map<Index, Index> number;
  for (const Index id : node_of_rank) {
    const auto [known, added] = number.try_emplace(id, static_cast<Index>(table->members.size()));
    if (added) table->members.emplace_back();
    table->members[static_cast<std::size_t>(known->second)].push_back(static_cast<Index>(table->node_of_rank.size()));
    table->node_of_rank.push_back(known->second);
  }
  NodeMap map;
  map.ranks_ = static_cast<Index>(node_of_rank.size());
  map.table_ = std::move(table);
  return map;
}

Index NodeMap::node_of(Index rank) const {
  return table_ ? table_->node_of_rank[static_cast<std::size_t>(rank)] : rank / per_node_;
}

Index NodeMap::members(Index node) const {
  if (table_) return static_cast<Index>(table_->members[static_cast<std::size_t>(node)].size());
  return std::min(per_node_, ranks_ - node * per_node_);
}

Index NodeMap::member(Index node, Index i) const {
  return table_ ? table_->members[static_cast<std::size_t>(node)][static_cast<std::size_t>(i)] : node * per_node_ + i;
}

namespace {

std::vector<Index> layers(const std::vector<int>& cutoff) {
  if (cutoff.empty()) invalid("the cutoff has no axis: give the number of layers an axis");
  for (const int k : cutoff) {
    if (k < 1) invalid("cutoff " + std::to_string(k) + " is below 1: give at least one layer");
  }
  return {cutoff.begin(), cutoff.end()};
}

}  // namespace

Window::Window(const std::vector<int>& cutoff, Shell shell)
    : Window(shell == Shell::eighth ? std::vector<Index>(cutoff.size(), 0) : layers(cutoff), layers(cutoff), shell) {}

Window Window::all_pairs(const Grid& grid) {
  std::vector<Index> upper = grid.dims();
  for (Index& size : upper) --size;
  return {std::vector<Index>(upper.size(), 0), upper, Shell::all_pairs};
}

Window::Window(std::vector<Index> lower, std::vector<Index> upper, Shell shell)
    : lower_(std::move(lower)), upper_(std::move(upper)), shell_(shell) {
  constexpr Index limit = Index{1} << 40;
  for (std::size_t i = 0; i < lower_.size(); ++i) {
    const Index width = lower_[i] + upper_[i] + 1;
    if (slots_ > limit / width) invalid("the window has more than 2^40 slots: make the cutoff smaller");
    slots_ *= width;
    centre_ = centre_ * width + lower_[i];
  }
}

Index Window::slot(const Coords& offset) const {
  Index slot = 0;
  for (std::size_t i = 0; i < lower_.size(); ++i) slot = slot * (lower_[i] + upper_[i] + 1) + offset[i] + lower_[i];
  return slot;
}

Coords Window::offset(Index slot) const {
  Coords offset(lower_.size());
  for (std::size_t i = lower_.size(); i-- > 0;) {
    const Index width = lower_[i] + upper_[i] + 1;
    offset[i] = slot % width - lower_[i];
    slot /= width;
  }
  return offset;
}

}  // namespace rankwise
