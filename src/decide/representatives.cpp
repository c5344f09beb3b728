#include "decide/representatives.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "decide/part.hpp"
#include "decide/rounds.hpp"
#include "schedule/algorithms.hpp"
#include "schedule/teams.hpp"

namespace rankwise {

namespace {

// A grid of at most so many operations is walked whole, and axes without a middle are where they leave at most so many.
constexpr Index most_operations_of_small = 300;
constexpr Index most_operations = 1000;

// Whether the ranks around the middle of an axis meet no border and, where they send in turn, no seam of an odd ring.
bool has_middle(const Program& program, std::size_t axis) {
  const Index length = program.grid.dims()[axis];
  if (program.grid.periodic(static_cast<int>(axis))) return !program.in_turn || length != 3;
  return length >= 2 * std::max(program.lower[axis], program.upper[axis]) + 2;
}

// The coordinates of an axis that stand for all: one in the middle, two where ranks send in turn, else every one; or those of a
// tile.
class AxisClasses {
 public:
  AxisClasses(Index length, Index tile) : length_(length), all_(true), count_(tile) {}
  AxisClasses(const Program& program, std::size_t axis) : length_(program.grid.dims()[axis]), all_(!has_middle(program, axis)) {
    count_ = all_ ? length_ : program.in_turn && length_ > 1 ? 2 : 1;
  }
  [[nodiscard]] Index count() const { return count_; }
  [[nodiscard]] bool is_whole() const { return all_; }
  [[nodiscard]] Index coordinate(Index number) const { return all_ ? number : length_ / 2 - number; }
  // The number of the coordinate that stands for one.
  [[nodiscard]] Index number(Index coordinate) const {
    if (all_) return coordinate % count_;
    return count_ == 1 || coordinate % 2 == length_ / 2 % 2 ? 0 : 1;
  }

 private:
  Index length_;
  bool all_;
  Index count_;
};

// Which ranks are walked, and which of them stands for any rank.
class Representatives {
 public:
  explicit Representatives(const Program& program) : grid_(program.grid) {
    std::vector<Index> counts;
    bool has_short = false;
    for (std::size_t axis = 0; axis < grid_.dims().size(); ++axis) {
      axes_.emplace_back(program, axis);
      counts.push_back(axes_.back().count());
      has_short |= axes_.back().is_whole();
    }
    classes_ = Grid(counts);
    Index of_one = most_operations;
    if (has_short || grid_.size() <= most_operations_of_small) {
      of_one = std::max<Index>(1, program.import(grid_, grid_.middle()).operations());
    }
    if (grid_.size() <= most_operations_of_small / of_one) {
      choose_all(grid_.size());
      return;
    }
    too_many_ = has_short && classes_.size() > most_operations / of_one;
    if (!too_many_) choose_classes();
  }

  // Those of a tile of which the grid consists.
  Representatives(const Grid& grid, const std::vector<Index>& tile) : grid_(grid), classes_(tile), is_tile_(true) {
    for (std::size_t axis = 0; axis < tile.size(); ++axis) axes_.emplace_back(grid.dims()[axis], tile[axis]);
    choose_classes();
  }

  // The members of a team.
  explicit Representatives(const ExchangeSpec& spec) : grid_(rank_grid(spec)), teams_(spec) {
    for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
      if (spec.grid.periodic(axis)) continue;
      // Teams at a border have less to do than others, and in other steps.
      too_many_ = spec.ranks() > most_operations / std::max<Index>(1, make_alike(spec, spec.ranks() / 2).operations());
      choose_all(spec.ranks());
      return;
    }
    for (Index member = 0; member < teams_->members(0); ++member) ranks_.push_back(teams_->rank_of(0, member));
  }

  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] const std::vector<Index>& ranks() const { return ranks_; }
  // Of a grid whose borders were closed: how far messages go.
  void set_reach(std::vector<Reach> reach) { reach_ = std::move(reach); }
  [[nodiscard]] const std::vector<Reach>& reach() const { return reach_; }
  // Whether the axes without a middle (for teams: with borders) make too many ranks to be walked.
  [[nodiscard]] bool are_too_many() const { return too_many_; }
  // On which axes each coordinate stands for itself.
  [[nodiscard]] std::vector<bool> own() const {
    std::vector<bool> own;
    for (const AxisClasses& axis : axes_) own.push_back(all_ || axis.is_whole());
    return own;
  }
  [[nodiscard]] bool are_tile() const { return is_tile_; }
  [[nodiscard]] bool are_members() const { return teams_ && !all_; }

