#include "halo/halo.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>

namespace rankwise {

namespace {

void require(bool holds, const std::string& message) {
  if (!holds) invalid(message);
}

}  // namespace

HaloReaches reaches(const HaloLine& line, Index lower, Index upper) {
  require(lower >= 0 && upper >= 0, "a halo width is negative: give 0 or more");
  const auto require_extent = [&](Index extent) {
    require(extent > line.overlap, "a box has " + std::to_string(extent) + " elements on an axis, of which neighbours share " +
                                       std::to_string(line.overlap) + ": give every rank more");
  };
  require_extent(line.extent);
  const Index n = line.extent;
  const Index overlap = line.overlap;
  HaloReaches all;
  all.receives.push_back({0, {0, n}, {0, n}});
  all.sends.push_back({0, {0, n}, {0, n}});
  // Upwards: what they own beyond what this side has, until the halo is full; and of this rank's own, what they need.
  Index end = n;              // of what is known above, in own coordinates
  Index start = n - overlap;  // where the box of the rank above begins
  Index offset = 0;
  for (const Index extent : line.above) {
    require_extent(extent);
    ++offset;
    const Interval ghost{end, std::min(end + extent - overlap, n + upper)};
    if (ghost.length() > 0) all.receives.push_back({offset, ghost, {ghost.begin - end + overlap, ghost.end - end + overlap}});
    const Interval owned{std::max(start - lower, Index{0}), std::min(start, n - overlap)};
    if (owned.length() > 0) all.sends.push_back({-offset, {}, owned});
    end += extent - overlap;
    start += extent - overlap;
  }
  Index begin = 0;
  Index stop = overlap;  // where the box of the rank below ends
  offset = 0;
  for (const Index extent : line.below) {
    require_extent(extent);
    --offset;
    const Interval ghost{std::max(begin - extent + overlap, -lower), begin};
    begin -= extent - overlap;
    if (ghost.length() > 0) all.receives.push_back({offset, ghost, {ghost.begin - begin, ghost.end - begin}});
    const Interval owned{std::max(stop, overlap), std::min(stop + upper, n)};
    if (owned.length() > 0) all.sends.push_back({-offset, {}, owned});
    stop -= extent - overlap;
  }
  std::ranges::sort(all.receives, {}, &HaloReach::offset);
  std::ranges::sort(all.sends, {}, &HaloReach::offset);
  return all;
}

bool reaches_further(const std::vector<Index>& known, Index overlap, Index width) {
  Index covered = 0;
  for (const Index extent : known) covered += extent - overlap;
  return covered < width;
}

namespace {

using Intervals = std::vector<Interval>;  // of each axis

// What a rank has to do with the ranks of one coordinate, on one axis: all images, and their union in pieces.
struct Group {
  Index coordinate = 0;
  std::vector<HaloReach> reaches;
  std::vector<Interval> pieces;
};

std::vector<Interval> joined(const std::vector<HaloReach>& reaches) {
  std::vector<Interval> sorted;
  for (const HaloReach& reach : reaches) sorted.push_back(reach.owned);
  std::ranges::sort(sorted, {}, &Interval::begin);
  std::vector<Interval> pieces;
  for (const Interval& next : sorted) {
    if (!pieces.empty() && next.begin <= pieces.back().end) {
      pieces.back().end = std::max(pieces.back().end, next.end);
    } else {
      pieces.push_back(next);
    }
  }
  return pieces;
}

// What each of several axes has of something: member of each.
template <class Axes, class Member>
auto lists(const Axes& axes, Member member) {
  std::vector<std::span<const typename std::decay_t<decltype(std::invoke(member, axes.front()))>::value_type>> all;
  for (const auto& axis : axes) all.emplace_back(std::invoke(member, axis));
  return all;
}

// Calls each with one of every list, for all such choices in row-major order.
template <class Item, class Each>
void each_choice(const std::vector<std::span<const Item>>& lists, Each each) {
  if (std::ranges::any_of(lists, [](const auto& list) { return list.empty(); })) return;
  std::vector<const Item*> chosen;
  for (const auto& list : lists) chosen.push_back(list.data());
  while (true) {
    each(chosen);
    std::size_t axis = lists.size();
    while (axis > 0 && ++chosen[axis - 1] == lists[axis - 1].data() + lists[axis - 1].size()) {
      --axis;
      chosen[axis] = lists[axis].data();
    }
    if (axis == 0) return;
  }
}

using AxisReaches = std::vector<HaloReaches>;  // of each axis of a field
using Groups = std::vector<const Group*>;      // one of each axis
using Image = std::vector<const HaloReach*>;   // likewise

Intervals stretches(const Image& image, Interval HaloReach::* which) {
  Intervals box;
  for (const HaloReach* reach : image) box.push_back(reach->*which);
  return box;
}

BoxCells lengths(const Intervals& box) {
  BoxCells extent{};
  for (std::size_t axis = 0; axis < box.size(); ++axis) extent[axis] = box[axis].length();
  return extent;
}

// Where a box begins in memory of such steps.
Bytes place(const Intervals& box, const BoxSteps& step) {
  Bytes bytes = 0;
  for (std::size_t axis = 0; axis < box.size(); ++axis) bytes += box[axis].begin * step[axis];
  return bytes;
}

class Maker {
 public:
  explicit Maker(const HaloSpec& spec) : spec_(spec), coords_(spec.grid.coords(spec.rank)) {}

