#include "mapping/planes.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "mapping/lattice.hpp"
#include "mapping/table_mapping.hpp"

namespace rankwise {

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
  using Keyed = std::pair<Index, Index>;  // a cell after its place in some order

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
      for (const std::size_t axis : order) keyed.first = keyed.first * size[axis] + at[axis] - low[axis];
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
