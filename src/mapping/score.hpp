// How good a mapping is: the stencil's messages that cross nodes (hunold2020, section II).
#pragma once

#include <span>
#include <vector>

#include "grid/grid.hpp"
#include "grid/stencil.hpp"
#include "mapping/mapping.hpp"

namespace rankwise {

struct Score {
  Index j_sum = 0;  // directed edges between cells of different nodes, each as heavy as its offset's weight
  Index j_max = 0;  // those that leave the node with most of them
};

// node_of_cell: one node id (>= 0) a cell, row-major; any assignment, balanced or not. Every cell has one edge an
// offset, except where the offset leaves an open axis; on a periodic axis it wraps, and an edge that wraps to its own
// cell counts for nothing. Two offsets that wrap to the same cell are two edges.
// Takes O(cells * offsets) time, and memory for one row of cells and one number a node.
// Throws std::invalid_argument where sizes do not fit or a node id is negative or not below the number of cells.
Score score(const Grid& grid, const Stencil& stencil, std::span<const NodeId> node_of_cell);
// Likewise, what leaves each node up to the one with the largest id.
std::vector<Index> leaving_nodes(const Grid& grid, const Stencil& stencil, std::span<const NodeId> node_of_cell);

// The weight of all edges of the stencil, wherever they lead: the J_sum of a map with one cell a node.
Index total_edges(const Grid& grid, const Stencil& stencil);

}  // namespace rankwise
