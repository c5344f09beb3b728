// Tubes of differing thickness that cover a grid, in snake order, and the dynamic program that chooses them.
//
// Ranks fill one tube after the other, so nodes may straddle two of them. In 2-D the tubes are strips, in 3-D they stand
// in slabs; along further axes tubes are one cell thick. Cutting a grid into strips of chosen heights so that parts of
// equal size have a short perimeter is due to Christou and Meyer (Optimal equi-partition of rectangular domains for
// parallel computation, 1996; Yackel, Meyer, Christou 1997); here parts may straddle strips, the cost is exact for
// any stencil, and the heights come from a dynamic program.
#pragma once

#include <memory>
#include <vector>

#include "mapping/mapping.hpp"
#include "mapping/tube_costs.hpp"

namespace rankwise {

struct Tube {
  Index first_rank;
  Index first_cell;  // that its first rank takes
  TubeShape shape;
  // Steps in cells to the next place along a, b and c, in the direction of the walk.
  Index step_along, step_across, step_over;
};

class TubePlan final : public Mapping {
 public:
  // tubes: in the order of ranks, covering all of them, length cells along a each.
  TubePlan(std::vector<Tube> tubes, Index length, bool over_slowest, Index cost, Index work);

  // The weight of all edges that leave parts, those cut off by borders included; exact but for tubes thinner than the
  // stencil reaches and for periodic axes.
  [[nodiscard]] Index cost() const { return cost_; }
  // What finding it took, in about the steps of MappingOptions.
  [[nodiscard]] Index work() const { return work_; }
  [[nodiscard]] const std::vector<Tube>& tubes() const { return tubes_; }

  [[nodiscard]] Index cell_of_rank(Index rank) const override;
  void all_runs(RunSink& sink) const override;

 private:
  std::vector<Tube> tubes_;
  // The tube of the first rank of each 2^bucket_bits_ ranks, about as many as tubes: a rank's tube is that one or one of
  // the next few.
  std::vector<std::uint32_t> tube_of_bucket_;
  int bucket_bits_ = 0;
  Index length_;
  bool over_slowest_;
  Index cost_;
  Index work_;
};

// The best plan with these axes. most_work bounds the transitions that the program looks at, roughly: where it does not
// allow all thicknesses that are worth it, those that look best remain.
std::unique_ptr<TubePlan> plan_tubes(const MappingProblem& problem, const TubeAxes& axes, Index most_work);

// All choices of axes worth trying, in a fixed order.
std::vector<TubeAxes> tube_axes(const MappingProblem& problem);

}  // namespace rankwise
