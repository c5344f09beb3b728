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
#include <algorithm>
#include <cmath>

#include "mapping/algorithms.hpp"
#include "mapping/box.hpp"

namespace rankwise {

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

CutAxes cut_as_paper(const MappingProblem& problem) {
  const std::vector<double> alpha = distortion_factors(problem.stencil);
  const double n = mean_node_size(problem.nodes);
  const std::size_t longest = longest_axis(problem.grid);
  CutAxes cuts;
  std::size_t count = 0;
  double product = 1;
  for (std::size_t axis = 0; axis < alpha.size(); ++axis) {
    double length = 1;
    if (alpha[axis] > 0) {
      length = std::pow(alpha[axis] * n / product, 1.0 / static_cast<double>(alpha.size() - axis));
      product *= length;
    }
    const Index cells = problem.grid.dims()[axis];
    if (axis != longest) cuts[count++] = Strips(axis, cells, strip_count(cells, length));
  }
  return cuts;
}

CutAxes cut_as_code(const MappingProblem& problem) {
  const std::vector<double> alpha = distortion_factors(problem.stencil);
  const double n = mean_node_size(problem.nodes);
  const std::size_t longest = longest_axis(problem.grid);
  CutAxes cuts;
  std::size_t count = 0;
  double product = 1;
  for (std::size_t axis = 0; axis < alpha.size(); ++axis) {
    if (axis == longest) continue;
    double length = 1;
    if (alpha[axis] > 0) length = std::pow(alpha[axis] * n / product, 1.0 / static_cast<double>(alpha.size()));
    const Index cells = problem.grid.dims()[axis];
    cuts[count] = Strips(axis, cells, strip_count(cells, length));
    if (alpha[axis] > 0) product *= static_cast<double>(cells / cuts[count].count);
    ++count;
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
  return std::make_unique<StencilStrips>(problem, cut_as_paper(problem));
}

std::unique_ptr<Mapping> prepare_stencil_strips_code(const MappingProblem& problem) {
  return std::make_unique<StencilStrips>(problem, cut_as_code(problem));
}

}  // namespace rankwise