  // Adds to a stage the messages of one field between this rank and all that the stretches of the axes lead to.
  void add(HaloStage& stage, std::size_t f, const AxisReaches& axes) const {
    each_peer(axes, +1, [&](Index peer, const Groups& chosen) {
      if (peer == spec_.rank) {
        each_image(chosen, [&](const Image& image) { add_local(stage, f, image, &HaloReach::owned, &HaloReach::ghost); });
      } else {
        add_receive(section(stage.receives, peer, f), f, chosen);
      }
    });
    each_peer(axes, -1, [&](Index peer, const Groups& chosen) {
      if (peer == spec_.rank) return;
      HaloSection& own = section(stage.sends, peer, f);
      each_piece(chosen, [&](const Intervals& piece) { append(own, f, piece, /*into_message=*/true); });
    });
  }

  // Adds what is read from the fields of some ranks, image by image.
  void add_pulls(HaloStage& stage, std::size_t f, const AxisReaches& axes, const std::vector<HaloSource>& sources) const {
    for (const HaloSource& source : sources) static_cast<void>(section(stage.pulls, source.peer, f));
    each_region(axes, +1, [&](Index peer, const Image& image) {
      const auto source = std::ranges::lower_bound(sources, peer, {}, &HaloSource::peer);
      if (source == sources.end() || source->peer != peer) return;
      HaloSection& own = section(stage.pulls, peer, f);
      const Intervals owned = stretches(image, &HaloReach::owned);
      BoxCopy copy = copy_of(f, lengths(owned), source->steps[f], spec_.fields[f].step);
      copy.from += place(owned, source->steps[f]);
      copy.into = place(stretches(image, &HaloReach::ghost), spec_.fields[f].step);
      own.copies.push_back(copy);
      own.bytes += copy.bytes();
    });
  }

  // Adds the way back, region by region: every ghost contributes once, in the order of the offsets.
  void add_back(HaloStage& stage, std::size_t f, const AxisReaches& axes) const {
    each_region(axes, +1, [&](Index peer, const Image& image) {
      if (peer == spec_.rank) {
        add_local(stage, f, image, &HaloReach::ghost, &HaloReach::owned);
      } else {
        append(section(stage.sends, peer, f), f, stretches(image, &HaloReach::ghost), /*into_message=*/true);
      }
    });
    each_region(axes, -1, [&](Index peer, const Image& image) {
      if (peer == spec_.rank) return;
      append(section(stage.receives, peer, f), f, stretches(image, &HaloReach::owned), /*into_message=*/false);
    });
  }

  void add_regions(std::vector<HaloRegion>& regions, std::size_t f, const AxisReaches& axes) const {
    each_region(axes, +1, [&](Index peer, const Image& image) {
      HaloRegion region{{}, peer, spec_.fields[f].element_bytes};
      for (std::size_t axis = 0; axis < image.size(); ++axis) {
        if (static_cast<int>(axis) < spec_.grid.ndim()) region.offset.push_back(image[axis]->offset);
        region.bytes *= static_cast<std::size_t>(image[axis]->owned.length());
      }
      const auto same = std::ranges::find(regions, region.offset, &HaloRegion::offset);
      if (same == regions.end()) {
        regions.push_back(std::move(region));
      } else {
        same->bytes += region.bytes;
      }
    });
  }