  // Names which ranks stand for which.
  [[nodiscard]] std::vector<Index> label() const {
    std::vector<Index> label{is_tile_ ? 2 : all_ ? 1 : 0, teams_ ? teams_->replication() : 0};
    for (const AxisClasses& axis : axes_) label.push_back(axis.count());
    return label;
  }

  // The position among the ranks of the one that stands for a rank; -1 where none does.
  [[nodiscard]] Index stand_in(Index rank, const Coords& coords) const {
    if (all_) return rank;
    if (ranks_.size() == 1) return 0;
    if (teams_) {
      const Index member = teams_->member_of(rank);
      return member < static_cast<Index>(ranks_.size()) ? member : -1;
    }
    Index number = 0;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      number = number * axes_[axis].count() + axes_[axis].number(coords[axis]);
    }
    return number;
  }
  [[nodiscard]] Index stand_in(Index rank) const { return stand_in(rank, grid_.coords(rank)); }

 private:
  void choose_classes() {
    for (Index number = 0; number < classes_.size(); ++number) {
      Coords coords = classes_.coords(number);
      for (std::size_t axis = 0; axis < coords.size(); ++axis) coords[axis] = axes_[axis].coordinate(coords[axis]);
      ranks_.push_back(grid_.cell(coords));
    }
  }
  void choose_all(Index ranks) {
    all_ = true;
    if (too_many_) return;
    ranks_.resize(static_cast<std::size_t>(ranks));
    std::iota(ranks_.begin(), ranks_.end(), Index{0});
  }

  Grid grid_;
  Grid classes_{{1}};
  std::vector<AxisClasses> axes_;
  std::optional<Teams> teams_;
  std::vector<Index> ranks_;
  std::vector<Reach> reach_;
  bool all_ = false;
  bool too_many_ = false;
  bool is_tile_ = false;
};

// The partners of the representatives, numbered as they are met.
class Partners {
 public:
  explicit Partners(const Grid& grid) : grid_(grid) {}

  std::uint32_t number(Index kind, const Coords& from, const Coords& to) {
    Coords offset(from.size());
    Index code = kind;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      const Index length = grid_.dims()[axis];
      offset[axis] = to[axis] - from[axis];
      if (grid_.periodic(static_cast<int>(axis))) {
        offset[axis] = (offset[axis] + length) % length;
        if (offset[axis] > length / 2) offset[axis] -= length;
      }
      code = code * (2 * length + 1) + offset[axis];
    }
    const auto [known, added] = number_of_.try_emplace(code, static_cast<std::uint32_t>(list_.size()));
    if (added) list_.push_back({kind, std::move(offset)});
    return known->second;
  }
  [[nodiscard]] const std::vector<Partner>& list() const { return list_; }

 private:
  const Grid& grid_;
  std::unordered_map<Index, std::uint32_t> number_of_;
  std::vector<Partner> list_;
};

