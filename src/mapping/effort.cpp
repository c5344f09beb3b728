#include "mapping/effort.hpp"

#include <algorithm>

#include "mapping/bound.hpp"
#include "mapping/score.hpp"

namespace rankwise {

MappingOptions by_clock(double seconds, double (*now_s)()) {
  MappingOptions result;
  result.steps = static_cast<Index>(std::min(seconds, 1e9) * static_cast<double>(steps_per_second));
  if (seconds > 0) result.left_s = [end_s = now_s() + seconds, now_s] { return end_s - now_s(); };
  return result;
}

Index worthwhile_steps(const MappingProblem& problem) {
  MappingOptions none;
  none.steps = 0;
  const auto best = mapping_algorithm("auto").prepare(problem, none);
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
  fill_node_of_cell(*best, problem.nodes, node_of_cell);
  const Index to_gain = score(problem.grid, problem.stencil, node_of_cell).j_sum - lower_bound(problem).j_sum;
  // A message of mean weight is one message.
  const double offsets = static_cast<double>(problem.stencil.offsets().size());
  const double messages = static_cast<double>(to_gain) * offsets / static_cast<double>(problem.stencil.total_weight());
  const double seconds = std::clamp(1e-3 * messages / static_cast<double>(problem.nodes.nodes()), 1e-3, 1.0);
  return static_cast<Index>(seconds * static_cast<double>(steps_per_second));
}

}  // namespace rankwise
