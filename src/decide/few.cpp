#include "decide/few.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "schedule/teams.hpp"

namespace rankwise {

namespace {

// A grid of at most so many operations is walked whole, and axes without a middle are where they leave at most so many.
constexpr Index few_operations = 300;
constexpr Index most_operations = 1000;

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
  [[nodiscard]] bool is_whole() const { return all_; }
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
    Coords middle;
    bool has_short = false;
    for (int axis = 0; axis < grid_.ndim(); ++axis) {
      axes_.emplace_back(spec, axis);
      counts.push_back(axes_.back().count());
      middle.push_back(grid_.dim(axis) / 2);
      has_short |= axes_.back().is_whole();
    }
    classes_ = Grid(counts);
    for (Index number = 0; number < classes_.size(); ++number) {
      Coords coords = classes_.coords(number);
      for (std::size_t axis = 0; axis < coords.size(); ++axis) coords[axis] = axes_[axis].coordinate(coords[axis]);
      ranks_.push_back(grid_.cell(coords));
    }
    const Index of_one = std::max<Index>(1, operations(make_schedule(spec, grid_.cell(middle))));
    if (spec.ranks() <= few_operations / of_one) choose_all(spec);
    too_many_ = !all_ && has_short && classes_.size() > most_operations / of_one;
  }

  [[nodiscard]] const std::vector<Index>& ranks() const { return ranks_; }
  // Whether the axes without a middle (for teams: with borders) make too many ranks to be walked.
  [[nodiscard]] bool are_too_many() const { return too_many_; }

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
    teams_.emplace(spec);
    for (int axis = 0; axis < grid_.ndim(); ++axis) {
      if (grid_.periodic(axis)) continue;
      // Teams at a border have less to do than others, and in other steps.
      const Index of_one = std::max<Index>(1, operations(make_schedule(spec, spec.ranks() / 2)));
      too_many_ = spec.ranks() > most_operations / of_one;
      return choose_all(spec);
    }
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
  bool too_many_ = false;
};

LinkClass link_of(const ExchangeSpec& spec, const AxisLinks& links, Index rank, Index peer) {
  const auto [nearest, most] = std::minmax_element(links.begin(), links.end());
  if (*nearest == *most) return *most;
  if (rank >= spec.grid.size() || peer >= spec.grid.size() || spec.team_boxes == TeamBoxes::replicated) {
    return *most;
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

namespace {

// The spec of one axis alone.
ExchangeSpec line_of(const ExchangeSpec& spec, int axis) {
  return {spec.algorithm, spec.mode, Grid({spec.grid.dim(axis)}, {spec.grid.periodic(axis)}),
          Window({spec.window.lower(axis)}, {spec.window.upper(axis)}, spec.window.shell())};
}

// How many of its offsets on an axis a rank in the middle gathers.
Index gathered(const ExchangeSpec& spec, int axis) {
  const Index offsets = spec.window.lower(axis) + spec.window.upper(axis) + 1;
  return spec.grid.periodic(axis) ? offsets : std::min(offsets, spec.grid.dim(axis));
}

// Brings the rank in the middle of a line, whose messages all take one link, to the front, and gives each message what the
// axes before gathered.
LinkedSchedules as_part(LinkedSchedules line, Index blocks) {
  std::vector<RankSchedule>& schedules = line.schedules;
  const std::size_t count = schedules.size();
  const std::size_t middle = count > 2 ? count / 2 : 0;
  for (RankSchedule& schedule : schedules) {
    schedule.slots *= blocks;
    for (Step& step : schedule.steps) {
      for (Op& op : step.ops) {
        op.peer = static_cast<Index>((static_cast<std::size_t>(op.peer) + count - middle) % count);
        for (std::vector<SlotRange>* ranges : {&op.slots, &op.source}) {
          for (SlotRange& range : *ranges) range = {range.first * blocks, range.count * blocks};
        }
      }
    }
  }
  std::rotate(schedules.begin(), schedules.begin() + static_cast<std::ptrdiff_t>(middle), schedules.end());
  return line;
}

// What goes axis by axis, walked as one line after the other: those through the rank that has most to do, in the middle of
// all axes. The others are taken to be as far as that rank's neighbours on the line before.
Walk walk_of_lines(const ExchangeSpec& spec, const AxisLinks& links) {
  std::vector<LinkedSchedules> imports;
  std::vector<LinkedSchedules> reduces;
  std::size_t ranks = 0;
  Index blocks = 1;
  for (int axis = spec.grid.ndim(); axis-- > 0;) {
    const ExchangeSpec line = line_of(spec, axis);
    const Few few(line);
    const AxisLinks own{links[static_cast<std::size_t>(axis)]};
    imports.push_back(as_part(linked(line, few, own, make_schedule), blocks));
    if (includes_reduce(spec)) reduces.push_back(as_part(linked(line, few, own, make_reduce), blocks));
    ranks = std::max(ranks, few.ranks().size());
    blocks *= gathered(spec, axis);
  }
  std::move(reduces.rbegin(), reduces.rend(), std::back_inserter(imports));
  for (LinkedSchedules& part : imports) part.schedules.resize(ranks);  // shorter lines have nothing for the rest
  return Walk(spec.mode, std::move(imports));
}

// The same exchange with its short open axes closed to rings on which every rank has as many partners as the one in the
// middle has; of teams, which pass on what the whole window holds, all open axes.
ExchangeSpec closed(const ExchangeSpec& spec) {
  const bool teams = spec.algorithm == "team-shift";
  std::vector<bool> periodic;
  std::vector<Index> lower;
  std::vector<Index> upper;
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    const bool shrinks = !teams && !has_middle(spec, axis);
    const Index others = gathered(spec, axis) - 1;
    const bool both = spec.window.lower(axis) > 0;
    periodic.push_back(teams || shrinks || spec.grid.periodic(axis));
    lower.push_back(!shrinks ? spec.window.lower(axis) : both ? others / 2 : 0);
    upper.push_back(!shrinks ? spec.window.upper(axis) : both ? others - others / 2 : others);
  }
  return {spec.algorithm, spec.mode, Grid(spec.grid.dims(), periodic), Window(lower, upper, spec.window.shell()),
          spec.replication, spec.team_boxes};
}

}  // namespace

Walk walk_of_few(const ExchangeSpec& spec, const AxisLinks& links) {
  const Few few(spec);
  if (few.are_too_many()) {
    const bool by_axis = spec.algorithm == "shift" || spec.algorithm == "comb";
    return by_axis ? walk_of_lines(spec, links) : walk_of_few(closed(spec), links);
  }
  std::vector<LinkedSchedules> parts;
  parts.push_back(linked(spec, few, links, [](const ExchangeSpec& s, Index rank) { return make_schedule(s, rank); }));
  if (includes_reduce(spec)) {
    parts.push_back(linked(spec, few, links, [](const ExchangeSpec& s, Index rank) { return make_reduce(s, rank); }));
  }
  return Walk(spec.mode, std::move(parts));
}

}  // namespace rankwise
