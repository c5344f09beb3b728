// A lower bound of J_sum: what no mapping of a problem can fall below.
#pragma once

#include <string_view>

#include "mapping/mapping.hpp"

namespace rankwise {

struct Bound {
  Index j_sum = 0;
  // Which argument gives it: "isoperimetric", "projections" (isoperimetric, large nodes), "lines" (a stencil along one
  // axis) or "components" (groups of cells that talk are larger than a node, or nodes as a whole hang together).
  std::string_view kind;
};

// The largest bound known here. Let a part of n cells send at least m(n) in a grid without borders; then
// J_sum >= (sum of m(n) over all nodes) - (weight of the edges that the grid's open borders cut off).
// m(n) does not change with the coordinates, so it is sought along the axes and along the stencil's own short vectors, by
// all arguments of isoperimetry.hpp. On a periodic axis of L cells a set of n cells whose offsets cannot lead around it is one
// of the endless grid; any other loses at most n * (sum of weight * |offset along the axis|) / L, if the axis is
// cut where that costs least.
Bound lower_bound(const MappingProblem& problem);

}  // namespace rankwise