// The schedules of the representatives, each message to the one that stands for its peer. Those of a tile have tags by which they
// meet what is expected from just there.
// placement: of the grid's ranks, for those of a tile.
template <class Make>
LinkedSchedules linked(const Representatives& chosen, Partners& partners, const Placement& placement, Make&& make) {
  LinkedSchedules part;
  std::map<std::pair<std::uint32_t, int>, int> tags;  // of a sender's partner, and its tag
  for (std::size_t number = 0; number < chosen.ranks().size(); ++number) {
    const Index rank = chosen.ranks()[number];
    const Coords own = chosen.grid().coords(rank);
    // Of a peer: its number, who stands for it, and whose partner this rank is to that one.
    struct Peer {
      std::uint32_t partner;
      Index stand_in;
      std::uint32_t reverse = 0;
      Route route = {};
    };
    std::unordered_map<Index, Peer> known{{rank, {0, static_cast<Index>(number)}}};
    RankSchedule& schedule = part.schedules.emplace_back(make(rank));
    for (Step& step : schedule.steps) {
      for (Op& op : step.ops) {
        const auto [found, added] = known.try_emplace(op.peer);
        if (added) {
          const Coords at = chosen.grid().coords(op.peer);
          const Index stand_in = chosen.stand_in(op.peer, at);
          found->second = {partners.number(static_cast<Index>(number), own, at), stand_in};
          if (chosen.are_tile()) {
            found->second.reverse = partners.number(stand_in, at, own);
            found->second.route = route_between(placement[rank], placement[op.peer], placement.levels());
          }
        }
        const Peer& peer = found->second;
        part.partners.push_back(peer.partner);
        op.peer = peer.stand_in;
        if (!chosen.are_tile()) continue;
        part.routes.push_back(peer.route);
        if (!op.moves()) continue;
        const std::uint32_t to = op.kind == Op::Kind::send ? peer.partner : peer.reverse;
        op.tag = tags.try_emplace({to, op.tag}, static_cast<int>(tags.size())).first->second;
      }
    }
  }
  return part;
}

std::vector<LinkedSchedules> link_parts(const Program& program, const Representatives& chosen, const Layout& layout,
                                        const Layout::Share& share = {}) {
  Partners partners(chosen.grid());
  std::vector<LinkedSchedules> parts;
  for (const auto* make : {&program.import, &program.reduce}) {
    if (!*make) continue;
    parts.push_back(linked(chosen, partners, layout.placement(), [&](Index rank) { return (*make)(program.grid, rank); }));
  }
  std::vector<Index> label = chosen.label();
  label.push_back(share ? 1 : 0);
  const auto census = layout.census(
      chosen.grid(), partners.list(), chosen.reach(), chosen.are_members(), label,
      [&chosen](Index rank, const Coords& coords) { return chosen.stand_in(rank, coords); }, share);
  for (LinkedSchedules& part : parts) {
    part.census = census;
    if (!chosen.are_tile()) fold_rounds(part);
  }
  return parts;
}

Walk walk_linked(const Program& program, const Representatives& chosen, const Layout& layout, const Layout::Share& share = {}) {
  return Walk(program.mode, link_parts(program, chosen, layout, share));
}

// The walk of all ranks of a small grid.
Walk walk_of_all(const Program& program, const Placement& placement) {
  const auto of_all = [&](const auto& make) {
    std::vector<RankSchedule> schedules;
    for (Index rank = 0; make && rank < program.grid.size(); ++rank) schedules.push_back(make(program.grid, rank));
    return schedules;
  };
  return Walk(program.mode, of_all(program.import), Walk::Of::exchange, of_all(program.reduce)).at(placement);
}

// The walk of a program on a part of its grid.
Walk walk_of_part(const Program& program, const std::vector<Index>& tile, const Placement& placement) {
  const Placement there = placement.of_first(program.grid.size());
  const auto walk = [&] {
    if (tile == program.grid.dims()) return walk_of_all(program, there);
    const Representatives chosen(program.grid, tile);
    return Walk(program.mode, link_parts(program, chosen, Layout(program.grid, there)),
                placement.of_first(static_cast<Index>(chosen.ranks().size())), placement.nodes());
  };
  return there.ranks() < placement.ranks() ? walk().in_place_of_longer() : walk();
}

// After how many coordinates of each axis ranks do the same.
std::vector<Index> repeats_of(const Program& program) {
  return std::vector<Index>(program.grid.dims().size(), program.in_turn ? 2 : 1);
}

// How far messages go on each axis.
std::vector<Index> farthest(const Program& program) {
  std::vector<Index> reach;
  std::ranges::transform(program.lower, program.upper, std::back_inserter(reach),
                         [](Index a, Index b) { return std::max(a, b); });
  return reach;
}

