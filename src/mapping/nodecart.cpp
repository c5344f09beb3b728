// Nodecart (W. D. Gropp, Using node and socket information to implement MPI Cartesian topologies, Parallel Computing
// 85, 2019): a grid of nodes times one small grid inside each node.
//
// The prime factors of the node size, largest first, each go to that axis which has the smallest product of factors so
// far among the axes they still divide (ties: the lower axis). Every factor finds an axis, because the node size
// divides the number of cells. Nodes and ranks inside a node are both in row-major order. Nodes must be of equal size.
#include <algorithm>
#include <string>

#include "mapping/algorithms.hpp"
#include "mapping/box.hpp"

namespace rankwise {

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
