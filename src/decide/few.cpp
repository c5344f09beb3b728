#include "decide/few.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "schedule/teams.hpp"

namespace rankwise {

namespace {

// A grid of at most so many operations is walked whole.
constexpr Index few_operations = 600;

Index operations(const RankSchedule& schedule) {
  Index count = 0;
  for (const Step& step : schedule.steps) count += static_cast<Index>(step.ops.size());
  return count;
}

bool in_turn(const ExchangeSpec& spec) { return is_blocking(spec.mode) && spec.algorithm == "shift"; }

// Whether the ranks around the middle of an axis meet no border and, where they send in turn, no seam of an odd ring.
bool has_middle(const ExchangeSpec& spec, int axis) {
  const Index length = spec.grid.dim(axis);
  if (spec.grid.periodic(axis)) return !in_turn(spec) || length != 3;
  return length >= 2 * std::max(spec.window.lower(axis), spec.window.upper(axis)) + 2;
}

// The coordinates of an axis that stand for all: one in the middle, two where ranks send in turn, else every one.
class AxisClasses {
 public:
  AxisClasses(const ExchangeSpec& spec, int axis) : length_(spec.grid.dim(axis)), all_(!has_middle(spec, axis)) {
    count_ = all_ ? length_ : in_turn(spec) && length_ > 1 ? 2 : 1;
  }
  [[nodiscard]] Index count() const { return count_; }
  [[nodiscard]] Index coordinate(Index number) const { return all_ ? number : length_ / 2 - number; }
  // The number of the coordinate that stands for one.
  [[nodiscard]] Index number(Index coordinate) const {
    if (all_) return coordinate;
    return count_ == 1 || coordinate % 2 == length_ / 2 % 2 ? 0 : 1;
  }

 private:
  Index length_;
  bool all_;
  Index count_;
};

// Which ranks are walked, and whom of them a message to any rank goes to.
class Few {
 public:
  explicit Few(const ExchangeSpec& spec) : grid_(spec.grid) {
    if (spec.algorithm == "team-shift") {
      choose_members(spec);
      return;
    }
    std::vector<Index> counts;
    for (int axis = 0; axis < grid_.ndim(); ++axis) {
      axes_.emplace_back(spec, axis);
      counts.push_back(axes_.back().count());
    }
    classes_ = Grid(counts);
    for (Index number = 0; number < classes_.size(); ++number) {
      Coords coords = classes_.coords(number);
      for (std::size_t axis = 0; axis < coords.size(); ++axis) coords[axis] = axes_[axis].coordinate(coords[axis]);
      ranks_.push_back(grid_.cell(coords));
    }
    if (spec.ranks() <= few_operations / std::max<Index>(1, operations(make_schedule(spec, ranks_.back())))) choose_all(spec);
  }

  [[nodiscard]] const std::vector<Index>& ranks() const { return ranks_; }

  // The position among the ranks of the one that stands for a rank.
  [[nodiscard]] Index stand_in(Index rank) const {
    if (all_) return rank;
    if (teams_) return teams_->member_of(rank);
    if (ranks_.size() == 1) return 0;
    Coords coords = grid_.coords(rank);
    for (std::size_t axis = 0; axis < coords.size(); ++axis) coords[axis] = axes_[axis].number(coords[axis]);
    return classes_.cell(coords);
  }

 private:
  void choose_members(const ExchangeSpec& spec) {
    for (int axis = 0; axis < grid_.ndim(); ++axis) {
      if (!has_middle(spec, axis)) return choose_all(spec);
    }
    teams_.emplace(spec);
    for (Index member = 0; member < teams_->members(0); ++member) ranks_.push_back(teams_->rank_of(0, member));
  }

  void choose_all(const ExchangeSpec& spec) {
    all_ = true;
    ranks_.resize(static_cast<std::size_t>(spec.ranks()));
    std::iota(ranks_.begin(), ranks_.end(), Index{0});
  }

  Grid grid_;
  Grid classes_{{1}};
  std::vector<AxisClasses> axes_;
  std::optional<Teams> teams_;
  std::vector<Index> ranks_;
  bool all_ = false;
};

LinkClass link_of(const ExchangeSpec& spec, const AxisLinks& links, Index rank, Index peer) {
  if (rank >= spec.grid.size() || peer >= spec.grid.size() || spec.team_boxes == TeamBoxes::replicated) {
    return *std::max_element(links.begin(), links.end());
  }
  const Coords from = spec.grid.coords(rank);
  const Coords to = spec.grid.coords(peer);
  LinkClass farthest = LinkClass::same_core;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != to[axis]) farthest = std::max(farthest, links[axis]);
  }
  return farthest;
}

template <class Make>
LinkedSchedules linked(const ExchangeSpec& spec, const Few& few, const AxisLinks& links, Make&& make) {
  LinkedSchedules part;
  for (const Index rank : few.ranks()) {
    RankSchedule& schedule = part.schedules.emplace_back(make(spec, rank));
    for (Step& step : schedule.steps) {
      for (Op& op : step.ops) {
        part.links.push_back(link_of(spec, links, rank, op.peer));
        op.peer = few.stand_in(op.peer);
      }
    }
  }
  return part;
}

}  // namespace

AxisLinks axis_links(const Grid& grid, const Window& window, const Placement& placement) {
  if (static_cast<Index>(placement.size()) < grid.size()) {
    invalid("the placement has " + std::to_string(placement.size()) + " ranks, the grid " + std::to_string(grid.size()) +
            ": give one location a rank");
  }
  AxisLinks links(static_cast<std::size_t>(grid.ndim()), LinkClass::same_core);
  for (Index cell = 0; cell < grid.size(); ++cell) {
    Coords coords = grid.coords(cell);
    for (int axis = 0; axis < grid.ndim(); ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      const Index own = coords[i];
      const Index layers = std::min(std::max(window.lower(axis), window.upper(axis)), grid.dim(axis) - 1);
      for (Index layer = 1; layer <= layers && links[i] != LinkClass::other_node; ++layer) {
        coords[i] = grid.shifted(axis, own, layer);
        if (coords[i] < 0 || coords[i] == own) continue;
        links[i] = std::max(links[i], link_between(placement[static_cast<std::size_t>(cell)],
                                                   placement[static_cast<std::size_t>(grid.cell(coords))]));
      }
      coords[i] = own;
    }
  }
  return links;
}

Walk walk_of_few(const ExchangeSpec& spec, const AxisLinks& links) {
  const Few few(spec);
  std::vector<LinkedSchedules> parts;
  parts.push_back(linked(spec, few, links, [](const ExchangeSpec& s, Index rank) { return make_schedule(s, rank); }));
  if (includes_reduce(spec)) {
    parts.push_back(linked(spec, few, links, [](const ExchangeSpec& s, Index rank) { return make_reduce(s, rank); }));
  }
  return Walk(spec.mode, std::move(parts));
}

}  // namespace rankwise
