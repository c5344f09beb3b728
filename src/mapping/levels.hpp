// Levels below the node: which of a node's sockets (or NUMA domains, or any other groups) each of its cells goes to.
#pragma once

#include <span>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

// A division of the grid's cells into parts. The parts of a deeper level lie within those of the level above it, and
// are numbered in their order.
struct Level {
  std::vector<NodeId> part_of_cell;
  std::vector<Index> sizes;  // cells of each part
};

// Divides each part into ways parts whose sizes differ by at most one, the larger ones first (a part of fewer cells
// than ways into single cells), so that little is sent between them: a search in each part alone, with the effort of
// options shared out by size. Without steps the cells of a part are taken in ascending order, as a launcher that knows
// nothing of the grid would. A part too large to be searched is divided like that, too.
// Throws std::invalid_argument where ways is below 1, the level does not fit the grid, or 2^31 parts or more result.
Level divide(const Grid& grid, const Stencil& stencil, const Level& level, Index ways, const MappingOptions& options);

}  // namespace rankwise
