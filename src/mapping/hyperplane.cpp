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
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "mapping/algorithms.hpp"
#include "mapping/box.hpp"

namespace rankwise {

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

}  // namespace rankwise
