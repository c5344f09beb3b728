#include "mapping/isoperimetry.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

namespace rankwise {

namespace {

constexpr Index infinite = std::numeric_limits<Index>::max() / 4;
constexpr Index most_lookups = 3'000'000;

std::size_t at_size(Index n) { return static_cast<std::size_t>(n); }

// Of an axis, by layers: slope[j] is what each cell of layer j adds, the lower layers being there.
std::vector<Index> slopes(const std::vector<Index>& weights, Index length, bool periodic, Index most, bool within) {
  const auto sent = [&](Index q) {
    Index sum = 0;
    for (std::size_t a = 0; a < weights.size(); ++a) {
      const auto step = static_cast<Index>(a) + 1;
      if (within && !periodic) {
        sum += q < length ? weights[a] : 0;  // in halves: one end only
      } else {
        sum += (within ? 2 : 1) * weights[a] * (periodic ? std::min({step, q, length - q}) : std::min(step, q));
      }
    }
    return sum;
  };
  std::vector<Index> result;
  Index before = 0;
  for (Index q = 1; q <= std::min(length, most); ++q) {
    const Index now = sent(q);
    result.push_back(now - before);
    before = now;
  }
  return result;
}

// Adds an axis: n cells become layers of at most box cells each, one a slope, never growing.
Least with_axis(const Least& below, Index box, const std::vector<Index>& slope) {
  const auto most = static_cast<Index>(below.size()) - 1;
  const Index cap = std::min(box, most);
  const auto width = at_size(cap) + 1;
  const auto at = [&](Index rest, Index size) { return at_size(rest) * width + at_size(size); };
  // best[rest, size]: the rest in layers from j on, none above size. Alike layers need no counting where there are enough.
  std::vector<Index> best(at_size(most + 1) * width, infinite);
  for (Index size = 0; size <= cap; ++size) best[at(0, size)] = 0;
  auto counted = static_cast<Index>(slope.size());
  if (counted >= most || counted * most * cap > most_lookups) {
    while (counted > 0 && slope[at_size(counted - 1)] == 0) --counted;
    if (counted < static_cast<Index>(slope.size())) {
      for (Index rest = 1; rest <= most; ++rest) {
        for (Index size = 1; size <= cap; ++size) {
          Index& cost = best[at(rest, size)];
          cost = best[at(rest, size - 1)];
          if (size <= rest) cost = std::min(cost, below[at_size(size)] + best[at(rest - size, size)]);
        }
      }
    }
  }
  if (counted * most * cap > 2 * most_lookups) return {};
  for (Index j = counted - 1; j >= 0; --j) {
    std::vector<Index> level(best.size(), infinite);
    for (Index size = 0; size <= cap; ++size) level[at(0, size)] = 0;
    for (Index rest = 1; rest <= most; ++rest) {
      for (Index size = 1; size <= cap; ++size) {
        Index& cost = level[at(rest, size)];
        cost = level[at(rest, size - 1)];
        if (size > rest || best[at(rest - size, size)] >= infinite) continue;
        cost = std::min(cost, below[at_size(size)] + slope[at_size(j)] * size + best[at(rest - size, size)]);
      }
    }
    best = std::move(level);
  }
  Least least(below.size());
  for (Index n = 0; n <= most; ++n) least[at_size(n)] = std::min(infinite, best[at(n, cap)]);
  return least;
}

Least one_cell(Index most) {
  Least least(at_size(most) + 1, infinite);
  least[0] = 0;
  if (most > 0) least[1] = 0;
  return least;
}

// Nearest neighbours on endless axes, each with its weight.
Least least_of_neighbors(const std::vector<Index>& weights, Index most) {
  Least least = one_cell(most);
  Index box = 1;
  for (const Index weight : weights) {
    std::vector<Index> slope(at_size(most), 0);
    if (most > 0) slope[0] = weight;
    least = with_axis(least, box, slope);
    box = most;
  }
  return least;
}

void add(Least& to, const Least& more) {
  for (std::size_t n = 0; n < to.size(); ++n) to[n] += more[n];
}

// Takes as many linearly independent pairs as there are, the heaviest first: their weights.
std::vector<Index> take_independent(Pairs& pairs) {
  std::vector<std::pair<Index, Coords>> by_weight;
  for (const auto& [offset, weight] : pairs) by_weight.emplace_back(-weight, offset);
  std::ranges::stable_sort(by_weight, {}, [](const auto& entry) { return entry.first; });
  std::vector<std::vector<double>> reduced;
  std::vector<Index> taken;
  for (const auto& [weight, offset] : by_weight) {
    std::vector<double> row(offset.begin(), offset.end());
    for (const auto& other : reduced) {
      const auto pivot = static_cast<std::size_t>(std::ranges::find_if(other, [](double x) { return x != 0; }) - other.begin());
      const double factor = row[pivot] / other[pivot];
      for (std::size_t i = 0; i < row.size(); ++i) row[i] -= factor * other[i];
      row[pivot] = 0;
    }
    for (double& x : row) x = std::abs(x) < 1e-9 ? 0 : x;
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) continue;
    reduced.push_back(std::move(row));
    taken.push_back(-weight);
    pairs.erase(offset);
  }
  return taken;
}

// The most pairs that two lines of a and b cells have, at as many neighbouring shifts as length says.
Index laid_over(Index a, Index b, Index length) {
  const Index shorter = std::min(a, b);
  const Index level = std::abs(a - b) + 1;
  if (length <= level) return length * shorter;
  const Index rest = std::min(length - level, 2 * (shorter - 1));  // then shorter - 1 twice, and so on
  const Index twice = rest / 2;
  Index sum = level * shorter + 2 * (twice * (shorter - 1) - twice * (twice - 1) / 2);
  if (rest % 2 == 1) sum += shorter - 1 - twice;
  return sum;
}

// A kernel on a line as intervals: each of some length and weight.
std::map<Index, Index> intervals(const std::map<Index, Index>& kernel) {
  std::map<Index, Index> found;  // length to weight
  std::map<Index, Index> left = kernel;
  while (!left.empty()) {
    Index begin = left.begin()->first;
    Index end = begin;
    Index weight = infinite;
    for (auto next = left.find(end); next != left.end(); next = left.find(++end)) weight = std::min(weight, next->second);
    found[end - begin] += weight;
    for (Index at = begin; at < end; ++at) {
      if ((left[at] -= weight) == 0) left.erase(at);
    }
  }
  return found;
}

}  // namespace