// How many of its offsets on an axis a rank gathers, and the most that any does.
Index gathered(const ExchangeSpec& spec, int axis, Index at) {
  const Index lower = spec.window.lower(axis);
  const Index upper = spec.window.upper(axis);
  if (spec.grid.periodic(axis)) return lower + upper + 1;
  return std::min(lower, at) + std::min(upper, spec.grid.dim(axis) - 1 - at) + 1;
}
Index gathered(const ExchangeSpec& spec, int axis) {
  const Index offsets = spec.window.lower(axis) + spec.window.upper(axis) + 1;
  return spec.grid.periodic(axis) ? offsets : std::min(offsets, spec.grid.dim(axis));
}

// Of what goes axis by axis, how much of what whoever stands for it forwards a rank does: what it has gathered along the axes after
// that of the message, which at a border is less. own: axes on which each coordinate stands for itself.
Layout::Share share_forwarded(const ExchangeSpec& spec, std::vector<bool> own) {
  return [&spec, own = std::move(own)](const Coords& coords, const Partner& partner) {
    const auto by = std::ranges::find_if(partner.offset, [](Index steps) { return steps != 0; });
    double share = 1.0;
    for (auto axis = static_cast<std::size_t>(by - partner.offset.begin()) + 1; axis < coords.size(); ++axis) {
      const int number = static_cast<int>(axis);
      if (own[axis]) continue;
      share *= static_cast<double>(gathered(spec, number, coords[axis])) / static_cast<double>(gathered(spec, number));
    }
    return share;
  };
}

// Brings the rank in the middle of a line to the front, and gives each message so many blocks for one of its own.
void make_part(LinkedSchedules& line, Index blocks) {
  std::vector<RankSchedule>& schedules = line.schedules;
  const std::size_t count = schedules.size();
  const std::size_t middle = count > 2 ? count / 2 : 0;
  std::vector<std::vector<std::uint32_t>> numbers(count);  // of partners
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < count; ++rank) {
    RankSchedule& schedule = schedules[rank];
    schedule.slots *= blocks;
    for (Step& step : schedule.steps) {
      for (Op& op : step.ops) {
        op.peer = static_cast<Index>((static_cast<std::size_t>(op.peer) + count - middle) % count);
        for (std::vector<SlotRange>* ranges : {&op.slots, &op.source}) {
          for (SlotRange& range : *ranges) range = {range.first * blocks, range.count * blocks};
        }
        numbers[rank].push_back(line.partners[next++]);
      }
    }
  }
  std::rotate(schedules.begin(), schedules.begin() + static_cast<std::ptrdiff_t>(middle), schedules.end());
  std::rotate(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(middle), numbers.end());
  line.partners.clear();
  for (const auto& own : numbers) line.partners.insert(line.partners.end(), own.begin(), own.end());
}

// What was counted along one axis of a grid, for partners on a line.
std::shared_ptr<const Census> census_of_line(const Representatives& chosen, const Partners& partners, const Grid& grid,
                                             int axis, const Layout& layout, const Layout::Share& share) {
  std::vector<Partner> on_grid;
  for (const Partner& partner : partners.list()) {
    Coords offset(static_cast<std::size_t>(grid.ndim()), 0);
    offset[static_cast<std::size_t>(axis)] = partner.offset[0];
    on_grid.push_back({partner.kind, std::move(offset)});
  }
  std::vector<Index> label = chosen.label();
  label.insert(label.end(), {axis, share ? 1 : 0});
  return layout.census(
      grid, on_grid, chosen.reach(), chosen.are_members(), label,
      [&](Index, const Coords& coords) { return chosen.stand_in(coords[static_cast<std::size_t>(axis)]); }, share);
}

// How far the messages of a program go on an open axis; on a ring as far as it is long.
std::vector<Reach> reach_of(const Program& program) {
  std::vector<Reach> reach;
  for (std::size_t axis = 0; axis < program.grid.dims().size(); ++axis) {
    const Index length = program.grid.dims()[axis];
    const bool ring = program.grid.periodic(static_cast<int>(axis));
    reach.push_back({ring ? length : program.lower[axis], ring ? length : program.upper[axis]});
  }
  return reach;
}

