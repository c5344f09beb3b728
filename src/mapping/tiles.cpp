
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "mapping/graph_search.hpp"
#include "mapping/lattice.hpp"
#include "mapping/mapping.hpp"
#include "mapping/partition.hpp"
#include "mapping/random.hpp"

namespace rankwise {

namespace {

constexpr std::size_t most_axes = 3;  // of a grid of fewer the last ones are one cell long

using Place = std::array<Index, most_axes>;

Place operator+(Place a, const Place& b) {
  for (std::size_t i = 0; i < most_axes; ++i) a[i] += b[i];
  return a;
}

Place times(Index factor, Place a) {
  for (Index& x : a) x *= factor;
  return a;
}

struct Reach {
  Place offset;
  Index weight;
};

// A lattice by its echelon form, row i being 0 before axis i, and short vectors of it.
struct Pattern {
  std::array<Place, most_axes> rows;
  std::array<Place, most_axes> basis;
  double length = 0;  // of the longest short vector

  Pattern(const std::array<Place, most_axes>& echelon, const StencilNorm& norm) : rows(echelon), basis(echelon) {
    norm.shorten(basis, [](std::size_t, std::size_t, Index) {});
    for (const Place& vector : basis) length = std::max(length, norm.of(vector));
  }
};

// One cell of each class: at first the nearest to the origin. It is held in a box in which the origin lies in the middle.
class Tile {
 public:
  Tile(const Pattern& pattern, const std::vector<Reach>& reaches, const StencilNorm& norm) : rows_(pattern.rows) {
    Place reach{};
    for (const auto& [offset, weight] : reaches) {
      for (std::size_t i = 0; i < most_axes; ++i) reach[i] = std::max(reach[i], std::abs(offset[i]));
    }
    for (std::size_t i = 0; i < most_axes; ++i) {
      for (const Place& vector : pattern.basis) farthest_[i] += std::abs(vector[i]);
      half_[i] = farthest_[i] + reach[i];
    }
    holds_.assign(static_cast<std::size_t>((2 * half_[0] + 1) * (2 * half_[1] + 1) * (2 * half_[2] + 1)), 0);
    for (const auto& [offset, weight] : reaches) {
      links_.emplace_back(spot(offset) - spot({}), weight);
      links_.emplace_back(spot({}) - spot(offset), weight);
      of_a_cell_ += weight;
    }
    for (Index number = 0; number < 27; ++number) {
      if (number == 13) continue;
      Place step{};
      Index code = number;
      for (const Place& vector : pattern.basis) {
        step = step + times(code % 3 - 1, vector);
        code /= 3;
      }
      if (step != Place{}) steps_.push_back(step);
    }
    for (Index x = 0; x < rows_[0][0]; ++x) {
      for (Index y = 0; y < rows_[1][1]; ++y) {
        for (Index z = 0; z < rows_[2][2]; ++z) {
          cells_.push_back(nearest({x, y, z}, norm));
          holds_[static_cast<std::size_t>(spot(cells_.back()))] = 1;
        }
      }
    }
  }

  // Passes over all cells, each of which goes to where more of those it talks to are; at first also to where as many are.
  void settle() {
    constexpr int free_passes = 6, most_passes = 12;
    Random random(1);
    bool moves = true;
    for (int pass = 0; pass < most_passes && (moves || pass < free_passes); ++pass) {
      moves = false;
      for (Place& cell : cells_) moves |= move(cell, pass < free_passes ? &random : nullptr);
    }
  }

  // What the ranks of a node send to others.
  [[nodiscard]] Index sent() const {
    Index within = 0;
    for (const Place& cell : cells_) within += linked(spot(cell));
    return of_a_cell_ * static_cast<Index>(cells_.size()) - within / 2;
  }
  [[nodiscard]] const std::array<Place, most_axes>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<Place>& cells() const { return cells_; }

 private:
  [[nodiscard]] Index spot(const Place& p) const {
    return ((p[0] + half_[0]) * (2 * half_[1] + 1) + p[1] + half_[1]) * (2 * half_[2] + 1) + p[2] + half_[2];
  }

  [[nodiscard]] Place nearest(Place p, const StencilNorm& norm) const {
    for (bool nearer = true; nearer;) {
      nearer = false;
      for (const Place& step : steps_) {
        if (norm.of(p + step) >= norm.of(p) * (1 - 1e-9)) continue;
        p = p + step;
        nearer = true;
      }
    }
    return p;
  }

  // What a cell there exchanges with the others.
  [[nodiscard]] Index linked(Index spot) const {
    Index sum = 0;
    for (const auto& [step, weight] : links_) sum += weight * holds_[static_cast<std::size_t>(spot + step)];
    return sum;
  }

