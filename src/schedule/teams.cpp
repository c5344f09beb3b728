#include "schedule/teams.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "schedule/algorithms.hpp"

namespace rankwise {

namespace {

Index round_up(Index a, Index b) { return (a + b - 1) / b; }

// The window of teams that reaches every box of the window of boxes when a team has at least pooled[i] boxes an axis.
Window team_window(const Window& boxes, const std::vector<Index>& dims, const Coords& pooled) {
  std::vector<Index> lower(dims.size(), 0);
  std::vector<Index> upper(dims.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const int axis = static_cast<int>(i);
    const bool all = boxes.shell() == Shell::all_pairs;
    lower[i] = all ? 0 : round_up(boxes.lower(axis), pooled[i]);
    upper[i] = all ? dims[i] / pooled[i] - 1 : round_up(boxes.upper(axis), pooled[i]);
  }
  return {std::move(lower), std::move(upper), boxes.shell()};
}

Index most_boxes(const std::vector<Index>& dims, const Coords& pooled) {
  Index most = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) most *= round_up(dims[i], dims[i] / pooled[i]);
  return most;
}

// How many boxes a team pools on each axis: of all ways to write c as a product that fits the grid, the one whose
// members receive the fewest blocks, then the one with the smallest window, then the most even one.
class Pooling {
 public:
  explicit Pooling(const ExchangeSpec& spec) : spec_(spec), current_(spec.grid.dims().size(), 1) {
    try_axis(0, spec.replication);
  }

  [[nodiscard]] Coords best() const {
    if (best_) return *best_;
    invalid("replication " + std::to_string(spec_.replication) + " does not fit the grid: it must be a product of " +
            "one factor an axis, none larger than its axis");
  }

 private:
  void try_axis(std::size_t axis, Index rest) {
    if (axis == current_.size()) {
      if (rest == 1) consider();
      return;
    }
    for (Index factor = 1; factor <= std::min(rest, spec_.grid.dim(static_cast<int>(axis))); ++factor) {
      if (rest % factor != 0) continue;
      current_[axis] = factor;
      try_axis(axis + 1, rest / factor);
    }
  }

  void consider() {
    const Index window = team_window(spec_.window, spec_.grid.dims(), current_).slots();
    const Index received = round_up(window, spec_.replication) * most_boxes(spec_.grid.dims(), current_);
    const std::vector<Index> score{received, window, *std::max_element(current_.begin(), current_.end())};
    if (best_ && score >= best_score_) return;
    best_ = current_;
    best_score_ = score;
  }

  const ExchangeSpec& spec_;
  Coords current_;
  std::optional<Coords> best_;
  std::vector<Index> best_score_;
};

Coords boxes_of_a_team(const ExchangeSpec& spec) {
  if (spec.replication < 1) {
    invalid("replication " + std::to_string(spec.replication) + " is too small: it must be at least 1");
  }
  if (spec.team_boxes == TeamBoxes::replicated) {
    constexpr Index limit = Index{1} << 31;
    if (spec.replication > limit / spec.grid.size()) invalid("the teams have more than 2^31 ranks: make them smaller");
    return Coords(spec.grid.dims().size(), 1);
  }
  return Pooling(spec).best();
}

Grid team_grid(const std::vector<Index>& dims, const Coords& pooled) {
  std::vector<Index> teams(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) teams[i] = dims[i] / pooled[i];
  return Grid(std::move(teams), std::vector<bool>(dims.size(), true));
}

Index wrapped(Index value, Index length) { return value - floor_div(value, length) * length; }

}  // namespace

Teams::Teams(const ExchangeSpec& spec) : Teams(spec, boxes_of_a_team(spec)) {}

Teams::Teams(const ExchangeSpec& spec, const Coords& pooled)
    : boxes_(spec.grid),
      replication_(spec.replication),
      pooled_(spec.team_boxes == TeamBoxes::pooled),
      grid_(team_grid(spec.grid.dims(), pooled)),
      window_(team_window(spec.window, spec.grid.dims(), pooled)),
      most_blocks_(most_boxes(spec.grid.dims(), pooled)) {}

Index Teams::chunk_start(std::size_t axis, Index chunk) const { return chunk * boxes_.dims()[axis] / grid_.dims()[axis]; }

Index Teams::chunk_of(std::size_t axis, Index coordinate) const {
  return ((coordinate + 1) * grid_.dims()[axis] - 1) / boxes_.dims()[axis];
}

Index Teams::team_of(Index rank) const {
  if (!pooled_) return rank / replication_;
  Coords coords = boxes_.coords(rank);
  for (std::size_t i = 0; i < coords.size(); ++i) coords[i] = chunk_of(i, coords[i]);
  return grid_.cell(coords);
}

