// The score of a placement as it is, asked of the ranks themselves.
#pragma once

#include <mpi.h>

#include "cart/nodes.hpp"
#include "mapping/score.hpp"

namespace rankwise {

// Collective: the score when rank r of comm has cell r of the grid, the same on all ranks and the same as score() of the
// whole map. nodes: of comm. Each rank exchanges one number with each of its neighbours and holds no more than that.
// Throws MpiError; std::invalid_argument, on all ranks alike, when the grid does not have a cell for each rank.
Score score_of_ranks(MPI_Comm comm, const RankNodes& nodes, const Grid& grid, const Stencil& stencil);

}  // namespace rankwise
