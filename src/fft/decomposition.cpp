#include "fft/decomposition.hpp"

#include <algorithm>

namespace rankwise {

Index Decomposition::local_values(Index rank) const {
  return std::max({volume(natural(rank)), volume(middle(rank)), volume(transposed(rank))});
}

void check(const Decomposition& decomposition, bool may_idle) {
  const auto& [n, real, grid] = decomposition;
  for (const Index points : n) {
    if (points < 1 || points > (Index{1} << 20)) {
      invalid("an axis of " + std::to_string(points) + " points cannot be transformed: take 1 to 1048576");
    }
  }
  for (const Index ranks : grid) {
    if (ranks < 1) invalid("a process grid needs at least 1 rank on each axis");
  }
  if (may_idle) return;
  // Each transpose divides one axis and makes another whole.
  const Index most0 = std::min(n[0], n[1]);
  const Index most1 = std::min(n[1], decomposition.complex_points());
  if (grid[0] > most0 || grid[1] > most1) {
    invalid("the process grid " + std::to_string(grid[0]) + "x" + std::to_string(grid[1]) +
            " has more ranks than pencils: at most " + std::to_string(most0) + "x" + std::to_string(most1) +
            " fits these axes, take fewer ranks or another grid");
  }
}

Order parse_order(const std::string& name) {
  if (name == "natural") return Order::natural;
  if (name == "transposed") return Order::transposed;
  invalid("order '" + name + "' is unknown: choose natural or transposed");
}

std::string to_string(Order order) { return order == Order::natural ? "natural" : "transposed"; }

std::array<Index, 2> usual_grid(const std::array<Index, 3>& n, bool real, Index ranks) {
  std::array<Index, 2> best{ranks, 1};
  if (ranks <= std::min(n[0], n[1])) return best;
  for (Index p1 = ranks; p1 >= 1; --p1) {
    if (ranks % p1 != 0) continue;
    const Decomposition other{n, real, {p1, ranks / p1}};
    if (other.local_values(0) < Decomposition{n, real, best}.local_values(0)) best = other.grid;
  }
  return best;
}

}  // namespace rankwise
