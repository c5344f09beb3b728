// A graph of half the size: pairs of vertices bound by heavy edges become one.
#pragma once

#include <span>
#include <vector>

#include "mapping/graph.hpp"
#include "mapping/random.hpp"

namespace rankwise {

inline constexpr WeightedGraph::Vertex no_vertex = -1;

struct Coarser {
  WeightedGraph graph;
  std::vector<WeightedGraph::Vertex> of;  // the coarse vertex of each finer one
};

// No pair holds more than so many ranks or, where part is not empty, vertices of two parts.
[[nodiscard]] Coarser coarsened(const WeightedGraph& graph, std::int64_t most, std::span<const NodeId> part, Random& random);

}  // namespace rankwise