Index Teams::member_of(Index rank) const {
  if (!pooled_) return rank % replication_;
  const Coords coords = boxes_.coords(rank);
  Index member = 0;
  for (std::size_t i = 0; i < coords.size(); ++i) {
    const Index chunk = chunk_of(i, coords[i]);
    member = member * (chunk_start(i, chunk + 1) - chunk_start(i, chunk)) + coords[i] - chunk_start(i, chunk);
  }
  return member;
}

Index Teams::rank_of(Index team, Index member) const {
  if (!pooled_) return team * replication_ + member;
  Coords coords = grid_.coords(team);
  for (std::size_t i = coords.size(); i-- > 0;) {
    const Index start = chunk_start(i, coords[i]);
    const Index size = chunk_start(i, coords[i] + 1) - start;
    coords[i] = start + member % size;
    member /= size;
  }
  return boxes_.cell(coords);
}

Index Teams::members(Index team) const { return pooled_ ? blocks(team) : replication_; }

Index Teams::blocks(Index team) const {
  if (boxes_.size() == most_blocks_ * grid_.size()) return most_blocks_;
  const Coords coords = grid_.coords(team);
  Index boxes = 1;
  for (std::size_t i = 0; i < coords.size(); ++i) {
    boxes *= chunk_start(i, coords[i] + 1) - chunk_start(i, coords[i]);
  }
  return boxes;
}

Index Teams::at(Index team, const Coords& offset) const { return grid_.cell_at_offset(grid_.coords(team), offset, +1); }

bool Teams::inside(const Coords& team, const Coords& offset, int direction) const {
  for (std::size_t i = 0; i < team.size(); ++i) {
    if (boxes_.periodic(static_cast<int>(i))) continue;
    const Index moved = team[i] + direction * offset[i];
    if (moved < 0 || moved >= grid_.dims()[i]) return false;
  }
  return true;
}

Index Teams::last_slot_to(Index team) const {
  Coords offset = grid_.coords(team);
  for (std::size_t i = 0; i < offset.size(); ++i) {
    const Index upper = window_.upper(static_cast<int>(i));
    offset[i] = boxes_.periodic(static_cast<int>(i)) ? upper : std::min(offset[i], upper);
  }
  return window_.slot(offset);
}

Coords Teams::team_offset(const Coords& box, const Coords& offset) const {
  Coords between(box.size());
  for (std::size_t i = 0; i < box.size(); ++i) {
    const Index length = boxes_.dims()[i];
    const Index teams = grid_.dims()[i];
    const Index inside = wrapped(box[i] + offset[i], length);
    const Index turns = (box[i] + offset[i] - inside) / length;
    between[i] = chunk_of(i, inside) + turns * teams - chunk_of(i, box[i]);
    if (window_.shell() == Shell::all_pairs) between[i] = wrapped(between[i], teams);
  }
  return between;
}

Index Teams::visits(Index member) const {
  return member >= replication_ || member >= window_.slots() ? 0 : (window_.slots() - 1 - member) / replication_ + 1;
}

// Team shift (Driscoll et al. 2013, IPDPS; werner2023 section 2.3), for windows of team offsets D[0..w-1] in any number
// of dimensions, after specs of our own: c ranks form a team, T teams, S = ceil(w / c) steps.
// 0. Every member gets the blocks of its team: pooled, an all-gather (after Bruck et al. 1997); replicated, a broadcast
//    along a binomial tree from member 0.
// 1. Skew: member j of team t receives the blocks of team t + D[j].
// 2. In step s member j of team t holds the blocks of team t + D[j + cs], lets its own interact with them and passes
//    them on by v = D[j + c(s+1)] - D[j + cs]: to team t - v, while it receives from team t + v; until the index
//    reaches w. The transport wraps around on every axis; what would cross an open border does not interact, and is
//    only passed on where it still will.
// 3. Combine (make_team_combine): step 0 the other way, adding up.
//
// Every ordered pair of teams within the window thus meets exactly once, whether or not c divides T or w. Where a
// window is wider than a short axis, an offset may lead back to the own team, or two in a row to the same team: then
// the blocks are there already and nothing is sent.

