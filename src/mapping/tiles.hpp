// Nodes of one shape side by side, as a honeycomb or a brick wall is laid.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

// Paves a grid of two or three axes with nodes of one shape. The shape holds one cell of each class of a lattice of as many
// classes as most nodes have ranks, so that its copies, shifted by the lattice, fill the plane: of many such lattices and the
// shapes that a search finds for each, that which sends least. What the border cuts off is divided as any graph.
// About most_work steps. No map (null) where the grid has fewer or more axes, the stencil leaves out cells, the border cuts
// off more than a fifth, fewer than half of the nodes would be whole, or the work is not enough.
std::unique_ptr<Mapping> paved(const MappingProblem& problem, Index most_work);

// Halves of a grid, again and again, between planes where little crosses: a start where tubes are poor, as along more than
// three axes that are not alike.

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
