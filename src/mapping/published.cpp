// The published algorithms: those of hunold2020 (hyperplane, k-d tree, stencil strips) and nodecart.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "mapping/algorithms.hpp"

namespace rankwise {

// Hyperplane (hunold2020, section V-A, algorithm 1): halves the grid so that both parts hold whole nodes.
//
// The axes are tried in the order of Eq. 2: the sum of the squared cosines between the axis and the stencil's
// offsets, least first; ties go to the longer side, then to the lower axis. The first axis that admits a split wins. A
// split lies as near to the middle as a multiple of the node size n allows; the smaller part lies on the side that is
// nearer to the border of the whole grid. A box of at most 2n cells is filled row by row, the preferred axis slowest.
//
// Theorem V.1 promises a split only where n divides the number of ranks. With unequal nodes the paper takes the mean,
// the smallest or the largest size for n, without that condition; here n is the first of the three that is whole and
// divides, and where none does the problem is refused.

namespace {

Index node_size(const NodeSizes& nodes) {
  for (const Index n :
       {nodes.ranks() % nodes.nodes() == 0 ? nodes.ranks() / nodes.nodes() : 0, nodes.smallest(), nodes.largest()}) {
    if (n > 0 && nodes.ranks() % n == 0) return n;
  }
  invalid("hyperplane needs a node size that divides the " + std::to_string(nodes.ranks()) +
          " ranks, and neither the mean, the smallest (" + std::to_string(nodes.smallest()) + ") nor the largest (" +
          std::to_string(nodes.largest()) + ") does: use kd-tree or stencil-strips");
}

// Eq. 2 as classes: axes whose sums are equal but for rounding share a class, a lower class is cut first.
std::array<int, max_axes> preference_classes(const Stencil& stencil) {
  const auto ndim = static_cast<std::size_t>(stencil.ndim());
  std::array<double, max_axes> sums{};
  for (const Coords& offset : stencil.offsets()) {
    double norm_squared = 0;
    for (const Index component : offset) {
      norm_squared += static_cast<double>(component) * static_cast<double>(component);
    }
    for (std::size_t axis = 0; axis < ndim; ++axis) {
      const auto component = static_cast<double>(offset[axis]);
      sums[axis] += component * component / norm_squared;
    }
  }
  std::vector<std::size_t> order(ndim);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t axis) { return sums[axis]; });
  std::array<int, max_axes> classes{};
  const double tolerance = 1e-9 * static_cast<double>(stencil.offsets().size());
  for (std::size_t i = 1; i < ndim; ++i) {
    classes[order[i]] = classes[order[i - 1]] + (sums[order[i]] - sums[order[i - 1]] > tolerance ? 1 : 0);
  }
  return classes;
}

struct Split {
  std::size_t axis;
  Index low_thickness;
};

class Hyperplane final : public Mapping {
 public:
  explicit Hyperplane(const MappingProblem& problem)
      : ndim_(static_cast<std::size_t>(problem.grid.ndim())),
        node_size_(node_size(problem.nodes)),
        whole_(Box::whole(problem.grid)),
        strides_(strides_of(problem.grid)),
        classes_(preference_classes(problem.stencil)) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override {
    Box box = whole_;
    while (box.cells > 2 * node_size_) {
      const Split split = find_split(box);
      const Index low_cells = box.layer(split.axis) * split.low_thickness;
      if (rank < low_cells) {
        box = box.low_part(split.axis, split.low_thickness);
      } else {
        rank -= low_cells;
        box = box.high_part(split.axis, split.low_thickness);
      }
    }
    const Order order = preferred_order(box);
    Index cell = 0;
    for (std::size_t i = ndim_; i-- > 0;) {
      const std::size_t axis = order[i];
      cell += (box.start[axis] + rank % box.size[axis]) * strides_[axis];
      rank /= box.size[axis];
    }
    return cell;
  }

  void all_runs(RunSink& sink) const override { runs_of(whole_, sink); }

 private:
  using Order = std::array<std::size_t, max_axes>;

  [[nodiscard]] Order preferred_order(const Box& box) const {
    const auto before = [&](std::size_t a, std::size_t b) {
      return classes_[a] != classes_[b] ? classes_[a] < classes_[b] : box.size[a] > box.size[b];
    };
    Order order{};
    for (std::size_t i = 0; i < ndim_; ++i) {  // insertion keeps the lower axis first in a tie
      std::size_t at = i;
      for (; at > 0 && before(i, order[at - 1]); --at) order[at] = order[at - 1];
      order[at] = i;
    }
    return order;
  }