 private:
  [[nodiscard]] Index coordinate(std::size_t axis, Index delta) const {
    return static_cast<int>(axis) < spec_.grid.ndim() ? spec_.grid.shifted(static_cast<int>(axis), coords_[axis], delta) : 0;
  }

  // direction, here and below: +1: what is received, whose offsets lead to the peer; -1: what is sent, where the peer sees this
  // rank at the offset.
  static auto of(int direction) { return direction > 0 ? &HaloReaches::receives : &HaloReaches::sends; }

  [[nodiscard]] std::vector<Group> groups(std::size_t axis, const HaloReaches& reaches, int direction) const {
    std::map<Index, Group> found;
    for (const HaloReach& reach : reaches.*of(direction)) {
      const Index c = coordinate(axis, direction * reach.offset);
      found[c].coordinate = c;
      found[c].reaches.push_back(reach);
    }
    std::vector<Group> all;
    for (auto& [c, group] : found) {
      group.pieces = joined(group.reaches);
      all.push_back(std::move(group));
    }
    return all;
  }

  [[nodiscard]] Index rank_of(const std::vector<Index>& coordinates) const {
    return spec_.grid.cell(Coords(coordinates.begin(), coordinates.begin() + spec_.grid.ndim()));
  }

  template <class Each>
  void each_peer(const AxisReaches& axes, int direction, Each each) const {
    std::vector<std::vector<Group>> all;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) all.push_back(groups(axis, axes[axis], direction));
    each_choice(lists(all, std::identity{}), [&](const Groups& chosen) {
      std::vector<Index> coordinates;
      for (const Group* group : chosen) coordinates.push_back(group->coordinate);
      each(rank_of(coordinates), chosen);
    });
  }

  static bool is_own(const Image& image) {
    return std::ranges::all_of(image, [](const HaloReach* reach) { return reach->offset == 0; });
  }

  // All regions but the own box.
  template <class Each>
  void each_region(const AxisReaches& axes, int direction, Each each) const {
    each_choice(lists(axes, of(direction)), [&](const Image& image) {
      if (is_own(image)) return;
      std::vector<Index> coordinates;
      for (std::size_t axis = 0; axis < image.size(); ++axis) {
        coordinates.push_back(coordinate(axis, direction * image[axis]->offset));
      }
      each(rank_of(coordinates), image);
    });
  }

  // All images within the groups but the own box itself.
  template <class Each>
  static void each_image(const Groups& chosen, Each each) {
    each_choice(lists(chosen, &Group::reaches), [&](const Image& image) {
      if (!is_own(image)) each(image);
    });
  }

  template <class Each>
  static void each_piece(const Groups& chosen, Each each) {
    each_choice(lists(chosen, &Group::pieces), [&](const std::vector<const Interval*>& piece) {
      Intervals box;
      for (const Interval* stretch : piece) box.push_back(*stretch);
      each(box);
    });
  }

  [[nodiscard]] HaloSection& section(std::vector<HaloMessage>& messages, Index peer, std::size_t f) const {
    auto at = std::ranges::lower_bound(messages, peer, {}, &HaloMessage::peer);
    if (at == messages.end() || at->peer != peer) {
      at = messages.insert(at, HaloMessage{peer, std::vector<HaloSection>(spec_.fields.size())});
    }
    return at->sections[f];
  }

  // The steps of a packed box, its axes in the order of the spec, and its bytes.
  [[nodiscard]] BoxSteps packed(std::size_t f, const BoxCells& extent, std::size_t* bytes) const {
    const HaloField& field = spec_.fields[f];
    BoxSteps step{};
    auto next = static_cast<Bytes>(field.element_bytes);
    for (int i = field.ndim; i-- > 0;) {
      const auto axis = static_cast<std::size_t>(spec_.order.empty() ? i : spec_.order[static_cast<std::size_t>(i)]);
      step[axis] = next;
      next *= extent[axis];
    }
    *bytes = static_cast<std::size_t>(next);
    return step;
  }

  [[nodiscard]] BoxCopy copy_of(std::size_t f, const BoxCells& extent, const BoxSteps& from, const BoxSteps& into) const {
    return BoxCopy::of_box(spec_.fields[f].ndim, extent, spec_.fields[f].element_bytes, from, into);
  }

