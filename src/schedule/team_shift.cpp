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
#include <algorithm>
#include <bit>
#include <cstdint>

#include "schedule/algorithms.hpp"
#include "schedule/teams.hpp"

namespace rankwise {

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
      : teams_(teams), team_(team), member_(member), steps_(teams.visits(member)), own_(teams.blocks(team)) {
    for (Index s = 0; s < steps_; ++s) held_in_.push_back(find_holder(s));
  }

  [[nodiscard]] Index steps() const { return steps_; }
  [[nodiscard]] Coords offset(Index s) const { return teams_.window().offset(index(s)); }
  [[nodiscard]] Index index(Index s) const { return member_ + teams_.replication() * s; }
  [[nodiscard]] Index team(Index s) const { return teams_.at(team_, offset(s)); }
  [[nodiscard]] bool interacts(Index s) const { return teams_.inside(team_, offset(s)); }

  // Where the blocks of step s lie; `own` when they are the team's own.
  static constexpr Index own = -1;
  [[nodiscard]] Index held_in(Index s) const { return held_in_[static_cast<std::size_t>(s)]; }
  [[nodiscard]] std::vector<SlotRange> slots(Index s) const {
    const Index set = held_in(s);
    if (set == own) return {{0, own_}};
    return {{own_ + set * teams_.most_blocks(), teams_.blocks(team(s))}};
  }

  // By how much the blocks of step s move to be there: from the team at +v, and ours to the team at -v.
  [[nodiscard]] Coords move(Index s) const {
    Coords v = offset(s);
    if (s > 0) {
      const Coords before = offset(s - 1);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= before[i];
    }
    return v;
  }

  // Whether blocks are sent at all before step s: not where they are there already (alike for all teams).
  [[nodiscard]] bool moves(Index s) const { return held_in(s) == s; }

  // Whether the blocks of a team still interact with somebody from step s on.
  [[nodiscard]] bool wanted(Index of_team, Index s) const {
    for (; s < steps_; ++s) {
      Coords back = offset(s);
      for (Index& o : back) o = -o;
      if (teams_.inside(of_team, back)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] Index find_holder(Index s) const {
    const Index held = team(s);
    if (held == team_) return own;
    return s > 0 && team(s - 1) == held ? held_in(s - 1) : s;
  }

  const Teams& teams_;
  Index team_;
  Index member_;
  Index steps_;
  Index own_;
  std::vector<Index> held_in_;
};

Coords negated(Coords coords) {
  for (Index& c : coords) c = -c;
  return coords;
}

}  // namespace

RankSchedule make_team_shift(const ExchangeSpec& spec, Index rank) {
  const Teams teams(spec);
  const Index team = teams.team_of(rank);
  const Index member = teams.member_of(rank);
  RankSchedule schedule = distribution(spec, teams, rank);
  const Visits visits(teams, team, member);

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
      const Index to = teams.at(team, negated(visits.move(s + 1)));
      const Index from = teams.at(team, visits.move(s + 1));
      const Index sent = s < 0 ? team : visits.team(s);
      const Index got = visits.team(s + 1);
      if (visits.wanted(got, s + 1)) {
        step.ops.push_back({Op::Kind::recv, teams.rank_of(from, member), shift_tag, visits.slots(s + 1), {}, {}});
      }
      if (visits.wanted(sent, s + 1)) {
        const std::vector<SlotRange> held = s < 0 ? std::vector<SlotRange>{{0, own}} : visits.slots(s);
        step.ops.push_back({Op::Kind::send, teams.rank_of(to, member), shift_tag, held, {}, {}});
      }
    }
    if (s >= 0 && visits.interacts(s)) {
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
  const Visits visits(teams, team, teams.member_of(rank));
  for (Index s = 0; s < visits.steps(); ++s) {
    const Index visitor = visits.team(s);
    const bool comes = visits.moves(s) && visits.wanted(visitor, s);
    for (Index block = 0; block < teams.most_blocks(); ++block) {
      origins.push_back(comes && block < teams.blocks(visitor) ? teams.rank_of(visitor, block) : -1);
    }
  }
  return origins;
}

}  // namespace rankwise
