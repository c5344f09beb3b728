// Groups of vertices that talk among themselves only, put onto nodes whole where they fit, and cut where that costs least.
#pragma once

#include "mapping/graph.hpp"

namespace rankwise {

// Fills one node after the other, exactly: each time the whole groups, and the pieces of groups, that cut least in all (a
// dynamic program over groups and ranks). A piece is what lies nearest to one of those that are bound least to the others. For
// nodes without levels above them and one rank a vertex. Takes O(vertices * (vertices + 8 * nodes * degree)) time.
[[nodiscard]] std::vector<NodeId> dealt_in_pieces(const WeightedGraph& graph, const NodeTree& tree);

}  // namespace rankwise