// A program on a ring in place of one whose borders are open: its messages go no further than that one's.
Walk walk_on_ring(const Program& ring, const Program& open, const Layout& layout) {
  Representatives chosen(ring);
  chosen.set_reach(reach_of(open));
  return walk_linked(ring, chosen, layout);
}

// The same exchange with its short open axes closed to rings on which every rank has as many partners as the one in the
// middle has; of teams, which pass on what the whole window holds, all open axes.
ExchangeSpec closed(const ExchangeSpec& spec) {
  const bool teams = exchange_algorithm(spec.algorithm).has_teams;
  const Program program = program_of(spec);
  std::vector<bool> periodic;
  std::vector<Index> lower;
  std::vector<Index> upper;
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    const bool shrinks = !teams && !has_middle(program, static_cast<std::size_t>(axis));
    const Index others = gathered(spec, axis) - 1;
    const bool both = spec.window.lower(axis) > 0;
    periodic.push_back(teams || shrinks || spec.grid.periodic(axis));
    lower.push_back(!shrinks ? spec.window.lower(axis) : both ? others / 2 : 0);
    upper.push_back(!shrinks ? spec.window.upper(axis) : both ? others - others / 2 : others);
  }
  return {spec.algorithm,   spec.mode,      Grid(spec.grid.dims(), periodic), Window(lower, upper, spec.window.shell()),
          spec.replication, spec.team_boxes};
}

}  // namespace

Grid rank_grid(const ExchangeSpec& spec) {
  if (spec.team_boxes != TeamBoxes::replicated) return spec.grid;
  std::vector<Index> dims = spec.grid.dims();
  std::vector<bool> periodic = spec.grid.periodic();
  dims.push_back(spec.replication);
  periodic.push_back(false);
  return Grid(std::move(dims), std::move(periodic));
}

// What goes axis by axis, walked as one line after the other: those through the rank that has most to do, in the middle of
// all axes. blocks: what each axis' messages have for one block of the line.
Walk walk_of_shift(const ExchangeSpec& spec, const std::vector<Index>& blocks, const Layout& layout, bool gathers) {
  std::vector<std::vector<LinkedSchedules>> directions(includes_reduce(spec) ? 2 : 1);  // the import and the way back
  std::size_t ranks = 0;
  for (int axis = spec.grid.ndim(); axis-- > 0;) {
    ExchangeSpec line{spec.algorithm, spec.mode, Grid({spec.grid.dim(axis)}, {spec.grid.periodic(axis)}),
                      Window({spec.window.lower(axis)}, {spec.window.upper(axis)}, spec.window.shell())};
    Representatives chosen(program_of(line));
    if (chosen.are_too_many()) {
      line = closed(line);
      chosen = Representatives(program_of(line));
    }
    Partners partners(chosen.grid());
    for (std::size_t direction = 0; direction < directions.size(); ++direction) {
      const auto make = direction == 0 ? make_schedule : make_reduce;
      directions[direction].push_back(
          linked(chosen, partners, layout.placement(), [&](Index rank) { return make(line, rank); }));
    }
    const auto census =
        census_of_line(chosen, partners, spec.grid, axis, layout,
                       gathers ? share_forwarded(spec, std::vector<bool>(spec.grid.dims().size())) : Layout::Share());
    for (auto& direction : directions) {
      direction.back().census = census;
      make_part(direction.back(), blocks[static_cast<std::size_t>(axis)]);
    }
    ranks = std::max(ranks, chosen.ranks().size());
  }
  std::vector<LinkedSchedules> parts = std::move(directions.front());
  if (directions.size() > 1) std::move(directions.back().rbegin(), directions.back().rend(), std::back_inserter(parts));
  for (LinkedSchedules& part : parts) part.schedules.resize(ranks);  // shorter lines have nothing for the rest
  return Walk(spec.mode, std::move(parts));
}