  bool move(Place& cell, Random* random) {
    const Index before = linked(spot(cell));
    holds_[static_cast<std::size_t>(spot(cell))] = 0;
    Index most = before;
    Place best = cell;
    for (const Place& step : steps_) {
      const Place there = cell + step;
      bool is_near = true;
      for (std::size_t i = 0; i < most_axes; ++i) is_near = is_near && std::abs(there[i]) <= farthest_[i];
      if (!is_near) continue;
      const Index with = linked(spot(there));
      if (with > most || (with == most && random != nullptr && random->bits() >> 63 == 0)) {
        most = with;
        best = there;
      }
    }
    cell = best;
    holds_[static_cast<std::size_t>(spot(cell))] = 1;
    return most > before;
  }

  std::array<Place, most_axes> rows_;
  Place farthest_{}, half_{};                   // of a cell, of the box, from the origin
  std::vector<std::uint8_t> holds_;             // by spot in the box
  std::vector<std::pair<Index, Index>> links_;  // how many spots away, and the weight
  Index of_a_cell_ = 0;
  std::vector<Place> steps_;  // to the neighbours in the pattern
  std::vector<Place> cells_;
};

// Where copies of a tile lie whole within a box.
class Pavement {
 public:
  Pavement(const Tile& tile, const Place& box) : tile_(tile) {
    low_ = high_ = tile.cells().front();
    for (const Place& cell : tile.cells()) {
      for (std::size_t i = 0; i < most_axes; ++i) {
        low_[i] = std::min(low_[i], cell[i]);
        high_[i] = std::max(high_[i], cell[i]);
      }
    }
    for (std::size_t i = 0; i < most_axes; ++i) end_[i] = box[i] - high_[i];
  }

  // Calls visit(shift, count) for each line of copies: shifted by that, and by up to count - 1 times the last row more.
  template <typename Visit>
  void lines(const Place& phase, const Visit& visit) const {
    const auto& rows = tile_.rows();
    for (Place x = from(phase, 0); x[0] < end_[0]; x = x + rows[0]) {
      for (Place y = from(x, 1); y[1] < end_[1]; y = y + rows[1]) {
        const Place z = from(y, 2);
        if (z[2] < end_[2]) visit(z, (end_[2] - 1 - z[2]) / rows[2][2] + 1);
      }
    }
  }

  // The phase by which most copies are whole.
  [[nodiscard]] Place best_phase() const {
    Index most = -1;
    Place best{};
    for (const Place& phase : tile_.cells()) {
      Index whole = 0;
      lines(phase, [&](const Place&, Index count) { whole += count; });
      if (whole > most) std::tie(most, best) = std::pair(whole, phase);
    }
    return best;
  }

 private:
  // The first place at or after the box's begin along an axis.
  [[nodiscard]] Place from(const Place& p, std::size_t axis) const {
    const Place& row = tile_.rows()[axis];
    return p + times(-floor_div(p[axis] + low_[axis], row[axis]), row);
  }