Pairs pairs_of(const Stencil& stencil, const Grid& grid) {
  Pairs pairs;
  for (std::size_t k = 0; k < stencil.offsets().size(); ++k) {
    Coords offset = stencil.offsets()[k];
    for (std::size_t axis = 0; axis < offset.size(); ++axis) {
      const Index length = grid.dims()[axis];
      if (!grid.periodic(static_cast<int>(axis))) continue;
      offset[axis] = (offset[axis] % length + length) % length;
      if (2 * offset[axis] > length) offset[axis] -= length;
    }
    const auto first = std::ranges::find_if(offset, [](Index component) { return component != 0; });
    if (first == offset.end()) continue;
    if (*first < 0) {
      for (std::size_t axis = 0; axis < offset.size(); ++axis) {
        const bool half = grid.periodic(static_cast<int>(axis)) && 2 * offset[axis] == grid.dims()[axis];
        if (!half) offset[axis] = -offset[axis];
      }
    }
    pairs[offset] += stencil.weights()[k];
  }
  return pairs;
}

Least least_by_layers(const Pairs& pairs, const Grid& grid, const std::vector<std::size_t>& order, Index most, bool within) {
  const auto d = static_cast<std::size_t>(grid.ndim());
  std::vector<std::vector<Index>> along(d);
  Pairs others;
  for (std::size_t axis = 0; axis < d; ++axis) {
    Coords offset(d, 0);
    std::map<Index, Index> by_distance;
    for (const auto& [o, weight] : pairs) {
      offset[axis] = o[axis];
      if (o == offset) by_distance[o[axis]] = weight;
      offset[axis] = 0;
    }
    Index last = infinite;
    for (const auto& [distance, weight] : by_distance) {
      const bool follows = distance == static_cast<Index>(along[axis].size()) + 1;
      // Half the way round an axis is one cell, not two: its weight counts for one.
      const bool half = grid.periodic(static_cast<int>(axis)) && 2 * distance == grid.dims()[axis];
      const Index regular = follows ? std::min(half ? last / 2 : last, weight) : 0;
      if (regular > 0) along[axis].push_back(regular);
      last = follows ? regular : 0;
      offset[axis] = distance;
      if (weight > regular) others[offset] = weight - regular;
    }
  }
  for (const auto& [o, weight] : pairs) {
    if (std::ranges::count(o, 0) < static_cast<Index>(d) - 1) others[o] = weight;
  }
  if (within) {  // only what leads one step along an axis counts
    others.clear();
    for (auto& weights : along) weights.resize(std::min<std::size_t>(weights.size(), 1));
  }
  Least least = one_cell(most);
  Index box = 1;
  for (const std::size_t axis : order) {
    const Index length = grid.dims()[axis];
    least = with_axis(least, box, slopes(along[axis], length, grid.periodic(static_cast<int>(axis)), most, within));
    if (least.empty()) return {};
    box = std::min(most, box * length);
  }
  for (const auto& [offset, weight] : others) {
    Index open = infinite;  // cells on a line until an open axis ends it
    Index round = 1;        // or until it is back
    for (std::size_t axis = 0; axis < d; ++axis) {
      const Index step = std::abs(offset[axis]);
      if (step == 0) continue;
      const Index length = grid.dims()[axis];
      if (grid.periodic(static_cast<int>(axis))) {
        round = std::min(infinite, std::lcm(round, length / std::gcd(length, step)));
      } else {
        open = std::min(open, (length + step - 1) / step);
      }
    }
    for (Index n = 1; n <= most; ++n) {
      const Index lines = open < infinite ? (n + open - 1) / open : n % round == 0 ? 0 : 1;
      least[at_size(n)] += weight * lines;
    }
  }
  for (Index& value : least) value = std::min(value, infinite);
  return least;
}