namespace {

std::vector<LinkedSchedules> link_teams(const ExchangeSpec& spec, const Layout& layout) {
  const Representatives chosen(spec);
  if (chosen.are_too_many()) return link_teams(closed(spec), layout);
  return link_parts(program_of(spec), chosen, layout);
}

std::optional<Part> part_of(const ExchangeSpec& spec, const Placement& placement) {
  const ExchangeAlgorithm& algorithm = exchange_algorithm(spec.algorithm);
  if (algorithm.needs_nodes) return {};
  Program program = program_of(spec);
  if (!algorithm.has_teams) {
    const Index operations = make_alike(spec, spec.grid.middle()).operations();
    return part_of(spec.grid, farthest(program), repeats_of(program), operations, placement);
  }
  // Teams that are alike, on grids without borders.
  const Teams teams(spec);
  const auto& periodic = spec.grid.periodic();
  if (std::ranges::find(periodic, false) != periodic.end() || teams.visits(0) > most_operations_of_all) return {};
  program.grid = rank_grid(spec);
  std::vector<Index> extents;
  for (std::size_t axis = 0; axis < program.grid.dims().size(); ++axis) {
    const Index of_teams = axis < periodic.size() ? teams.grid().dims()[axis] : 1;
    if (program.grid.dims()[axis] % of_teams != 0) return {};
    extents.push_back(program.grid.dims()[axis] / of_teams);
  }
  Index operations = 0;
  for (Index member = 0; member < teams.members(0); ++member) {
    operations = std::max(operations, make_alike(spec, teams.rank_of(0, member)).operations());
  }
  return part_of(program.grid, program.grid.dims(), std::move(extents), operations, placement);
}

bool is_small(const ExchangeSpec& spec) {
  const Index ranks = spec.ranks();
  if (exchange_algorithm(spec.algorithm).needs_nodes) return operations_of_nodes(spec) <= most_operations_of_all;
  return 2 * ranks <= most_operations_of_all && make_alike(spec, ranks / 2).operations() <= most_operations_of_all / ranks;
}

}  // namespace

Walk walk_of_representatives(const ExchangeSpec& spec, const Layout& layout) {
  const ExchangeAlgorithm& algorithm = exchange_algorithm(spec.algorithm);
  if (algorithm.needs_nodes) return walk_of_nodes(spec, layout.placement());
  if (algorithm.has_teams) return Walk(spec.mode, link_teams(spec, layout));
  const Program program = program_of(spec);
  const Representatives chosen(program);
  if (!chosen.are_too_many()) {
    return walk_linked(program, chosen, layout, algorithm.by_axis ? share_forwarded(spec, chosen.own()) : Layout::Share());
  }
  if (!algorithm.by_axis) {
    const ExchangeSpec ring = closed(spec);
    return walk_on_ring(program_of(ring), program, layout);
  }
  std::vector<Index> blocks(spec.grid.dims().size(), 1);
  for (int axis = spec.grid.ndim() - 1; axis > 0; --axis) {
    blocks[static_cast<std::size_t>(axis) - 1] = blocks[static_cast<std::size_t>(axis)] * gathered(spec, axis);
  }
  return walk_of_shift(spec, blocks, layout, true);
}

Walk walk_of_halo(const ExchangeSpec& spec, const std::vector<Index>& blocks, const Layout& layout) {
  const std::optional<Part> part = part_of(spec, layout.placement());
  if (!part && !is_small(spec)) return walk_of_shift(spec, blocks, layout);
  ExchangeSpec smaller = spec;
  if (part) smaller.grid = part->grid;
  Program program = program_of(smaller);
  program.import = [&smaller, &blocks](const Grid& grid, Index rank) {
    RankSchedule schedule = make_schedule(smaller, rank);
    const Coords own = grid.coords(rank);
    for (Step& step : schedule.steps) {
      for (Op& op : step.ops) {
        const auto along = std::ranges::mismatch(own, grid.coords(op.peer)).in1 - own.begin();
        if (op.moves()) op.slots = {{0, blocks[static_cast<std::size_t>(along)]}};
      }
    }
    return schedule;
  };
  return part ? walk_of_part(program, part->tile, layout.placement()) : walk_of_all(program, layout.placement());
}