  const Tile& tile_;
  Place low_{}, high_{}, end_{};
};

// All lattices of so many classes, or many of them.
std::vector<Pattern> patterns_of(Index n, int ndim, const StencilNorm& norm) {
  constexpr Index most = 4000;
  const auto of_all = [&](const auto& visit) {
    for (Index a = 1; a <= n; ++a) {
      if (n % a != 0) continue;
      for (Index b = 1; b <= n / a; ++b) {
        if (n / a % b != 0 || (ndim < 3 && a * b != n)) continue;
        visit(a, b, n / a / b);
      }
    }
  };
  Index all = 0;
  of_all([&](Index, Index b, Index c) { all += b * c * c; });
  const Index stride = all / most + 1;
  std::vector<Pattern> patterns;
  Index number = 0;
  of_all([&](Index a, Index b, Index c) {
    for (Index i = 0; i < b * c * c; ++i) {
      if (number++ % stride != 0) continue;
      patterns.emplace_back(std::array<Place, most_axes>{{{a, i / (c * c), i / c % c}, {0, b, i % c}, {0, 0, c}}}, norm);
    }
  });
  std::ranges::stable_sort(patterns, {}, &Pattern::length);
  return patterns;
}

// The shape that sends least, of so many that are settled.
Tile best_tile(Index n, const Stencil& stencil, const std::vector<Reach>& reaches, std::size_t tries) {
  constexpr std::size_t begun_for_each = 8;  // at shapes as they begin, for each that is settled
  const StencilNorm norm(stencil, most_axes);
  const std::vector<Pattern> patterns = patterns_of(n, stencil.ndim(), norm);
  std::vector<std::pair<Index, std::size_t>> begun;
  for (std::size_t i = 0; i < std::min(patterns.size(), begun_for_each * tries); ++i) {
    begun.emplace_back(Tile(patterns[i], reaches, norm).sent(), i);
  }
  std::ranges::sort(begun);
  std::optional<Tile> best;
  for (std::size_t i = 0; i < std::min(begun.size(), tries); ++i) {
    Tile tile(patterns[begun[i].second], reaches, norm);
    tile.settle();
    if (!best || tile.sent() < best->sent()) best = std::move(tile);
  }
  return std::move(*best);
}

// About how many cells the border cuts off: at each side nearly half a tile.
Index cut_off(const Place& box, Index n) {
  double whole = 1;
  const auto ndim = static_cast<double>(most_axes) - static_cast<double>(std::ranges::count(box, Index{1}));
  for (const Index length : box) {
    if (length > 1) whole *= std::max(0.0, 1 - 0.8 * std::pow(static_cast<double>(n), 1 / ndim) / static_cast<double>(length));
  }
  return static_cast<Index>((1 - whole) * static_cast<double>(box[0] * box[1] * box[2]));
}

}  // namespace

std::unique_ptr<Mapping> paved(const MappingProblem& problem, Index most_work) {
  const Grid& grid = problem.grid;
  const NodeSizes& nodes = problem.nodes;
  const auto ndim = static_cast<std::size_t>(grid.ndim());
  if (ndim < 2 || ndim > most_axes || !Lattice(problem.stencil).is_whole()) return nullptr;
  const Index n = nodes.largest();
  Place box{1, 1, 1};
  std::ranges::copy(grid.dims(), box.begin());
  const Index rest = cut_off(box, n);
  if (5 * rest > grid.size()) return nullptr;
  constexpr Index farthest = 64;  // an offset; each tile is held in a box with room for it
  std::vector<Reach> reaches;
  for (std::size_t k = 0; k < problem.stencil.offsets().size(); ++k) {
    const Coords& offset = problem.stencil.offsets()[k];
    if (std::ranges::any_of(offset, [](Index step) { return std::abs(step) > farthest; })) return nullptr;
    reaches.push_back({{}, problem.stencil.weights()[k]});
    std::ranges::copy(offset, reaches.back().offset.begin());
  }
  const Index of_a_tile = n * static_cast<Index>(reaches.size()) * (ndim == 2 ? 100 : 150);
  const Index of_the_rest = (ndim == 2 ? 20 * grid.size() : 100 * grid.size() + n * box[0] * box[1]) +
                            multisect_steps(rest, rest * static_cast<Index>(reaches.size()), rest / n);
  constexpr Index most_tries = 60;
  const Index tries = std::min(most_tries, (most_work - of_the_rest) / of_a_tile);
  if (tries < 4) return nullptr;
  const Tile tile = best_tile(n, problem.stencil, reaches, static_cast<std::size_t>(tries));

  std::vector<NodeId> whole, others;
  for (Index node = 0; node < nodes.nodes(); ++node) {
    (nodes.size(node) == n ? whole : others).push_back(static_cast<NodeId>(node));
  }
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(grid.size()), -1);
  const Pavement pavement(tile, box);
  std::size_t laid = 0;
  pavement.lines(pavement.best_phase(), [&](Place at, Index count) {
    for (; count > 0 && laid < whole.size(); --count, ++laid, at = at + tile.rows()[2]) {
      for (const Place& cell : tile.cells()) {
        const Place p = at + cell;
        node_of_cell[static_cast<std::size_t>((p[0] * box[1] + p[1]) * box[2] + p[2])] = whole[laid];
      }
    }
  });
  if (2 * static_cast<Index>(laid) < nodes.nodes()) return nullptr;
  others.insert(others.end(), whole.begin() + static_cast<std::ptrdiff_t>(laid), whole.end());
  std::vector<Index> left;
  for (std::size_t cell = 0; cell < node_of_cell.size(); ++cell) {
    if (node_of_cell[cell] < 0) left.push_back(static_cast<Index>(cell));
  }
  if (!StencilGraph::fits(static_cast<Index>(left.size()), problem.stencil)) return nullptr;
  if (!left.empty()) {
    NodeTree tree;
    for (const NodeId node : others) tree.sizes.push_back(nodes.size(node));
    const std::vector<NodeId> found = multisect(traffic_of(StencilGraph(grid, problem.stencil, left)), tree, {});
    for (std::size_t i = 0; i < left.size(); ++i) node_of_cell[static_cast<std::size_t>(left[i])] = others[slot(found[i])];
  }
  return table_mapping(nodes, node_of_cell);
}

