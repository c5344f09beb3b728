#include "mapping/planes.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "mapping/box.hpp"
#include "mapping/table_mapping.hpp"

namespace rankwise {

namespace {

class Planes {
 public:
  explicit Planes(const MappingProblem& problem)
      : problem_(problem),
        axes_(static_cast<std::size_t>(problem.grid.ndim())),
        strides_(strides_of(problem.grid)),
        cells_(static_cast<std::size_t>(problem.grid.size())),
        node_of_cell_(cells_.size()) {
    for (std::size_t k = 0; k < problem.stencil.offsets().size(); ++k) {
      for (std::size_t axis = 0; axis < axes_; ++axis) {
        crossing_[axis] += std::abs(problem.stencil.offsets()[k][axis]) * problem.stencil.weights()[k];
      }
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i].second = static_cast<Index>(i);
    for (Index node = 0; node < problem.nodes.nodes(); ++node) first_.push_back(first_.back() + problem.nodes.size(node));
  }

  std::vector<NodeId> divide() {
    halve(0, problem_.nodes.nodes());
    return std::move(node_of_cell_);
  }

 private:
  using Keyed = std::pair<Index, Index>;  // a cell after its place in some order

  [[nodiscard]] Index along(std::size_t axis, Index cell) const { return cell / strides_[axis] % problem_.grid.dims()[axis]; }

  void halve(Index from, Index to) {
    const auto begin = static_cast<std::size_t>(first_[static_cast<std::size_t>(from)]);
    const std::span<Keyed> own(cells_.data() + begin, static_cast<std::size_t>(first_[static_cast<std::size_t>(to)]) - begin);
    if (to - from == 1) {
      for (const Keyed& keyed : own) node_of_cell_[static_cast<std::size_t>(keyed.second)] = static_cast<NodeId>(from);
      return;
    }
    AxisValues low{};
    AxisValues size{};
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      low[axis] = problem_.grid.dims()[axis];
      for (const Keyed& keyed : own) {
        const Index at = along(axis, keyed.second);
        low[axis] = std::min(low[axis], at);
        size[axis] = std::max(size[axis], at + 1);
      }
      size[axis] -= low[axis];
    }
    std::vector<std::size_t> order(axes_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto lighter = [&](std::size_t a, std::size_t b) {  // crossing / size is less, an axis of one cell last
      return std::pair(size[a] == 1, crossing_[a] * size[b]) < std::pair(size[b] == 1, crossing_[b] * size[a]);
    };
    std::ranges::stable_sort(order, lighter);
    for (Keyed& keyed : own) {
      keyed.first = 0;
      for (const std::size_t axis : order) keyed.first = keyed.first * size[axis] + along(axis, keyed.second) - low[axis];
    }
    const Index middle = from + (to - from) / 2;
    const auto half = first_[static_cast<std::size_t>(middle)] - first_[static_cast<std::size_t>(from)];
    std::ranges::nth_element(own, own.begin() + half);
    halve(from, middle);
    halve(middle, to);
  }

  const MappingProblem& problem_;
  std::size_t axes_;
  AxisValues strides_;
  AxisValues crossing_{};
  std::vector<Keyed> cells_;
  std::vector<Index> first_{0};  // cell of each node
  std::vector<NodeId> node_of_cell_;
};

}  // namespace

std::unique_ptr<Mapping> halved_by_planes(const MappingProblem& problem) {
  return table_mapping(problem.nodes, Planes(problem).divide());
}

}  // namespace rankwise
