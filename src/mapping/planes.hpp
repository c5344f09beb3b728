// Halves of a grid, again and again, between planes where little crosses: a start where tubes are poor, as along more than
// three axes that are not alike.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

// Halves the nodes and the cells that they hold: across the axis along which least is sent through a plane of the box around
// these cells, the last plane being divided by the next best axis. Takes O(cells * axes * log(nodes)) time.
std::unique_ptr<Mapping> halved_by_planes(const MappingProblem& problem);

// Groups of nodes that follow each other, and the cells that they hold.
struct GridGroups {
  std::vector<NodeId> of_cell;
  std::vector<NodeId> first_nodes;  // of each group, and how many nodes there are
};
// Halved so often only: 2^times groups, or as many as there are nodes.
GridGroups grouped_by_planes(const MappingProblem& problem, int times);

}  // namespace rankwise