  [[nodiscard]] Split find_split(const Box& box) const {
    const Order order = preferred_order(box);
    for (std::size_t i = 0; i < ndim_; ++i) {
      const std::size_t axis = order[i];
      // A part is a multiple of the node size just where its thickness is a multiple of this step.
      const Index step = node_size_ / std::gcd(node_size_, box.layer(axis));
      const Index smaller = box.size[axis] / 2 / step * step;
      if (smaller == 0) continue;
      const Index below = box.start[axis];
      const Index above = whole_.size[axis] - (box.start[axis] + box.size[axis]);
      return {axis, below <= above ? smaller : box.size[axis] - smaller};
    }
    throw std::logic_error("hyperplane found no split although the node size divides the box");
  }

  void runs_of(const Box& box, RunSink& sink) const {
    if (box.cells > 2 * node_size_) {
      const Split split = find_split(box);
      runs_of(box.low_part(split.axis, split.low_thickness), sink);
      runs_of(box.high_part(split.axis, split.low_thickness), sink);
      return;
    }
    const Order order = preferred_order(box);
    fill(box, order, 0, 0, sink);
  }

  void fill(const Box& box, const Order& order, std::size_t depth, Index cell, RunSink& sink) const {
    const std::size_t axis = order[depth];
    cell += box.start[axis] * strides_[axis];
    if (depth + 1 == ndim_) {
      sink.run(cell, strides_[axis], box.size[axis]);
      return;
    }
    for (Index i = 0; i < box.size[axis]; ++i) fill(box, order, depth + 1, cell + i * strides_[axis], sink);
  }

  std::size_t ndim_;
  Index node_size_;
  Box whole_;
  AxisValues strides_;
  std::array<int, max_axes> classes_;
};

}  // namespace

std::unique_ptr<Mapping> prepare_hyperplane(const MappingProblem& problem) { return std::make_unique<Hyperplane>(problem); }

// k-d tree (hunold2020, section V-B, algorithm 2): halves the grid down to single cells, whatever the nodes hold.
//
// The axis with the largest d_k / f_k is cut, f_k being the number of offsets with a component along k; an axis without
// such an offset comes before all others, an axis of one cell is out, ties go to the lower axis. The low half has
// floor(d_k / 2) layers and takes as many ranks as it has cells; the printed "r <= p/2" and the order of halving and
// adding d_k do not give a permutation and are read accordingly.

namespace {

class KdTree final : public Mapping {
 public:
  explicit KdTree(const MappingProblem& problem)
      : ndim_(static_cast<std::size_t>(problem.grid.ndim())),
        whole_(Box::whole(problem.grid)),
        strides_(strides_of(problem.grid)) {
    for (const Coords& offset : problem.stencil.offsets()) {
      for (std::size_t axis = 0; axis < ndim_; ++axis) crossings_[axis] += offset[axis] != 0 ? 1 : 0;
    }
  }

  [[nodiscard]] Index cell_of_rank(Index rank) const override {
    AxisValues size = whole_.size;
    Index cells = whole_.cells;
    Index cell = 0;
    while (cells > 1) {
      const std::size_t axis = axis_to_cut(size);
      const Index half = size[axis] / 2;
      const Index low_cells = cells / size[axis] * half;
      if (rank < low_cells) {
        size[axis] = half;
        cells = low_cells;
      } else {
        rank -= low_cells;
        cell += half * strides_[axis];
        size[axis] -= half;
        cells -= low_cells;
      }
    }
    return cell;
  }

  void all_runs(RunSink& sink) const override { runs_of(whole_.size, whole_.cells, 0, sink); }

 private:
  [[nodiscard]] std::size_t axis_to_cut(const AxisValues& size) const {
    std::size_t best = ndim_;
    for (std::size_t axis = 0; axis < ndim_; ++axis) {
      if (size[axis] == 1) continue;
      // d / f > best d / best f, without division; f = 0 stands for an infinite quotient.
      if (best == ndim_ || size[axis] * crossings_[best] > size[best] * crossings_[axis]) best = axis;
    }
    return best;
  }

