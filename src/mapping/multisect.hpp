// Recursive multisection of a graph into parts of exact sizes: a start for a search.
#pragma once

#include <bit>
#include <cstdint>

#include "mapping/graph.hpp"

namespace rankwise {

// Divides nodes into halves at the boundaries of units first, and the graph with them: coarsened by matching heavy edges,
// divided where it is small, refined by the moves of Fiduccia and Mattheyses (1982) at every size. The nodes of each unit must
// follow each other.
[[nodiscard]] std::vector<NodeId> multisect(const WeightedGraph& graph, const NodeTree& tree, const MappingOptions& options);

// About how many steps that takes for so many vertices and edges (both ways), where groups divide the nodes in so many halvings
// already. For few nodes more is tried.
[[nodiscard]] Index multisect_steps(Index vertices, Index edges, Index nodes, Index done = 0);
// How often nodes are halved until each is alone.
[[nodiscard]] constexpr Index halvings(Index nodes) { return std::bit_width(static_cast<std::uint64_t>(nodes)); }

// The same within groups of vertices that are there already. group: of each vertex; first_nodes: the first of the nodes that
// follow each other for each group, which hold it exactly, and at last how many nodes there are.
[[nodiscard]] std::vector<NodeId> multisect_within(const WeightedGraph& graph, const NodeTree& tree,
                                                   const MappingOptions& options, std::span<const NodeId> group,
                                                   std::span<const NodeId> first_nodes);

}  // namespace rankwise
