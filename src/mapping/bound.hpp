// A lower bound of J_sum: what no mapping of a problem can fall below.
#pragma once

#include <string_view>

#include "mapping/mapping.hpp"

namespace rankwise {

struct Bound {
  Index j_sum = 0;
  // Which argument gives it: "isoperimetric", "lines" (a stencil along one axis), "open-axes" (isoperimetric, without
  // the edges that wrap around periodic axes) or "projections" (large nodes).
  std::string_view kind;
};

// The largest bound known here. Let a part of n cells send at least m(n) in a grid without borders; then
// J_sum >= (sum of m(n) over all nodes) - (weight of the edges that the grid's borders cut off).
//
// m(n): pushing a part's cells together along one axis after the other never adds edges that leave it, as long as the
// stencil's offsets lie along axes and weigh no more the further they lead (a discrete rearrangement inequality). What
// is left is a stack of ever smaller layers, over whose sizes a dynamic program takes the minimum, axis by axis. The
// rest of the weights counts once for every line that an offset's direction cuts through the part.
// Exact for a single part in 1-D and 2-D with offsets along axes; from 3-D on layers need not fit onto each other.
Bound lower_bound(const MappingProblem& problem);

}  // namespace rankwise
