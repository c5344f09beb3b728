#include "mapping/tubes.hpp"

#include <algorithm>

#include "mapping/random.hpp"

namespace rankwise {

namespace {

Index rounded_up(Index numerator, Index denominator) { return numerator > 0 ? (numerator + denominator - 1) / denominator : 0; }

}  // namespace

TubeCosts::Known::Known() : entries_(1024, Entry{{-1}, 0}) {}

std::size_t TubeCosts::Known::place(const Key& key) const {
  std::uint64_t hash = 0;
  for (const Index part : key) hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15U;
  std::size_t at = (hash ^ (hash >> 32)) & (entries_.size() - 1);
  while (entries_[at].key[0] >= 0 && entries_[at].key != key) at = (at + 1) & (entries_.size() - 1);
  return at;
}

std::pair<Index*, bool> TubeCosts::Known::find(const Key& key) {
  std::size_t at = place(key);
  if (entries_[at].key[0] >= 0) return {&entries_[at].value, false};
  if (++used_ > entries_.size() / 2) {
    std::vector<Entry> old(entries_.size() * 2, Entry{{-1}, 0});
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.key[0] >= 0) entries_[place(entry.key)] = entry;
    }
    at = place(key);
  }
  entries_[at].key = key;
  return {&entries_[at].value, true};
}

TubeCosts::TubeCosts(const Stencil& stencil, const TubeAxes& axes) : over_slowest_(axes.over_slowest) {
  const auto component = [](const Coords& offset, int axis) {
    return axis < 0 ? Index{0} : offset[static_cast<std::size_t>(axis)];
  };
  for (std::size_t k = 0; k < stencil.offsets().size(); ++k) {
    const Coords& offset = stencil.offsets()[k];
    const Shift shift{component(offset, axes.along), component(offset, axes.across), component(offset, axes.over),
                      stencil.weights()[k]};
    // An offset along a further axis leaves every piece, whatever its shape.
    const bool inside = std::ranges::count(offset, 0) + (shift.a != 0) + (shift.b != 0) + (shift.c != 0) == stencil.ndim();
    if (!inside) continue;
    // There and back join the same cells.
    const auto is_back = [&](const Shift& w) { return w.a == -shift.a && w.b == -shift.b && w.c == -shift.c; };
    const auto back = std::ranges::find_if(shifts_, is_back);
    if (back == shifts_.end()) {
      shifts_.push_back(shift);
    } else {
      back->weight += shift.weight;
    }
    reach_b_ = std::max(reach_b_, std::abs(shift.b));
    reach_c_ = std::max(reach_c_, std::abs(shift.c));
  }
}

Index TubeCosts::leaving(const TubeShape& shape, Index phase, Index count) {
  const Key key{0, shape.height, shape.depth, phase, count, 0, 0};
  const auto [value, is_new] = known_.find(key);
  work_ += 4;
  if (is_new) *value = compute_leaving(shape, phase, count);
  return *value;
}

double TubeCosts::leaving_block(const TubeShape& shape, Index count) const {
  const double length = std::max(1.0, static_cast<double>(count) / static_cast<double>(shape.plane()));
  double result = 0;
  for (const Shift& shift : shifts_) {
    const auto left = [](double size, Index step) { return std::max(0.0, 1 - static_cast<double>(std::abs(step)) / size); };
    const double kept = left(length, shift.a) * left(static_cast<double>(shape.height), shift.b) *
                        left(static_cast<double>(shape.depth), shift.c);
    result += static_cast<double>(shift.weight) * (1 - kept);
  }
  return result * static_cast<double>(count);
}

Index TubeCosts::shared(const TubeShape& shape, Index last, const TubeShape& next, Index first, bool over) {
  const Key key{over ? 2 : 1, shape.height, shape.depth, last, next.height, next.depth, first};
  const auto [value, is_new] = known_.find(key);
  work_ += 4;
  if (is_new) *value = compute_shared(shape, last, next, first, over);
  return *value;
}

void TubeCosts::cut_lines(const TubeShape& shape, Index phase, Index count, Index height, Index depth,
                          std::vector<Segment>& lines) {
  const Index plane = shape.plane();
  if (lines.size() < static_cast<std::size_t>(plane)) lines.resize(static_cast<std::size_t>(plane));
  work_ += height * depth * (6 + static_cast<Index>(shifts_.size()));
  for (Index b = 0; b < height; ++b) {
    for (Index c = 0; c < depth; ++c) {
      const Index at = place(shape, b, c);
      lines[static_cast<std::size_t>(b * shape.depth + c)] = {rounded_up(phase - at, plane),
                                                              rounded_up(phase + count - at, plane)};
    }
  }
}

Index TubeCosts::compute_leaving(const TubeShape& shape, Index phase, Index count) {
  cut_lines(shape, phase, count, shape.height, shape.depth, lines_);
  Index result = 0;
  for (const Shift& shift : shifts_) {
    Index kept = 0;
    for (Index b = std::max<Index>(0, -shift.b); b < std::min(shape.height, shape.height - shift.b); ++b) {
      for (Index c = std::max<Index>(0, -shift.c); c < std::min(shape.depth, shape.depth - shift.c); ++c) {
        const Segment& from = lines_[static_cast<std::size_t>(b * shape.depth + c)];
        const Segment& to = lines_[static_cast<std::size_t>((b + shift.b) * shape.depth + c + shift.c)];
        kept += std::max<Index>(0, std::min(from.end + shift.a, to.end) - std::max(from.begin + shift.a, to.begin));
      }
    }
    result += shift.weight * (count - kept);
  }
  return result;
}

Index TubeCosts::compute_shared(const TubeShape& shape, Index last, const TubeShape& next, Index first, bool over) {
  // Seen from the end of the first tube both pieces begin at the same plane: mirrored, its last cells are its first.
  // Only lines that an offset can join matter; of the mirrored tube those, too, count from 0.
  const Index height = over ? next.height : std::min(next.height, reach_b_);
  const Index depth = over ? std::min(next.depth, reach_c_) : next.depth;
  cut_lines(shape, 0, last, over ? shape.height : std::min(shape.height, reach_b_),
            over ? std::min(shape.depth, reach_c_) : shape.depth, lines_);
  cut_lines(next, 0, first, height, depth, next_lines_);
  Index result = 0;
  for (Index b2 = 0; b2 < height; ++b2) {
    for (Index c2 = 0; c2 < depth; ++c2) {
      const Segment& from = next_lines_[static_cast<std::size_t>(b2 * next.depth + c2)];
      if (from.begin >= from.end) continue;
      const Index b = over ? shape.height - 1 - b2 : shape.height + b2;
      const Index c = over ? shape.depth + c2 : c2;
      for (const Shift& shift : shifts_) {
        for (const Index sign : {1, -1}) {
          const Index to_b = b + sign * shift.b;
          const Index to_c = c + sign * shift.c;
          if (to_b < 0 || to_b >= shape.height || to_c < 0 || to_c >= shape.depth) continue;
          const Index mirrored = (shape.height - 1 - to_b) * shape.depth + (shape.depth - 1 - to_c);
          const Segment& to = lines_[static_cast<std::size_t>(mirrored)];
          const Index a = sign * shift.a;
          result += shift.weight * std::max<Index>(0, std::min(from.end + a, to.end) - std::max(from.begin + a, to.begin));
        }
      }
    }
  }
  return result;
}

}  // namespace rankwise
