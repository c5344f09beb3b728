#include "schedule/schedule.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "schedule/teams.hpp"

namespace rankwise {

namespace {

template <typename Value>
using Name = std::pair<const char*, Value>;

constexpr std::array<Name<SendMode>, 5> send_modes{{{"ssend", SendMode::ssend},
                                                    {"send", SendMode::send},
                                                    {"isend", SendMode::isend},
                                                    {"isend-self", SendMode::isend_self},
                                                    {"persistent", SendMode::persistent}}};
constexpr std::array<Name<Shell>, 3> shells{
    {{"full", Shell::full}, {"eighth", Shell::eighth}, {"all-pairs", Shell::all_pairs}}};
constexpr std::array<Name<TeamBoxes>, 2> team_boxes_names{
    {{"pooled", TeamBoxes::pooled}, {"replicated", TeamBoxes::replicated}}};

using Make = RankSchedule (*)(const ExchangeSpec&, Index);
constexpr std::array<Name<Make>, 5> algorithms{{{"direct", make_direct},
                                                {"neighbor-alltoall", make_neighbor_alltoall},
                                                {"shift", make_shift},
                                                {"comb", make_comb},
                                                {"team-shift", make_team_shift}}};

// "a, b or c".
template <typename Value, std::size_t count>
std::string choices(const std::array<Name<Value>, count>& names) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += i == 0 ? "" : i + 1 == count ? " or " : ", ";
    text += names[i].first;
  }
  return text;
}

template <typename Value, std::size_t count>
Value parsed(const std::array<Name<Value>, count>& names, const std::string& name, const char* what) {
  for (const auto& [id, value] : names) {
    if (name == id) return value;
  }
  invalid(std::string(what) + " '" + name + "' is unknown: choose " + choices(names));
}

template <typename Value, std::size_t count>
std::string named(const std::array<Name<Value>, count>& names, Value value) {
  for (const auto& [id, known] : names) {
    if (value == known) return id;
  }
  return "?";
}

Make find_algorithm(const std::string& id) { return parsed(algorithms, id, "exchange algorithm"); }

bool is_team_shift(const ExchangeSpec& spec) { return spec.algorithm == "team-shift"; }

void check_rank(const ExchangeSpec& spec, Index rank) {
  if (rank >= 0 && rank < spec.ranks()) return;
  invalid("rank " + std::to_string(rank) + " is outside the grid of " + std::to_string(spec.ranks()) + " ranks");
}

}  // namespace

SendMode parse_send_mode(const std::string& name) { return parsed(send_modes, name, "send mode"); }
std::string to_string(SendMode mode) { return named(send_modes, mode); }
Shell parse_shell(const std::string& name) { return parsed(shells, name, "shell"); }
std::string to_string(Shell shell) { return named(shells, shell); }
TeamBoxes parse_team_boxes(const std::string& name) { return parsed(team_boxes_names, name, "team boxes"); }
std::string to_string(TeamBoxes boxes) { return named(team_boxes_names, boxes); }

Index Op::blocks() const {
  return std::accumulate(slots.begin(), slots.end(), Index{0},
                         [](Index sum, const SlotRange& range) { return sum + range.count; });
}

Index RankSchedule::places() const {
  return place.empty() ? slots : 1 + *std::max_element(place.begin(), place.end());
}

Index RankSchedule::place_of(Index slot) const { return place.empty() ? slot : place[static_cast<std::size_t>(slot)]; }

Index RankSchedule::messages_sent() const {
  Index messages = 0;
  for (const Step& step : steps) {
    for (const Op& op : step.ops) messages += op.kind == Op::Kind::send ? 1 : 0;
  }
  return messages;
}

Index RankSchedule::blocks_sent() const {
  Index blocks = 0;
  for (const Step& step : steps) {
    for (const Op& op : step.ops) blocks += op.kind == Op::Kind::send ? op.blocks() : 0;
  }
  return blocks;
}

ExchangeSpec make_spec(const std::string& algorithm, SendMode mode, std::vector<Index> dims,
                       std::vector<bool> periodic, const std::vector<int>& cutoff, Shell shell, Index replication,
                       TeamBoxes team_boxes) {
  if (shell == Shell::all_pairs) periodic.assign(dims.size(), true);
  Grid grid(std::move(dims), std::move(periodic));
  Window window = shell == Shell::all_pairs ? Window::all_pairs(grid) : Window(cutoff, shell);
  ExchangeSpec spec{algorithm, mode, std::move(grid), std::move(window), replication, team_boxes};
  check_spec(spec);
  return spec;
}