  void add_local(HaloStage& stage, std::size_t f, const Image& image, Interval HaloReach::* from,
                 Interval HaloReach::* into) const {
    const BoxSteps& step = spec_.fields[f].step;
    BoxCopy copy = copy_of(f, lengths(stretches(image, &HaloReach::owned)), step, step);
    copy.from = place(stretches(image, from), step);
    copy.into = place(stretches(image, into), step);
    stage.local[f].push_back(copy);
  }

  // One box at the end of a section.
  void append(HaloSection& section, std::size_t f, const Intervals& box, bool into_message) const {
    std::size_t bytes = 0;
    const BoxCells extent = lengths(box);
    const BoxSteps dense = packed(f, extent, &bytes);
    const BoxSteps& step = spec_.fields[f].step;
    BoxCopy copy = into_message ? copy_of(f, extent, step, dense) : copy_of(f, extent, dense, step);
    (into_message ? copy.into : copy.from) = static_cast<Bytes>(section.bytes);
    (into_message ? copy.from : copy.into) = place(box, step);
    section.copies.push_back(copy);
    section.bytes += bytes;
  }

  // Every image is cut out of the one piece that holds it.
  void add_receive(HaloSection& section, std::size_t f, const Groups& chosen) const {
    each_piece(chosen, [&](const Intervals& piece) {
      std::size_t bytes = 0;
      const BoxSteps dense = packed(f, lengths(piece), &bytes);
      each_image(chosen, [&](const Image& image) {
        const Intervals owned = stretches(image, &HaloReach::owned);
        for (std::size_t axis = 0; axis < piece.size(); ++axis) {
          if (owned[axis].begin < piece[axis].begin || owned[axis].begin >= piece[axis].end) return;
        }
        BoxCopy copy = copy_of(f, lengths(owned), dense, spec_.fields[f].step);
        copy.from = static_cast<Bytes>(section.bytes) + place(owned, dense) - place(piece, dense);
        copy.into = place(stretches(image, &HaloReach::ghost), spec_.fields[f].step);
        section.copies.push_back(copy);
      });
      section.bytes += bytes;
    });
  }

  const HaloSpec& spec_;
  Coords coords_;
};

void check(const HaloSpec& spec, HaloRoute route) {
  const auto axes = static_cast<std::size_t>(spec.grid.ndim());
  if (spec.fields.empty()) invalid("a halo needs at least one field");
  if (spec.lower.size() != axes || spec.upper.size() != axes) invalid("a halo needs two widths for each axis of the grid");
  if (route == HaloRoute::staged && !spec.corners) invalid("staged brings edges and corners along: take direct for faces only");
  for (const HaloField& field : spec.fields) {
    if (field.ndim < spec.grid.ndim() || field.ndim > most_halo_axes || field.lines.size() != axes) {
      invalid("a field has " + std::to_string(field.ndim) + " axes: give those of the grid, and at most " +
              std::to_string(most_halo_axes));
    }
  }
}

AxisReaches axis_reaches(const HaloSpec& spec, const HaloField& field) {
  AxisReaches all;
  double regions = 1.0;
  for (int axis = 0; axis < field.ndim; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (axis < spec.grid.ndim()) {
      all.push_back(reaches(field.lines[a], spec.lower[a], spec.upper[a]));
    } else {
      const HaloReach whole{0, {0, field.extent[a]}, {0, field.extent[a]}};
      all.push_back({{whole}, {whole}});
    }
    regions *= static_cast<double>(std::max(all.back().receives.size(), all.back().sends.size()));
  }
  if (regions > 1 << 20) invalid("the halo reaches over more than 2^20 boxes: make the widths smaller, or the boxes larger");
  return all;
}

std::vector<HaloReach> own(const std::vector<HaloReach>& reaches, bool is_own) {
  std::vector<HaloReach> kept;
  for (const HaloReach& reach : reaches) {
    if ((reach.offset == 0) == is_own) kept.push_back(reach);
  }
  return kept;
}

// The axis with its neighbours' stretches only; with the own one only; with the own one and all of the halo next to it.
HaloReaches neighbours_only(const HaloReaches& axis) { return {own(axis.receives, false), own(axis.sends, false)}; }
HaloReaches own_only(const HaloReaches& axis) { return {own(axis.receives, true), own(axis.sends, true)}; }
HaloReaches with_halo(const HaloReaches& axis) {
  Interval all = axis.receives.front().ghost;
  for (const HaloReach& reach : axis.receives) {
    all.begin = std::min(all.begin, reach.ghost.begin);
    all.end = std::max(all.end, reach.ghost.end);
  }
  const HaloReach whole{0, all, all};
  return {{whole}, {whole}};
}

// The axes of the grid in the order in which they are staged: the fastest first, so that the last messages are the longest
// rows; those of one rank at the end, where all that they copy need not travel.
std::vector<std::size_t> sequence(const HaloSpec& spec) {
  std::vector<std::size_t> axes;
  for (int i = spec.grid.ndim(); i-- > 0 && spec.order.empty();) axes.push_back(static_cast<std::size_t>(i));
  for (std::size_t i = spec.order.size(); i-- > 0;) {
    if (spec.order[i] < spec.grid.ndim()) axes.push_back(static_cast<std::size_t>(spec.order[i]));
  }
  std::ranges::stable_partition(axes, [&](std::size_t axis) { return spec.grid.dim(static_cast<int>(axis)) > 1; });
  return axes;
}

// The neighbours along one axis; of axes in `done` the halo, too, of all others the own stretch.
AxisReaches along(const AxisReaches& axes, std::size_t axis, std::span<const std::size_t> done) {
  AxisReaches chosen;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const bool is_done = std::ranges::find(done, a) != done.end();
    chosen.push_back(a == axis ? neighbours_only(axes[a]) : is_done ? with_halo(axes[a]) : own_only(axes[a]));
  }
  return chosen;
}

}  // namespace

