#include "decide/few.hpp"

#include <algorithm>
#include <utility>

#include "schedule/teams.hpp"

namespace rankwise {

namespace {

// A grid of at most so many operations is walked whole.
constexpr Index few_operations = 600;

using Peers = std::vector<Index>;  // the ranks of the true grid that stand for all

Index operations(const RankSchedule& schedule) {
  Index count = 0;
  for (const Step& step : schedule.steps) count += static_cast<Index>(step.ops.size());
  return count;
}

bool in_pairs(const ExchangeSpec& spec) { return is_blocking(spec.mode) && spec.algorithm == "shift"; }

// How long an open axis must be for two neighbours to have all their partners.
Index enough(const ExchangeSpec& spec, int axis) { return 2 * std::max(spec.window.lower(axis), spec.window.upper(axis)) + 2; }

// Whether the ranks around the middle of an axis meet no border and, where they send in turn, no seam of an odd ring.
bool has_middle(const ExchangeSpec& spec, int axis) {
  const Index length = spec.grid.dim(axis);
  if (spec.grid.periodic(axis)) return !in_pairs(spec) || length != 3;
  return length >= enough(spec, axis);
}

bool has_middle(const ExchangeSpec& spec) {
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    if (!has_middle(spec, axis)) return false;
  }
  return true;
}

// A grid on which the same happens: axes are cut to the shortest that has a middle and the same parity.
ExchangeSpec cut(ExchangeSpec spec) {
  std::vector<Index> dims = spec.grid.dims();
  std::vector<bool> periodic;
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    Index& length = dims[static_cast<std::size_t>(axis)];
    const Index least = enough(spec, axis);
    if (length > least + 1) length = least + (length - least) % 2;
    periodic.push_back(spec.grid.periodic(axis));
  }
  spec.grid = Grid(std::move(dims), std::move(periodic));
  return spec;
}

Peers all_of(const ExchangeSpec& spec) {
  Peers ranks;
  for (Index rank = 0; rank < spec.ranks(); ++rank) ranks.push_back(rank);
  return ranks;
}

// The rank in the middle; in pairs, those around it of every parity of coordinates.
Peers middle_of(const ExchangeSpec& spec) {
  std::vector<Coords> found{{}};
  for (const Index length : spec.grid.dims()) {
    const Index middle = length / 2;
    const bool both = in_pairs(spec) && length > 1;
    std::vector<Coords> longer;
    for (const Coords& coords : found) {
      for (Index beside = 0; beside <= (both ? 1 : 0); ++beside) {
        longer.push_back(coords);
        longer.back().push_back(middle - beside);
      }
    }
    found = std::move(longer);
  }
  Peers ranks;
  for (const Coords& coords : found) ranks.push_back(spec.grid.cell(coords));
  return ranks;
}

// Which ranks are walked, and whom of them a message to any rank goes to.
class Few {
 public:
  explicit Few(const ExchangeSpec& spec) {
    if (spec.algorithm == "team-shift") {
      teams_.emplace(spec);
      all_ = !has_middle(spec);
      if (all_) {
        ranks_ = all_of(spec);
      } else {
        for (Index member = 0; member < teams_->members(0); ++member) ranks_.push_back(teams_->rank_of(0, member));
      }
      return;
    }
    ranks_ = middle_of(spec);
    grid_ = spec.grid;
    all_ = !has_middle(spec) || spec.ranks() <= few_operations / std::max<Index>(1, operations(make_schedule(spec, ranks_[0])));
    if (all_) ranks_ = all_of(spec);
  }

  [[nodiscard]] const Peers& ranks() const { return ranks_; }

  // The position among the ranks of the one that stands for a rank.
  [[nodiscard]] Index stand_in(Index rank) const {
    if (all_) return rank;
    if (teams_) return teams_->member_of(rank);
    if (ranks_.size() == 1) return 0;
    const Coords coords = grid_.coords(rank);
    Index position = 0;
    for (std::size_t axis = 0; axis < coords.size(); ++axis) {
      const Index length = grid_.dims()[axis];
      if (length > 1) position = 2 * position + (coords[axis] % 2 == (length / 2) % 2 ? 0 : 1);
    }
    return position;
  }

 private:
  std::optional<Teams> teams_;
  Grid grid_{{1}};
  Peers ranks_;
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
  const bool whole = spec.algorithm == "team-shift" || has_middle(spec);
  const ExchangeSpec walked = whole ? spec : cut(spec);
  const Few few(walked);
  std::vector<LinkedSchedules> parts;
  parts.push_back(linked(walked, few, links, [](const ExchangeSpec& s, Index rank) { return make_schedule(s, rank); }));
  if (includes_reduce(spec)) {
    parts.push_back(linked(walked, few, links, [](const ExchangeSpec& s, Index rank) { return make_reduce(s, rank); }));
  }
  return Walk(spec.mode, std::move(parts));
}

}  // namespace rankwise
