// Nodes of one shape side by side, as a honeycomb or a brick wall is laid.
#pragma once

#include <memory>

#include "mapping/mapping.hpp"

namespace rankwise {

// Paves a grid of two or three axes with nodes of one shape. The shape holds one cell of each class of a lattice of as many
// classes as most nodes have ranks, so that its copies, shifted by the lattice, fill the plane: of many such lattices and the
// shapes that a search finds for each, that which sends least. What the border cuts off is divided as any graph.
// About most_work steps. No map (null) where the grid has fewer or more axes, the stencil leaves out cells, the border cuts
// off more than a fifth, fewer than half of the nodes would be whole, or the work is not enough.
std::unique_ptr<Mapping> paved(const MappingProblem& problem, Index most_work);

}  // namespace rankwise