std::size_t HaloMessage::bytes() const {
  return std::accumulate(sections.begin(), sections.end(), std::size_t{0},
                         [](std::size_t sum, const HaloSection& section) { return sum + section.bytes; });
}

Halo make_halo(const HaloSpec& spec, HaloRoute route) {
  check(spec, route);
  const Maker maker(spec);
  const auto axes = static_cast<std::size_t>(spec.grid.ndim());
  const HaloStage none{{}, {}, {}, std::vector<std::vector<BoxCopy>>(spec.fields.size())};
  Halo halo;
  halo.stages.assign(route == HaloRoute::staged ? axes : 1, none);
  halo.back = none;
  for (std::size_t f = 0; f < spec.fields.size(); ++f) {
    const AxisReaches all = axis_reaches(spec, spec.fields[f]);
    if (spec.corners) {
      maker.add_back(halo.back, f, all);
      maker.add_regions(halo.regions, f, all);
    }
    if (spec.corners && route == HaloRoute::direct) maker.add(halo.stages[0], f, all);
    const std::vector<std::size_t> staged = sequence(spec);
    for (std::size_t i = 0; i < axes; ++i) {
      if (route == HaloRoute::staged) maker.add(halo.stages[i], f, along(all, staged[i], std::span(staged).first(i)));
      if (spec.corners) continue;
      const AxisReaches faces = along(all, staged[i], {});
      maker.add(halo.stages[0], f, faces);
      maker.add_back(halo.back, f, faces);
      maker.add_regions(halo.regions, f, faces);
    }
  }
  std::ranges::sort(halo.regions, {}, &HaloRegion::offset);
  for (const HaloRegion& region : halo.regions) halo.ghost_bytes += region.bytes;
  return halo;
}

void read_from(Halo& halo, const HaloSpec& spec, const std::vector<HaloSource>& sources, const std::vector<Index>& readers) {
  const Maker maker(spec);
  HaloStage& stage = halo.stages.front();
  std::erase_if(stage.sends, [&](const HaloMessage& message) { return std::ranges::binary_search(readers, message.peer); });
  std::erase_if(stage.receives, [&](const HaloMessage& message) {
    return std::ranges::binary_search(sources, message.peer, {}, &HaloSource::peer);
  });
  for (std::size_t f = 0; f < spec.fields.size(); ++f) {
    const AxisReaches all = axis_reaches(spec, spec.fields[f]);
    if (spec.corners) maker.add_pulls(stage, f, all, sources);
    for (std::size_t axis = 0; axis < spec.lower.size() && !spec.corners; ++axis) {
      maker.add_pulls(stage, f, along(all, axis, {}), sources);
    }
  }
}

}  // namespace rankwise