Walk walk_of(const ExchangeSpec& spec, const Layout& layout) { return Walks(layout).of(spec); }

Walk Walks::of(const ExchangeSpec& spec) {
  const bool has_teams = exchange_algorithm(spec.algorithm).has_teams;
  if (const std::optional<Part> part = part_of(spec, layout_.placement())) {
    ExchangeSpec smaller = spec;
    if (!has_teams) smaller.grid = part->grid;
    Program program = program_of(smaller);
    program.grid = part->grid;
    program.import = [&smaller](const Grid&, Index rank) { return make_schedule(smaller, rank); };
    if (program.reduce) program.reduce = [&smaller](const Grid&, Index rank) { return make_reduce(smaller, rank); };
    return walk_of_part(program, part->tile, layout_.placement());
  }
  if (!has_teams) {
    return is_small(spec) ? Walk(spec).at(layout_.placement()) : walk_of_representatives(spec, layout_);
  }
  // Pooled teams send the same in every mode; only where a member's sends are several do these wait for each other.
  const bool replicated = spec.team_boxes == TeamBoxes::replicated;
  std::vector<Index> key{spec.replication, replicated ? 1 : 0, replicated && is_blocking(spec.mode) ? 1 : 0};
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    for (const Index value : {spec.window.lower(axis), spec.window.upper(axis), spec.grid.dim(axis)}) key.push_back(value);
    key.push_back(spec.grid.periodic(axis) ? 1 : 0);
  }
  const auto [known, added] = teams_.try_emplace(std::move(key));
  if (added && !is_small(spec)) known->second = link_teams(spec, layout_);
  return known->second.empty() ? Walk(spec).at(layout_.placement()) : Walk(spec.mode, known->second);
}

Walk walk_of(const Program& program, const Layout& layout) {
  const Index ranks = program.grid.size();
  const Index operations = program.import(program.grid, program.grid.middle()).operations();
  if (const auto part = part_of(program.grid, farthest(program), repeats_of(program), operations, layout.placement())) {
    Program smaller = program;
    smaller.grid = part->grid;
    return walk_of_part(smaller, part->tile, layout.placement());
  }
  const bool small =
      ranks <= most_operations_of_all && program.import(program.grid, ranks / 2).operations() <= most_operations_of_all / ranks;
  return small ? walk_of_all(program, layout.placement()) : walk_of_representatives(program, layout);
}

Walk walk_of_representatives(const Program& program, const Layout& layout) {
  const Representatives chosen(program);
  if (!chosen.are_too_many()) return walk_linked(program, chosen, layout);
  // Short open axes closed to rings: the rank in the middle has all partners that exist for any rank.
  Program ring = program;
  std::vector<bool> periodic;
  Coords middle;
  for (std::size_t axis = 0; axis < program.grid.dims().size(); ++axis) {
    periodic.push_back(program.grid.periodic(static_cast<int>(axis)) || !has_middle(program, axis));
    middle.push_back((program.grid.dims()[axis] - 1) / 2);
  }
  ring.grid = Grid(program.grid.dims(), periodic);
  const RankSchedule of_middle = program.import(program.grid, program.grid.cell(middle));
  std::vector<Coords> offsets;
  std::vector<Index> weights;
  for (const Step& step : of_middle.steps) {
    for (const Op& op : step.ops) {
      if (op.kind != Op::Kind::send) continue;
      Coords offset = program.grid.coords(op.peer);
      for (std::size_t axis = 0; axis < offset.size(); ++axis) offset[axis] -= middle[axis];
      offsets.push_back(std::move(offset));
      weights.push_back(op.blocks());
    }
  }
  ring.import = [offsets, weights, mode = program.mode](const Grid& on, Index rank) {
    return one_step(on, rank, offsets, weights, mode);
  };
  return walk_on_ring(ring, program, layout);
}

}  // namespace rankwise