  void runs_of(AxisValues size, Index cells, Index cell, RunSink& sink) const {
    if (cells == 1) {
      sink.run(cell, 1, 1);
      return;
    }
    const std::size_t axis = axis_to_cut(size);
    if (size[axis] == cells) {  // one row is left: its halves come in order
      sink.run(cell, strides_[axis], cells);
      return;
    }
    const Index half = size[axis] / 2;
    const Index low_cells = cells / size[axis] * half;
    const Index rest = size[axis] - half;
    size[axis] = half;
    runs_of(size, low_cells, cell, sink);
    size[axis] = rest;
    runs_of(size, cells - low_cells, cell + half * strides_[axis], sink);
  }

  std::size_t ndim_;
  Box whole_;
  AxisValues strides_;
  AxisValues crossings_{};
};

}  // namespace

std::unique_ptr<Mapping> prepare_kd_tree(const MappingProblem& problem) { return std::make_unique<KdTree>(problem); }

// Stencil strips (hunold2020, section V-C, algorithm 3): strips about as wide as a node's best block, in snake order.
//
// The longest axis (ties: the lowest) runs along the strips. Every other axis i of d_i cells is cut into
// floor(d_i / s_i) strips whose widths differ by at most one, the wider ones at the low end; the paper puts the
// remainder on the last strip, the authors' library spreads it. With alpha_i the distortion factor and n the (mean)
// node size, s_i is
//   paper: the (d-i)-th root of alpha_i n / (s_0 ... s_{i-1}), the s_j unrounded and of all axes including the longest;
//   code:  the d-th root of alpha_i n / (the widths already chosen), the longest axis left out.
// Both round down, to at least 1 and at most d_i; an axis with alpha_i = 0 has s_i = 1 and leaves the product alone.
// The extension e_i counts the cell itself, so that one-sided stencils have one; it is the paper's for stencils with
// offsets to both sides or with a component 0 on the axis.
//
// Ranks fill one strip after the other, in the order of the axes. Whenever a strip has an odd index, the direction of
// all that lies inside it (narrower strips, the run along the longest axis) is turned, so that each strip begins where
// the one before it ended; inside a strip each axis keeps the direction in which its strips were walked.

namespace {

// alpha_i = e_i / (product of the nonzero e)^(1 / number of nonzero e).
std::vector<double> distortion_factors(const Stencil& stencil) {
  const auto ndim = static_cast<std::size_t>(stencil.ndim());
  std::vector<double> extensions(ndim);
  double volume = 1;
  int spread_axes = 0;
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    Index low = 0;
    Index high = 0;
    for (const Coords& offset : stencil.offsets()) {
      low = std::min(low, offset[axis]);
      high = std::max(high, offset[axis]);
    }
    extensions[axis] = static_cast<double>(high - low);
    if (high == low) continue;
    volume *= extensions[axis];
    ++spread_axes;
  }
  const double side = std::pow(volume, 1.0 / spread_axes);
  for (double& extension : extensions) extension /= side;
  return extensions;
}

// Rounds down, except where rounding errors alone keep a length below the next integer.
Index strip_count(Index cells, double length) {
  const auto whole = static_cast<Index>(std::min(std::floor(length * (1 + 1e-12)), static_cast<double>(cells)));
  return cells / std::max(whole, Index{1});
}

struct Strips {
  std::size_t axis = 0;
  Index cells = 1;  // along the axis
  Index count = 1;
  Index wider = 0;  // strips 0 to wider - 1 are one cell wider than the others

  Strips() = default;
  Strips(std::size_t axis_, Index cells_, Index count_) : axis(axis_), cells(cells_), count(count_), wider(cells_ % count_) {}

  [[nodiscard]] Index width(Index strip) const { return cells / count + (strip < wider ? 1 : 0); }
  [[nodiscard]] Index start(Index strip) const { return cells / count * strip + std::min(strip, wider); }
  [[nodiscard]] Index strip_at(Index coordinate) const {
    const Index narrow = cells / count;
    const Index in_wider = wider * (narrow + 1);
    return coordinate < in_wider ? coordinate / (narrow + 1) : wider + (coordinate - in_wider) / narrow;
  }
};

using CutAxes = std::array<Strips, max_axes>;

std::size_t longest_axis(const Grid& grid) {
  return static_cast<std::size_t>(std::ranges::max_element(grid.dims()) - grid.dims().begin());
}

double mean_node_size(const NodeSizes& nodes) {
  return static_cast<double>(nodes.ranks()) / static_cast<double>(nodes.nodes());
}