Least least_by_lines(const Pairs& pairs, Index longest, Index most) {
  const auto within = [&] {  // of a line: pairs by its length
    std::vector<Index> value(at_size(most) + 1, 0);
    Index last = infinite;
    Index follows = 1;
    for (const auto& [o, weight] : pairs) {
      if (o[0] != 0) continue;
      last = o[1] == follows++ ? std::min(last, weight) : 0;
      for (Index l = 1; l <= most; ++l) {
        value[at_size(l)] += last * std::max<Index>(0, l - o[1]) + (weight - last) * (l - 1);
      }
    }
    return value;
  }();
  std::map<Index, Index> kernels[3];
  Pairs far;
  Index reach = 0;
  Index total = 0;
  for (const auto& [o, weight] : pairs) {
    if (o[0] > 2) {
      far[o] = weight;
      continue;
    }
    total += weight;
    reach = std::max(reach, o[0]);
    if (o[0] > 0) kernels[o[0]][o[1]] = weight;
  }
  const Index cap = std::min(longest, most);
  const auto width = at_size(cap) + 1;
  const auto between = [&](Index u) {
    std::vector<Index> value(width * width, 0);
    for (const auto& [length, weight] : intervals(kernels[u])) {
      for (Index a = 1; a <= cap; ++a) {
        for (Index b = 1; b <= cap; ++b) value[at_size(a) * width + at_size(b)] += weight * laid_over(a, b, length);
      }
    }
    return value;
  };
  const std::vector<Index> next = between(1);
  Least least(at_size(most) + 1, 0);
  if (reach < 2) {
    if (most * cap * cap > 10 * most_lookups) return {};
    std::vector<Index> best(least.size() * width, -infinite);  // [cells][last line]
    best[0] = 0;
    for (Index q = 1; q <= most; ++q) {
      Index top = 0;
      for (Index l = 1; l <= std::min(cap, q); ++l) {
        const Index* const from = &best[at_size(q - l) * width];
        const Index* const shared = &next[at_size(l) * width];
        Index value = -infinite;
        for (Index k = 0; k <= std::min(cap, q - l); ++k) value = std::max(value, from[k] + shared[k]);
        best[at_size(q) * width + at_size(l)] = value += within[at_size(l)];
        top = std::max(top, value);
      }
      least[at_size(q)] = q * total - top;
    }
  } else {
    if (most * cap * cap * cap > 34 * most_lookups) return {};
    const std::vector<Index> second = between(2);
    const std::size_t square = width * width;
    std::vector<Index> best(least.size() * square, -infinite);  // [cells][line before][last line]
    best[0] = 0;
    for (Index q = 1; q <= most; ++q) {
      Index top = 0;
      for (Index l = 1; l <= std::min(cap, q); ++l) {
        const Index* const from = &best[at_size(q - l) * square];
        for (std::size_t b = 0; b <= at_size(std::min(cap, q - l)); ++b) {
          Index value = -infinite;
          for (std::size_t a = 0; a <= std::min(width - 1, at_size(q - l) - b); ++a) {
            value = std::max(value, from[a * width + b] + second[at_size(l) * width + a]);
          }
          if (value < 0) continue;
          value += within[at_size(l)] + next[at_size(l) * width + b];
          best[at_size(q) * square + b * width + at_size(l)] = value;
          top = std::max(top, value);
        }
      }
      // A line left out: only what lies two lines apart still talks.
      for (std::size_t b = 1; b < width; ++b) {
        Index value = -infinite;
        for (std::size_t a = 0; a < width; ++a) value = std::max(value, best[at_size(q) * square + a * width + b]);
        best[at_size(q) * square + b * width] = value;
      }
      least[at_size(q)] = q * total - top;
    }
  }
  if (!far.empty()) add(least, least_by_sets(std::move(far), most));
  return least;
}