std::vector<std::string> exchange_algorithms() {
  std::vector<std::string> ids;
  for (const auto& [id, make] : algorithms) ids.emplace_back(id);
  return ids;
}

std::string why_not(const std::string& algorithm, SendMode mode, Shell shell) {
  (void)find_algorithm(algorithm);
  if (algorithm == "neighbor-alltoall" && mode != SendMode::isend) {
    return "neighbor-alltoall sends in MPI's own way, all messages in flight: its only send mode is isend";
  }
  if (mode == SendMode::isend_self && algorithm != "shift") {
    return "isend-self forwards what has arrived, which only shift does: choose shift, or isend";
  }
  if (algorithm == "team-shift" && shell == Shell::eighth) {
    return "team-shift has no eighth shell, for visiting blocks bring no forces back: choose full or all-pairs";
  }
  return "";
}

void check_spec(const ExchangeSpec& spec) {
  const Shell shell = spec.window.shell();
  if (const std::string reason = why_not(spec.algorithm, spec.mode, shell); !reason.empty()) invalid(reason);
  if (spec.window.ndim() != spec.grid.ndim()) {
    invalid("the cutoff has " + std::to_string(spec.window.ndim()) + " axes, the grid " +
            std::to_string(spec.grid.ndim()) + ": give one cutoff an axis");
  }
  if (is_team_shift(spec)) {
    (void)Teams(spec);
  } else if (spec.replication != 1 || spec.team_boxes != TeamBoxes::pooled) {
    invalid("replication " + std::to_string(spec.replication) + " needs teams, which " + spec.algorithm +
            " does not have: choose team-shift, or replication 1");
  }
}

RankSchedule make_schedule(const ExchangeSpec& spec, Index rank) {
  check_spec(spec);
  check_rank(spec, rank);
  return find_algorithm(spec.algorithm)(spec, rank);
}

RankSchedule make_reduce(const ExchangeSpec& spec, Index rank) {
  check_spec(spec);
  check_rank(spec, rank);
  return is_team_shift(spec) ? make_team_combine(spec, rank) : reversed(make_schedule(spec, rank), spec.mode);
}

bool includes_reduce(const ExchangeSpec& spec) {
  return spec.window.shell() == Shell::eighth || is_team_shift(spec);
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
  return grid.cell_beside(grid.coords(rank), offset, direction);
}

Index origin_of_slot(const ExchangeSpec& spec, Index rank, Index slot) {
  if (is_team_shift(spec)) return origin_of_team_slot(spec, rank, slot);
  return rank_at_offset(spec.grid, rank, spec.window.offset(slot), +1);
}

Index own_slot(const ExchangeSpec& spec, Index rank) {
  return is_team_shift(spec) ? own_team_slot(spec, rank) : spec.window.centre();
}

std::vector<SlotOf> contributions_to(const ExchangeSpec& spec, Index rank) {
  if (is_team_shift(spec)) return contributions_to_team(spec, rank);
  std::vector<SlotOf> contributions;
  for (Index slot = 0; slot < spec.window.slots(); ++slot) {
    const Index holder = rank_at_offset(spec.grid, rank, spec.window.offset(slot), -1);
    if (holder >= 0) contributions.push_back({holder, slot});
  }
  return contributions;
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
  back.adds = true;
  back.neighborhood = schedule.neighborhood;
  for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step) {
    Step turned;
    for (const Op& op : step->ops) {
      Op other = op;
      other.after.clear();
      if (op.kind == Op::Kind::send) other.kind = Op::Kind::recv;
      if (op.kind == Op::Kind::recv) other.kind = Op::Kind::send;
      if (op.kind == Op::Kind::copy) std::swap(other.slots, other.source);
      turned.ops.push_back(std::move(other));
    }
    for (std::size_t i = 0; i < step->ops.size(); ++i) {
      for (const std::size_t before : step->ops[i].after) {
        // The order of blocking sends among themselves is made anew.
        const bool chained = step->ops[i].kind == Op::Kind::send && step->ops[before].kind == Op::Kind::send;
        if (!chained) turned.ops[before].after.push_back(i);
      }
    }
    chain_sends(turned, mode);
    back.steps.push_back(std::move(turned));
  }
  return back;
}

}  // namespace rankwise