CutAxes cut_axes(const MappingProblem& problem, bool as_paper) {
  const std::vector<double> alpha = distortion_factors(problem.stencil);
  const double n = mean_node_size(problem.nodes);
  const std::size_t longest = longest_axis(problem.grid);
  CutAxes cuts;
  std::size_t count = 0;
  double product = 1;
  for (std::size_t axis = 0; axis < alpha.size(); ++axis) {
    if (!as_paper && axis == longest) continue;
    const std::size_t root = as_paper ? alpha.size() - axis : alpha.size();
    const double length = alpha[axis] > 0 ? std::pow(alpha[axis] * n / product, 1.0 / static_cast<double>(root)) : 1;
    const Index cells = problem.grid.dims()[axis];
    const Strips strips(axis, cells, strip_count(cells, length));
    if (alpha[axis] > 0) product *= as_paper ? length : static_cast<double>(cells / strips.count);
    if (axis != longest) cuts[count++] = strips;
  }
  return cuts;
}

class StencilStrips final : public Mapping {
 public:
  StencilStrips(const MappingProblem& problem, const CutAxes& cuts)
      : cut_count_(static_cast<std::size_t>(problem.grid.ndim()) - 1),
        cuts_(cuts),
        longest_(longest_axis(problem.grid)),
        length_(problem.grid.dims()[longest_]),
        ranks_(problem.grid.size()),
        strides_(strides_of(problem.grid)) {}

  [[nodiscard]] Index cell_of_rank(Index rank) const override {
    AxisValues start{};
    AxisValues width{};
    std::array<bool, max_axes> turned{};
    bool direction = false;
    Index cells = ranks_;  // in the strips chosen so far
    Index section = 1;     // cells across the strips chosen so far
    for (std::size_t i = 0; i < cut_count_; ++i) {
      const Strips& strips = cuts_[i];
      const Index layer = cells / strips.cells;
      const Index walked = rank / layer;
      const Index strip = strips.strip_at(direction ? strips.cells - 1 - walked : walked);
      start[i] = strips.start(strip);
      width[i] = strips.width(strip);
      turned[i] = direction;
      rank -= layer * (direction ? strips.cells - start[i] - width[i] : start[i]);
      cells = layer * width[i];
      section *= width[i];
      direction ^= (strip & 1) != 0;
    }
    const Index along = rank / section;
    Index cell = (direction ? length_ - 1 - along : along) * strides_[longest_];
    rank %= section;
    for (std::size_t i = cut_count_; i-- > 0;) {
      const Index walked = rank % width[i];
      rank /= width[i];
      cell += (start[i] + (turned[i] ? width[i] - 1 - walked : walked)) * strides_[cuts_[i].axis];
    }
    return cell;
  }

  void all_runs(RunSink& sink) const override {
    Tube tube;
    walk_strips(0, false, tube, sink);
  }

 private:
  // One strip chosen on each of the first axes: where its walk starts, how wide it is, and the walk's step in cells.
  struct Tube {
    Index first_cell = 0;
    AxisValues width{};
    AxisValues step{};
  };

  void walk_strips(std::size_t i, bool direction, const Tube& tube, RunSink& sink) const {
    if (i == cut_count_) {
      walk_length(direction, tube, sink);
      return;
    }
    const Strips& strips = cuts_[i];
    const Index stride = strides_[strips.axis];
    for (Index walked = 0; walked < strips.count; ++walked) {
      const Index strip = direction ? strips.count - 1 - walked : walked;
      Tube inner = tube;
      inner.width[i] = strips.width(strip);
      inner.step[i] = direction ? -stride : stride;
      inner.first_cell += (strips.start(strip) + (direction ? inner.width[i] - 1 : 0)) * stride;
      walk_strips(i + 1, direction ^ ((strip & 1) != 0), inner, sink);
    }
  }

  void walk_length(bool direction, const Tube& tube, RunSink& sink) const {
    const Index step = direction ? -strides_[longest_] : strides_[longest_];
    const Index first_cell = tube.first_cell + (direction ? (length_ - 1) * strides_[longest_] : 0);
    if (cut_count_ == 0) {
      sink.run(first_cell, step, length_);
      return;
    }
    for (Index along = 0; along < length_; ++along) walk_section(0, first_cell + along * step, tube, sink);
  }