namespace {

constexpr int distribution_tag = 0;
constexpr int shift_tag = 1;

std::vector<SlotRange> around(Index first, Index count, Index length) {
  if (first + count <= length) return {{first, count}};
  return {{first, length - first}, {0, first + count - length}};
}

// Step 0 for pooled teams: after step p every member has the blocks of 2^(p+1) members from itself on.
void add_all_gather(RankSchedule& schedule, const Teams& teams, Index team, Index member) {
  const Index n = teams.blocks(team);
  for (Index distance = 1; distance < teams.most_blocks(); distance *= 2) {
    Step& step = schedule.steps.emplace_back();
    if (distance >= n) continue;  // larger teams are still at it
    const Index count = std::min(distance, n - distance);
    const Index to = teams.rank_of(team, (member + n - distance) % n);
    const Index from = teams.rank_of(team, (member + distance) % n);
    step.ops.push_back({Op::Kind::recv, from, distribution_tag, around((member + distance) % n, count, n), {}, {}});
    step.ops.push_back({Op::Kind::send, to, distribution_tag, around(member, count, n), {}, {}});
  }
}

// On which level of the tree a member is: how many bits it has.
std::size_t level(Index member) { return static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(member))); }

// Step 0 for replicated teams: member j has its parent where j's lowest bit is cleared; level by level.
void add_broadcast(RankSchedule& schedule, const Teams& teams, Index team, Index member, SendMode mode) {
  const Index c = teams.replication();
  const auto levels = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(c)) - 1);
  schedule.steps.resize(levels);
  Index bit = 1;
  while (bit < c && (member & bit) == 0) bit *= 2;
  if (member > 0) {
    schedule.steps[level(member) - 1].ops.push_back(
        {Op::Kind::recv, teams.rank_of(team, member - bit), distribution_tag, {{0, 1}}, {}, {}});
  }
  if (level(member) == levels) return;
  Step& step = schedule.steps[level(member)];
  for (bit /= 2; bit > 0; bit /= 2) {
    if (member + bit >= c) continue;
    step.ops.push_back({Op::Kind::send, teams.rank_of(team, member + bit), distribution_tag, {{0, 1}}, {}, {}});
  }
  chain_sends(step, mode);
}

RankSchedule distribution(const ExchangeSpec& spec, const Teams& teams, Index rank) {
  RankSchedule schedule;
  const Index team = teams.team_of(rank);
  schedule.slots = teams.blocks(team);
  if (spec.team_boxes == TeamBoxes::pooled) {
    add_all_gather(schedule, teams, team, teams.member_of(rank));
  } else {
    add_broadcast(schedule, teams, team, teams.member_of(rank), spec.mode);
  }
  return schedule;
}

// The visits of one member: which team's blocks it holds in each step, where they lie, and who has them before.
class Visits {
 public:
  Visits(const Teams& teams, Index team, Index member)
      : teams_(teams), member_(member), here_(teams.grid().coords(team)), own_(teams.blocks(team)) {
    const Index steps = teams.visits(member);
    visits_.reserve(static_cast<std::size_t>(steps));
    Coords before(here_.size(), 0);
    Coords move(here_.size());
    for (Index s = 0; s < steps; ++s) {
      const Coords offset = teams.window().offset(index(s));
      for (std::size_t i = 0; i < move.size(); ++i) move[i] = offset[i] - before[i];
      const Index held = at(offset, +1);
      const Index in = held == team ? own : s > 0 && visits_.back().team == held ? visits_.back().held_in : s;
      visits_.push_back({held, in, at(move, -1), at(move, +1), teams.inside(here_, offset, +1)});
      before = offset;
    }
  }

  // Of step s, where the blocks of a team are there to be visited.
  struct Visit {
    Index team;
    Index held_in;  // where its blocks lie; `own` when they are the team's own
    // The teams that this one's go to before it, and that they come from.
    Index to;
    Index from;
    bool interacts;
  };
  static constexpr Index own = -1;

  [[nodiscard]] Index steps() const { return static_cast<Index>(visits_.size()); }
  [[nodiscard]] Index index(Index s) const { return member_ + teams_.replication() * s; }
  [[nodiscard]] const Visit& operator[](Index s) const { return visits_[static_cast<std::size_t>(s)]; }
  [[nodiscard]] std::vector<SlotRange> slots(Index s) const {
    const Visit& visit = (*this)[s];
    if (visit.held_in == own) return {{0, own_}};
    return {{own_ + visit.held_in * teams_.most_blocks(), teams_.blocks(visit.team)}};
  }

  // Whether blocks are sent at all before step s: not where they are there already (alike for all teams).
  [[nodiscard]] bool moves(Index s) const { return (*this)[s].held_in == s; }

  // Whether the blocks of a team still interact with somebody from step s on.
  [[nodiscard]] bool wanted(Index of_team, Index s) {
    const auto [last, added] = last_.try_emplace(of_team);
    if (added) last->second = find_last(of_team);
    return s <= last->second;
  }

