// How much a set of n cells sends at least: the isoperimetric problem of a stencil, bounded from below.
//
// A set P sends, along an offset and its opposite together, weight * |P without (P - o)|: both lead to as many cells outside.
// So a stencil is a list of pairs +-o here, each with the weight of both.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

// Of each pair the offset whose first component that is not 0 is positive.
using Pairs = std::map<Coords, Index>;

// least[n]: no set of n cells sends less, 0 <= n <= most. All functions here give one that holds; whichever is largest counts.
using Least = std::vector<Index>;

// Offsets that wrap are brought to the shortest way round; those that lead back to their cell are left out.
Pairs pairs_of(const Stencil& stencil, const Grid& grid);

// On the grid itself, open axes without end beyond as many layers as the grid has. What leads along axes and weighs no more
// the further it leads counts by layers: pushing cells together along an axis never adds edges that leave (a discrete
// rearrangement inequality), so a dynamic program takes the minimum over stacks of ever smaller layers, axis by axis,
// ending with the axes in this order. The rest counts once for each line that it cuts. Empty where the program
// would be too large. within: of each cut edge half the pair's weight, in halves, and none for what borders cut off: twice what
// all sets of a division send in the mean; only offsets of one step along axes count.
Least least_by_layers(const Pairs& pairs, const Grid& grid, const std::vector<std::size_t>& order, Index most,
                      bool within = false);

// In the endless plane, by lines along the second axis: two lines of a and b cells have at most as many pairs as two
// intervals laid over each other as well as can be (Riesz 1930), and a dynamic program takes the most pairs over all
// sequences of lines no longer than longest. Exact for nearest neighbours, the 9-point and the triangular stencil. Offsets
// across more than two lines count as in least_by_sets.
Least least_by_lines(const Pairs& pairs, Index longest, Index most);

// What n cells of the plane send at least that lead all the way round a periodic axis, offsets being of one step at most;
// 2^61 where n cells cannot. 0: not known.
Index least_around(const Pairs& pairs, const Grid& grid, Index n);

// On a grid of three axes: as many complete 27-point stencils as the pairs hold, by level sets along this axis; takes them
// out of the pairs. Empty where there is none.
Least least_of_moore3(Pairs& pairs, const Grid& grid, std::size_t axis, Index most);

// Endless: sets of linearly independent offsets, each like nearest neighbours of as many axes (Loomis and Whitney 1949, coset
// by coset).
Least least_by_sets(Pairs pairs, Index most);

// Like least_by_sets for one n of any size, by the inequality itself.
Index least_by_projections(Pairs pairs, Index n);

// A lower bound of J_sum: what no mapping of a problem can fall below.

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
