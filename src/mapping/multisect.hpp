// Recursive multisection of a graph into parts of exact sizes: a start for a search.
#pragma once

#include "mapping/graph.hpp"

namespace rankwise {

// Divides nodes into halves at the boundaries of units first, and the graph with them: coarsened by matching heavy edges,
// divided where it is small, refined by the moves of Fiduccia and Mattheyses (1982) at every size. The nodes of each unit must
// follow each other.
[[nodiscard]] std::vector<NodeId> multisect(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options);

}  // namespace rankwise