 private:
  [[nodiscard]] Index at(const Coords& offset, int direction) const {
    return teams_.grid().cell_at_offset(here_, offset, direction);
  }

  // The last step in which the blocks of a team interact with somebody; -1: none.
  [[nodiscard]] Index find_last(Index of_team) const {
    const Index last_slot = teams_.last_slot_to(of_team);
    const Coords there = teams_.grid().coords(of_team);
    Index s = last_slot < member_ ? -1 : (last_slot - member_) / teams_.replication();
    while (s >= 0 && !teams_.inside(there, teams_.window().offset(index(s)), -1)) --s;
    return s;
  }

  const Teams& teams_;
  Index member_;
  Coords here_;  // of the team
  Index own_;
  std::vector<Visit> visits_;
  std::unordered_map<Index, Index> last_;  // of each team that was asked about: see find_last
};

}  // namespace

RankSchedule make_team_shift(const ExchangeSpec& spec, Index rank) {
  const Teams teams(spec);
  const Index team = teams.team_of(rank);
  const Index member = teams.member_of(rank);
  RankSchedule schedule = distribution(spec, teams, rank);
  Visits visits(teams, team, member);

  // The visiting blocks lie in two places in turn: one is received into while the other is visited and passed on.
  const Index own = schedule.slots;
  const Index most = teams.most_blocks();
  schedule.slots += visits.steps() * most;
  for (Index slot = 0; slot < own; ++slot) schedule.place.push_back(slot);
  Index received = 0;
  for (Index s = 0; s < visits.steps(); ++s) {
    for (Index m = 0; m < most; ++m) schedule.place.push_back(own + received % 2 * most + m);
    received += visits.moves(s) ? 1 : 0;
  }

  for (Index s = -1; s < visits.steps(); ++s) {
    Step step;
    if (s + 1 < visits.steps() && visits.moves(s + 1)) {
      const auto& [got, in, to, from, interacts] = visits[s + 1];
      const Index sent = s < 0 ? team : visits[s].team;
      step.ops.reserve(3);
      if (visits.wanted(got, s + 1)) {
        step.ops.push_back({Op::Kind::recv, teams.rank_of(from, member), shift_tag, visits.slots(s + 1), {}, {}});
      }
      if (visits.wanted(sent, s + 1)) {
        const std::vector<SlotRange> held = s < 0 ? std::vector<SlotRange>{{0, own}} : visits.slots(s);
        step.ops.push_back({Op::Kind::send, teams.rank_of(to, member), shift_tag, held, {}, {}});
      }
    }
    if (s >= 0 && visits[s].interacts) {
      step.ops.push_back({Op::Kind::visit, rank, static_cast<int>(visits.index(s)), visits.slots(s), {}, {}});
    }
    schedule.steps.push_back(std::move(step));
  }
  // The first member meets most offsets.
  schedule.steps.resize(schedule.steps.size() + static_cast<std::size_t>(teams.visits(0) - visits.steps()));
  return schedule;
}

RankSchedule make_team_combine(const ExchangeSpec& spec, Index rank) {
  return reversed(distribution(spec, Teams(spec), rank), spec.mode);
}

Index own_team_slot(const ExchangeSpec& spec, Index rank) {
  const Teams teams(spec);
  const Index member = teams.member_of(rank);
  return spec.team_boxes == TeamBoxes::pooled ? member : member == 0 ? 0 : -1;
}

std::vector<SlotOf> contributions_to_team(const ExchangeSpec& spec, Index rank) {
  const Index slot = own_team_slot(spec, rank);
  if (slot < 0) return {};
  const Teams teams(spec);
  const Index team = teams.team_of(rank);
  std::vector<SlotOf> contributions;
  for (Index member = 0; member < teams.members(team); ++member) {
    contributions.push_back({teams.rank_of(team, member), slot});
  }
  return contributions;
}

std::vector<Index> team_origins(const ExchangeSpec& spec, Index rank) {
  const Teams teams(spec);
  const Index team = teams.team_of(rank);
  std::vector<Index> origins;
  for (Index slot = 0; slot < teams.blocks(team); ++slot) origins.push_back(teams.rank_of(team, slot));
  Visits visits(teams, team, teams.member_of(rank));
  for (Index s = 0; s < visits.steps(); ++s) {
    const Index visitor = visits[s].team;
    const bool comes = visits.moves(s) && visits.wanted(visitor, s);
    for (Index block = 0; block < teams.most_blocks(); ++block) {
      origins.push_back(comes && block < teams.blocks(visitor) ? teams.rank_of(visitor, block) : -1);
    }
  }
  return origins;
}

}  // namespace rankwise
