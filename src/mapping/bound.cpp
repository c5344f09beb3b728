#include "mapping/bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace rankwise {

namespace {

constexpr Index infinite = std::numeric_limits<Index>::max() / 4;
// Node sizes up to which the dynamic program is worth its time, which grows like the square.
constexpr Index largest_by_program = 1024;

// What is sent along each axis, by distance, and what does not fit that form.
struct Ways {
  // ways[axis][a - 1]: weight of the offsets of magnitude a along the axis, never rising with a.
  std::vector<std::vector<Index>> along;
  struct Other {
    Index weight;
    Index longest_line;  // most cells of the grid on one line in the offset's direction
  };
  std::vector<Other> others;
};

Index longest_line(const Grid& grid, const Coords& offset) {
  Index cells = std::numeric_limits<Index>::max();
  for (int axis = 0; axis < grid.ndim(); ++axis) {
    const Index step = std::abs(offset[static_cast<std::size_t>(axis)]);
    if (step > 0) cells = std::min(cells, (grid.dim(axis) + step - 1) / step);
  }
  return cells;
}

Ways ways_of(const Grid& grid, const Stencil& stencil) {
  Ways ways;
  ways.along.resize(static_cast<std::size_t>(grid.ndim()));
  std::vector<std::map<Index, Index>> by_distance(ways.along.size());
  for (std::size_t k = 0; k < stencil.offsets().size(); ++k) {
    const Coords& offset = stencil.offsets()[k];
    const auto axis = static_cast<std::size_t>(
        std::ranges::find_if(offset, [](Index component) { return component != 0; }) - offset.begin());
    const bool is_along = std::ranges::count(offset, 0) == grid.ndim() - 1;
    if (is_along) {
      by_distance[axis][std::abs(offset[axis])] += stencil.weights()[k];
    } else {
      ways.others.push_back({stencil.weights()[k], longest_line(grid, offset)});
    }
  }
  for (std::size_t axis = 0; axis < ways.along.size(); ++axis) {
    Index last = by_distance[axis].contains(1) ? by_distance[axis][1] : 0;
    for (const auto& [distance, weight] : by_distance[axis]) {
      const bool follows = distance == static_cast<Index>(ways.along[axis].size()) + 1;
      const Index regular = follows ? std::min(last, weight) : 0;
      if (regular > 0) ways.along[axis].push_back(regular);
      last = regular;
      if (weight > regular) {
        Coords offset(ways.along.size(), 0);
        offset[axis] = distance;
        ways.others.push_back({weight - regular, longest_line(grid, offset)});
      }
    }
  }
  return ways;
}

// least[s]: the least weight that leaves s cells of the axes so far, 0 <= s <= most; infinite where the box is smaller.
using Least = std::vector<Index>;

// Adds an axis: s cells become layers of at most box cells each, at most count of them, never growing. Layer j (from
// 0) costs below[size] + slope[j] * size, where slope[j] is the weight of all offsets along the axis that lead further
// than j.
Least with_axis(const Least& below, Index box, Index count, const std::vector<Index>& weights) {
  const auto most = static_cast<Index>(below.size()) - 1;
  const Index cap = std::min(box, most);
  const auto width = static_cast<std::size_t>(cap) + 1;
  const auto at = [&](Index rest, Index size) { return static_cast<std::size_t>(rest) * width + static_cast<std::size_t>(size); };
  const auto reach = static_cast<Index>(weights.size());
  // best[rest, size]: the rest in layers from j on, none above size. Counting the layers costs a level for each.
  const bool counted = count < most && count * most * cap <= 8'000'000;
  std::vector<Index> best(static_cast<std::size_t>(most + 1) * width, infinite);
  for (Index size = 0; size <= cap; ++size) best[at(0, size)] = 0;
  if (!counted) {
    for (Index rest = 1; rest <= most; ++rest) {
      for (Index size = 1; size <= cap; ++size) {
        Index& cost = best[at(rest, size)];
        cost = best[at(rest, size - 1)];
        if (size <= rest) {
          cost = std::min(cost, below[static_cast<std::size_t>(size)] + best[at(rest - size, size)]);
        }
      }
    }
  }
  for (Index j = counted ? count - 1 : reach - 1; j >= 0; --j) {
    Index slope = 0;
    for (Index a = j; a < reach; ++a) slope += weights[static_cast<std::size_t>(a)];
    std::vector<Index> level(best.size(), infinite);
    for (Index size = 0; size <= cap; ++size) level[at(0, size)] = 0;
    for (Index rest = 1; rest <= most; ++rest) {
      for (Index size = 1; size <= cap; ++size) {
        Index& cost = level[at(rest, size)];
        cost = level[at(rest, size - 1)];
        if (size > rest) continue;
        cost = std::min(cost, below[static_cast<std::size_t>(size)] + slope * size + best[at(rest - size, size)]);
      }
    }
    best = std::move(level);
  }
  Least least(below.size());
  for (Index s = 0; s <= most; ++s) least[static_cast<std::size_t>(s)] = std::min(infinite, best[at(s, cap)]);
  return least;
}

Least least_leaving(const Grid& grid, const Ways& ways, const std::vector<std::size_t>& order, Index most) {
  Least least(static_cast<std::size_t>(most) + 1, infinite);
  least[0] = 0;
  least[1] = 0;
  Index box = 1;
  for (const std::size_t axis : order) {
    const Index size = grid.dims()[axis];
    least = with_axis(least, box, size, ways.along[axis]);
    box = std::min(most, box * size);
  }
  return least;
}

Index weight_of_others(const Ways& ways, Index n) {
  Index weight = 0;
  for (const auto& other : ways.others) {
    weight += other.weight * std::max<Index>(1, (n + other.longest_line - 1) / other.longest_line);
  }
  return weight;
}

// Loomis and Whitney 1949: the product of a set's projections along all axes is at least n^(d-1); the sum of what
// leaves their lines is least where all terms are equal.
Index by_projections(const Ways& ways, Index n) {
  double product = 1;
  const auto d = static_cast<double>(ways.along.size());
  for (const auto& weights : ways.along) {
    product *= static_cast<double>(std::accumulate(weights.begin(), weights.end(), Index{0}));
  }
  const double weight = d * std::pow(product, 1 / d) * std::pow(static_cast<double>(n), (d - 1) / d);
  return static_cast<Index>(std::floor(weight * (1 - 1e-12)));
}

// The weight of the edges that lead out of the grid, periodic or not.
Index weight_cut_off(const Grid& grid, const Stencil& stencil) {
  Index weight = 0;
  for (std::size_t k = 0; k < stencil.offsets().size(); ++k) {
    Index inside = 1;
    for (int axis = 0; axis < grid.ndim(); ++axis) {
      inside *= std::max<Index>(0, grid.dim(axis) - std::abs(stencil.offsets()[k][static_cast<std::size_t>(axis)]));
    }
    weight += stencil.weights()[k] * (grid.size() - inside);
  }
  return weight;
}

// Cells that send along one axis only form lines. Lines and the equal nodes that share them hang together in groups,
// each of whole lines and whole nodes, hence at most gcd(nodes, lines) groups; within a group every node beyond those
// that a tree of lines and nodes needs cuts a line once.
Index by_lines(const MappingProblem& problem, const Ways& ways) {
  const Grid& grid = problem.grid;
  if (!problem.nodes.equal()) return 0;
  Index sending = -1;
  for (std::size_t axis = 0; axis < ways.along.size(); ++axis) {
    if (ways.along[axis].empty()) continue;
    if (sending >= 0) return 0;
    sending = static_cast<Index>(axis);
  }
  if (sending < 0) return 0;
  const auto axis = static_cast<std::size_t>(sending);
  const Index lines = grid.size() / grid.dims()[axis];
  const Index nodes = problem.nodes.nodes();
  return ways.along[axis].front() * (nodes - std::gcd(nodes, lines));
}

}  // namespace

