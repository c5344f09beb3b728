// Mapping problems written in a line, and what a map of them costs.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

inline MappingProblem problem_of(std::vector<Index> dims, const std::vector<Index>& nodes, std::string_view stencil,
                                 std::vector<bool> periodic = {}) {
  const auto ndim = static_cast<int>(dims.size());
  return {Grid(std::move(dims), std::move(periodic)), NodeSizes(nodes), parse_stencil(stencil, ndim)};
}

inline MappingProblem problem_of(std::vector<Index> dims, Index ranks_per_node, std::string_view stencil) {
  Grid grid(std::move(dims));
  const Index nodes = grid.size() / ranks_per_node;
  const int ndim = grid.ndim();
  return {std::move(grid), NodeSizes(nodes, ranks_per_node), parse_stencil(stencil, ndim)};
}

inline std::vector<NodeId> nodes_of(const Mapping& mapping, const MappingProblem& problem) {
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()), -1);
  fill_node_of_cell(mapping, problem.nodes, node_of_cell);
  return node_of_cell;
}

inline Score score_of(const Mapping& mapping, const MappingProblem& problem) {
  return score(problem.grid, problem.stencil, nodes_of(mapping, problem));
}

}  // namespace rankwise