namespace {

// Cells by where they are along the stencil's own short vectors, each coset of their lattice apart from the others: an axis of
// its own, across which nothing is sent.
class Planes {
 public:
  explicit Planes(const MappingProblem& problem)
      : problem_(problem),
        lattice_(problem.stencil),
        axes_(lattice_.rank() + 1),
        cells_(static_cast<std::size_t>(problem.grid.size())) {
    groups_.of_cell.resize(cells_.size());
    Coords place(lattice_.rank());
    for (std::size_t k = 0; k < problem.stencil.offsets().size(); ++k) {
      Coords offset = problem.stencil.offsets()[k];
      lattice_.reduce(offset, place);
      for (std::size_t axis = 0; axis < place.size(); ++axis) {
        crossing_[axis + 1] += std::abs(place[axis]) * problem.stencil.weights()[k];
      }
    }
    place_.reserve(cells_.size() * axes_);
    std::map<Coords, Index> cosets;
    const bool is_plain = lattice_.is_along_axes();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      cells_[i].second = static_cast<Index>(i);
      Coords rest = problem.grid.coords(static_cast<Index>(i));
      if (is_plain) {
        place_.push_back(0);
        place_.insert(place_.end(), rest.begin(), rest.end());
      } else {
        lattice_.reduce(rest, place);
        place_.push_back(cosets.try_emplace(rest, static_cast<Index>(cosets.size())).first->second);
        place_.insert(place_.end(), place.begin(), place.end());
      }
    }
    for (Index node = 0; node < problem.nodes.nodes(); ++node) first_.push_back(first_.back() + problem.nodes.size(node));
  }

  GridGroups divide(int times) {
    halve(0, problem_.nodes.nodes(), times);
    groups_.first_nodes.push_back(static_cast<NodeId>(problem_.nodes.nodes()));
    return std::move(groups_);
  }

 private:
  using Places = std::array<Index, max_axes + 1>;
  using Keyed = std::pair<double, Index>;  // a cell after its place in some order, as many digits of it as count

  [[nodiscard]] const Index* place(const Keyed& keyed) const { return &place_[static_cast<std::size_t>(keyed.second) * axes_]; }

  void halve(Index from, Index to, int times) {
    const auto begin = static_cast<std::size_t>(first_[static_cast<std::size_t>(from)]);
    const std::span<Keyed> own(cells_.data() + begin, static_cast<std::size_t>(first_[static_cast<std::size_t>(to)]) - begin);
    if (to - from == 1 || times == 0) {
      const auto group = static_cast<NodeId>(groups_.first_nodes.size());
      groups_.first_nodes.push_back(static_cast<NodeId>(from));
      for (const Keyed& keyed : own) groups_.of_cell[static_cast<std::size_t>(keyed.second)] = group;
      return;
    }
    Places low;
    Places size;
    low.fill(std::numeric_limits<Index>::max());
    size.fill(std::numeric_limits<Index>::min());
    for (const Keyed& keyed : own) {
      const Index* const at = place(keyed);
      for (std::size_t axis = 0; axis < axes_; ++axis) {
        low[axis] = std::min(low[axis], at[axis]);
        size[axis] = std::max(size[axis], at[axis] + 1);
      }
    }
    for (std::size_t axis = 0; axis < axes_; ++axis) size[axis] -= low[axis];
    std::vector<std::size_t> order(axes_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto lighter = [&](std::size_t a, std::size_t b) {  // crossing / size is less, an axis of one cell last
      return std::pair(size[a] == 1, crossing_[a] * size[b]) < std::pair(size[b] == 1, crossing_[b] * size[a]);
    };
    std::ranges::stable_sort(order, lighter);
    for (Keyed& keyed : own) {
      const Index* const at = place(keyed);
      keyed.first = 0;
      for (const std::size_t axis : order) {
        keyed.first = keyed.first * static_cast<double>(size[axis]) + static_cast<double>(at[axis] - low[axis]);
      }
    }
    const Index middle = from + (to - from) / 2;
    const auto half = first_[static_cast<std::size_t>(middle)] - first_[static_cast<std::size_t>(from)];
    std::ranges::nth_element(own, own.begin() + half);
    halve(from, middle, times - 1);
    halve(middle, to, times - 1);
  }

  const MappingProblem& problem_;
  Lattice lattice_;
  std::size_t axes_;
  Places crossing_{};
  std::vector<Index> place_;  // of each cell: its coset, then where it is
  std::vector<Keyed> cells_;
  std::vector<Index> first_{0};  // cell of each node
  GridGroups groups_;
};

}  // namespace

std::unique_ptr<Mapping> halved_by_planes(const MappingProblem& problem) {
  return table_mapping(problem.nodes, grouped_by_planes(problem, std::numeric_limits<int>::max()).of_cell);
}

GridGroups grouped_by_planes(const MappingProblem& problem, int times) { return Planes(problem).divide(times); }

}  // namespace rankwise