Index least_around(const Pairs& pairs, const Grid& grid, Index n) {
  if (grid.ndim() != 2) return 0;
  for (const auto& [o, weight] : pairs) {
    if (std::abs(o[0]) > 1 || std::abs(o[1]) > 1) return 0;
  }
  Index least = infinite;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Index length = grid.dims()[axis];
    if (!grid.periodic(static_cast<int>(axis)) || n < length) continue;
    // Each row across the axis is met. One that is not full sends at least W(0,1) along itself; a row and the next, each laid
    // over the other as well as can be, lose (length - 1) * weight of each interval of offsets between them.
    std::map<Index, Index> kernel;
    Index row = 0;
    for (const auto& [o, weight] : pairs) {
      if (o[axis] == 0) row += weight;
      if (o[axis] != 0) kernel[o[1 - axis] * o[axis]] += weight;
    }
    for (const auto& [steps, weight] : intervals(kernel)) row += (steps - 1) * weight;
    const Index across = grid.dims()[1 - axis];
    Index full = 0;
    if (grid.periodic(static_cast<int>(1 - axis))) full = across == 1 ? length : std::min(length, (n - length) / (across - 1));
    least = std::min(least, row * (length - full));
  }
  return least;
}

namespace {

// Of the 27-point stencil, by half, for each n: plane[s] is what s cells of a plane send at least, by half, with the
// 9-point one; the cut of a set is written c here.
//
// Pushed together along an axis, n cells are s_1 columns with level sets A = L_1, L_2, ... of s_t cells, each within the
// one before. Two neighbouring columns whose heights differ by x lose max(3x, 4 + x) >= 4 + x pairs where both are there;
// next to no column one of height h loses 3h = h + 2 + 2(h - 1). Summed: all differences of heights, which are sum_t c(s_t);
// 4 for each of the (8 s_1 - c(A)) / 2 pairs of columns and 2 for each of the c(A) at the rim, 16 s_1 together; 2 s_1 at
// the ends of columns; and 2(h - 1) at the rim, which is 2 for each pair of a cell of B = L_t, t > 1, and one outside A.
// There are e(B, outside A) = (c(B) + c(A) - c(A without B)) / 2 of these, and c(A without B) <= 8 (s_1 - s_t). So
//   cut >= 18 s_1 + c(s_1) + sum_{t > 1} [c(s_t) + max(0, c(s_t) + c(s_1) - 8 (s_1 - s_t))],
// and it is at least 2 s_1 + 3 sum_t c(s_t), as are all mixtures of both. Given s_1 a level's share depends on its own size
// alone. tallest: so many levels at most, 0: any. Empty where that would take long.
Least least_of_steep_sides(const std::vector<Index>& plane, Index tallest) {
  constexpr Index mixes = 5;
  constexpr Index largest = 200;
  const auto most = static_cast<Index>(plane.size()) - 1;
  if (most > largest) return {};
  std::vector<std::vector<Index>> lowest(at_size(mixes), std::vector<Index>(plane.size(), infinite));
  std::vector<Index> levels(plane.size());
  std::vector<Index> fewer(plane.size());
  std::vector<Index> share(plane.size());
  for (Index first = 1; first <= most; ++first) {
    for (Index mix = 1; mix <= mixes; ++mix) {
      const auto level = [&](Index s) {
        const Index rim = std::max<Index>(0, plane[at_size(s)] + plane[at_size(first)] - 4 * (first - s));
        return (mixes - mix) * 3 * plane[at_size(s)] + mix * (plane[at_size(s)] + rim);
      };
      const Index own = (mixes - mix) * (3 * plane[at_size(first)] + first) + mix * (plane[at_size(first)] + 9 * first);
      for (Index s = 1; s <= first; ++s) share[at_size(s)] = level(s);
      std::ranges::fill(levels, infinite);
      levels[0] = 0;
      const auto add_level = [&](const std::vector<Index>& below) {
        for (Index rest = 1; first + rest <= most; ++rest) {
          for (Index s = 1; s <= std::min(first, rest); ++s) {
            levels[at_size(rest)] = std::min(levels[at_size(rest)], share[at_size(s)] + below[at_size(rest - s)]);
          }
        }
      };
      if (tallest == 0) add_level(levels);
      for (Index number = 1; number < tallest; ++number) {
        fewer = levels;
        add_level(fewer);
      }
      for (Index rest = 0; first + rest <= most; ++rest) {
        Index& least = lowest[at_size(mix - 1)][at_size(first + rest)];
        least = std::min(least, std::min(infinite, own + levels[at_size(rest)]));
      }
    }
  }
  Least result(plane.size(), 0);
  for (const auto& of_mix : lowest) {
    for (std::size_t n = 1; n < result.size(); ++n) result[n] = std::max(result[n], (of_mix[n] + mixes - 1) / mixes);
  }
  return result;
}

// Likewise where some columns lead all the way round an axis of this length: as many as the smallest of its levels has cells.
// 3 sum c(s_t) + 2 (s_1 - s_length), by half; 2^61 where n cells cannot.
Least least_of_full_columns(const std::vector<Index>& plane, Index length) {
  Least result(plane.size(), infinite);
  const auto most = static_cast<Index>(plane.size()) - 1;
  const auto width = plane.size();
  for (Index full = 1; full * length <= most; ++full) {
    const Index widest = most - full * (length - 1);
    // [cells][largest level], of levels from the smallest on: the least sum, whichever the largest is but no larger.
    std::vector<Index> sums(width * width, infinite);
    for (Index s = full; s <= widest; ++s) sums[at_size(full) * width + at_size(s)] = plane[at_size(full)];
    for (Index level = 1; level < length; ++level) {
      const bool is_last = level + 1 == length;
      std::vector<Index> more(sums.size(), infinite);
      for (Index n = full * (level + 1); n <= most; ++n) {
        for (Index s = full; s <= std::min(widest, n - full * level); ++s) {
          const Index before = sums[at_size(n - s) * width + at_size(s)];
          Index sum = before < infinite ? before + plane[at_size(s)] : infinite;
          if (is_last && sum < infinite) result[at_size(n)] = std::min(result[at_size(n)], 3 * sum + s - full);
          if (s > full) sum = std::min(sum, more[at_size(n) * width + at_size(s - 1)]);
          more[at_size(n) * width + at_size(s)] = sum;
        }
        for (Index s = std::max(full, n - full * level + 1); s <= widest; ++s) {
          more[at_size(n) * width + at_size(s)] = more[at_size(n) * width + at_size(s - 1)];
        }
      }
      sums = std::move(more);
    }
    if (length == 1) result[at_size(full)] = std::min(result[at_size(full)], 3 * plane[at_size(full)]);
  }
  return result;
}

}  // namespace