Bound lower_bound(const MappingProblem& problem) {
  const Grid& grid = problem.grid;
  const NodeSizes& nodes = problem.nodes;
  if (nodes.nodes() == 1) return {0, "isoperimetric"};
  const Ways ways = ways_of(grid, problem.stencil);
  const bool small = nodes.largest() <= largest_by_program;
  std::map<Index, Index> nodes_of_size;
  if (nodes.equal()) {
    nodes_of_size[nodes.smallest()] = nodes.nodes();
  } else {
    for (Index node = 0; node < nodes.nodes(); ++node) ++nodes_of_size[nodes.size(node)];
  }
  const Index cut_off = weight_cut_off(grid, problem.stencil);
  Index best = 0;
  const auto consider = [&](const auto& least) {
    Index sum = -cut_off;
    for (const auto& [size, count] : nodes_of_size) sum += count * (least(size) + weight_of_others(ways, size));
    best = std::max(best, sum);
  };
  if (small) {
    std::vector<std::size_t> order(static_cast<std::size_t>(grid.ndim()));
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Which axis comes last matters from 3-D on, the order of the others hardly.
    for (std::size_t turn = 0; turn < order.size(); ++turn) {
      const Least least = least_leaving(grid, ways, order, nodes.largest());
      consider([&](Index size) { return least[static_cast<std::size_t>(size)]; });
      if (order.size() < 3) break;
      std::ranges::rotate(order, order.begin() + 1);
    }
  } else {
    consider([&](Index size) { return by_projections(ways, size); });
  }
  bool is_periodic = false;
  for (int axis = 0; axis < grid.ndim(); ++axis) is_periodic = is_periodic || grid.periodic(axis);
  if (const Index lines = by_lines(problem, ways); lines > best) return {lines, "lines"};
  return {best, is_periodic ? "open-axes" : small ? "isoperimetric" : "projections"};
}

}  // namespace rankwise