  void walk_section(std::size_t i, Index cell, const Tube& tube, RunSink& sink) const {
    if (i + 1 == cut_count_) {
      sink.run(cell, tube.step[i], tube.width[i]);
      return;
    }
    for (Index walked = 0; walked < tube.width[i]; ++walked) {
      walk_section(i + 1, cell + walked * tube.step[i], tube, sink);
    }
  }

  std::size_t cut_count_;
  CutAxes cuts_;
  std::size_t longest_;
  Index length_;
  Index ranks_;
  AxisValues strides_;
};

}  // namespace

std::unique_ptr<Mapping> prepare_stencil_strips_paper(const MappingProblem& problem) {
  return std::make_unique<StencilStrips>(problem, cut_axes(problem, true));
}

std::unique_ptr<Mapping> prepare_stencil_strips_code(const MappingProblem& problem) {
  return std::make_unique<StencilStrips>(problem, cut_axes(problem, false));
}

// Nodecart (W. D. Gropp, Using node and socket information to implement MPI Cartesian topologies, Parallel Computing
// 85, 2019): a grid of nodes times one small grid inside each node.
//
// The prime factors of the node size, largest first, each go to that axis which has the smallest product of factors so
// far among the axes they still divide (ties: the lower axis). Every factor finds an axis, because the node size
// divides the number of cells. Nodes and ranks inside a node are both in row-major order. Nodes must be of equal size.

namespace {

std::vector<Index> prime_factors_descending(Index number) {
  std::vector<Index> factors;
  for (Index factor = 2; factor <= number / factor; ++factor) {
    for (; number % factor == 0; number /= factor) factors.push_back(factor);
  }
  if (number > 1) factors.push_back(number);
  std::ranges::reverse(factors);
  return factors;
}

class Nodecart final : public Mapping {
 public:
  explicit Nodecart(const MappingProblem& problem)
      : ndim_(static_cast<std::size_t>(problem.grid.ndim())),
        node_size_(problem.nodes.largest()),
        nodes_(problem.nodes.nodes()),
        strides_(strides_of(problem.grid)) {
    for (std::size_t axis = 0; axis < ndim_; ++axis) {
      outer_[axis] = problem.grid.dim(static_cast<int>(axis));
      inner_[axis] = 1;
    }
    for (const Index factor : prime_factors_descending(node_size_)) {
      std::size_t best = ndim_;
      for (std::size_t axis = 0; axis < ndim_; ++axis) {
        if (outer_[axis] % factor == 0 && (best == ndim_ || inner_[axis] < inner_[best])) best = axis;
      }
      inner_[best] *= factor;
      outer_[best] /= factor;
    }
  }

  [[nodiscard]] Index cell_of_rank(Index rank) const override {
    return first_cell_of_node(rank / node_size_) + cell_inside(rank % node_size_);
  }

  void all_runs(RunSink& sink) const override {
    const Index row = inner_[ndim_ - 1];
    std::vector<Index> row_starts;
    for (Index i = 0; i < node_size_; i += row) row_starts.push_back(cell_inside(i));
    for (Index node = 0; node < nodes_; ++node) {
      const Index first = first_cell_of_node(node);
      for (const Index start : row_starts) sink.run(first + start, 1, row);
    }
  }

 private:
  [[nodiscard]] Index first_cell_of_node(Index node) const {
    Index cell = 0;
    for (std::size_t axis = ndim_; axis-- > 0;) {
      cell += node % outer_[axis] * inner_[axis] * strides_[axis];
      node /= outer_[axis];
    }
    return cell;
  }

  [[nodiscard]] Index cell_inside(Index local) const {
    Index cell = 0;
    for (std::size_t axis = ndim_; axis-- > 0;) {
      cell += local % inner_[axis] * strides_[axis];
      local /= inner_[axis];
    }
    return cell;
  }

  std::size_t ndim_;
  Index node_size_;
  Index nodes_;
  AxisValues strides_;
  AxisValues outer_{};  // nodes along each axis
  AxisValues inner_{};  // ranks of one node along each axis
};

}  // namespace

std::unique_ptr<Mapping> prepare_nodecart(const MappingProblem& problem) {
  if (!problem.nodes.equal()) {
    invalid("nodecart needs nodes of equal size, and they hold from " + std::to_string(problem.nodes.smallest()) + " to " +
            std::to_string(problem.nodes.largest()) + " ranks: use kd-tree or stencil-strips");
  }
  return std::make_unique<Nodecart>(problem);
}

}  // namespace rankwise