Least least_of_moore3(Pairs& pairs, const Grid& grid, std::size_t axis, Index most) {
  const auto is_near = [](const Coords& o) { return std::ranges::all_of(o, [](Index c) { return std::abs(c) <= 1; }); };
  Index times = infinite;
  std::size_t found = 0;
  for (const auto& [o, weight] : pairs) {
    if (!is_near(o)) continue;
    ++found;
    times = std::min(times, weight);
  }
  if (found != 13) return {};
  for (auto entry = pairs.begin(); entry != pairs.end();) {
    if (is_near(entry->first)) entry->second -= times;
    entry = entry->second == 0 ? pairs.erase(entry) : std::next(entry);
  }
  // Pushed together along the axis, a set has level sets of s_1 >= s_2 >= ... cells. c(s): what s cells of the plane send by
  // the 9-point stencil. Two columns of heights that differ by x are cut at least max(3x, x + 4) times (3x where one goes
  // all the way round), so that both 3 sum c(s_t) + 2 s_1 and sum c(s_t) + 18 s_1 hold, and every mixture of them; with
  // full columns 3 sum c(s_t) + 2 (s_1 - s_L). All by half here, each pair +-o counting once.
  const Pairs nine{{{0, 1}, 1}, {{1, -1}, 1}, {{1, 0}, 1}, {{1, 1}, 1}};
  std::vector<Index> sides;
  std::vector<bool> around;
  for (std::size_t other = 0; other < 3; ++other) {
    if (other == axis) continue;
    sides.push_back(grid.dims()[other]);
    around.push_back(grid.periodic(static_cast<int>(other)));
  }
  const Grid section(sides, around);
  const auto width = at_size(most) + 1;
  std::vector<Index> plane(width, 0);
  std::vector<Index> lines(width, 0);
  for (std::size_t side = 0; side < 2; ++side) {  // both ways look alike to the stencil
    if (around[side] || sides[side] * sides[side] >= 2 * most) continue;
    const Least along = least_by_lines(nine, sides[side], most);
    for (std::size_t s = 0; s < along.size(); ++s) lines[s] = std::max(lines[s], along[s]);
  }
  for (Index s = 1; s <= most; ++s) {
    auto root = static_cast<Index>(std::sqrt(static_cast<double>(28 * s - 12)));
    while (root * root < 28 * s - 12) ++root;
    while ((root - 1) * (root - 1) >= 28 * s - 12) --root;
    plane[at_size(s)] = std::min(std::max(root, lines[at_size(s)]), least_around(nine, section, s));
  }
  // A flat grid holds few levels; how many counts where that is soon reached.
  const Index length = grid.dims()[axis];
  const Index tallest = length <= 12 && length * length * length < 4 * most ? length : 0;
  const Least steep = least_of_steep_sides(plane, tallest);
  std::vector<Index> sums(width * width, infinite);  // [cells][largest level]
  for (std::size_t s = 0; s < width; ++s) sums[s] = 0;
  for (Index level = 0; level < tallest; ++level) {
    const std::vector<Index> fewer = sums;
    for (Index n = 1; n <= most; ++n) {
      for (Index s = 1; s <= most; ++s) {
        Index& sum = sums[at_size(n) * width + at_size(s)];
        sum = sums[at_size(n) * width + at_size(s - 1)];
        if (s <= n) sum = std::min(sum, plane[at_size(s)] + fewer[at_size(n - s) * width + at_size(s)]);
      }
    }
  }
  const Least full = grid.periodic(static_cast<int>(axis)) && most >= length ? least_of_full_columns(plane, length) : Least{};
  Least least(width, 0);
  for (Index n = 1; n <= most; ++n) {
    Index* const row = &sums[at_size(n) * width];
    for (Index s = 1; s <= most && tallest == 0; ++s) {
      row[s] = row[s - 1];
      if (s <= n) row[s] = std::min(row[s], plane[at_size(s)] + sums[at_size(n - s) * width + at_size(s)]);
    }
    Index best = 0;
    for (Index mix = 0; mix <= 20; ++mix) {
      Index lowest = infinite;
      for (Index s = 1; s <= n; ++s) {
        if (row[s] < infinite) lowest = std::min(lowest, (60 - 2 * mix) * row[s] + (20 + 8 * mix) * s);
      }
      best = std::max(best, (lowest + 19) / 20);
    }
    if (!steep.empty()) best = std::max(best, steep[at_size(n)]);
    if (!full.empty()) best = std::min(best, full[at_size(n)]);
    least[at_size(n)] = times * best;
  }
  return least;
}

Least least_by_sets(Pairs pairs, Index most) {
  Least least(at_size(most) + 1, 0);
  std::map<std::vector<Index>, Least> known;
  while (!pairs.empty()) {
    const std::vector<Index> weights = take_independent(pairs);
    const auto [found, is_new] = known.try_emplace(weights);
    if (is_new) found->second = least_of_neighbors(weights, most);
    add(least, found->second);
  }
  return least;
}

Index least_by_projections(Pairs pairs, Index n) {
  // The product of a set's projections along all axes is at least n^(d-1); the sum of what leaves their lines is least
  // where all terms are equal.
  double sum = 0;
  while (!pairs.empty()) {
    const std::vector<Index> weights = take_independent(pairs);
    double product = 1;
    for (const Index weight : weights) product *= static_cast<double>(weight);
    const auto d = static_cast<double>(weights.size());
    sum += d * std::pow(product, 1 / d) * std::pow(static_cast<double>(n), (d - 1) / d);
  }
  return static_cast<Index>(std::floor(sum * (1 - 1e-9)));
}

}  // namespace rankwise
