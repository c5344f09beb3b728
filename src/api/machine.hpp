// The machine that `auto` decides for: which of its messages leave a socket or a node.
#pragma once

#include "api/communicator.hpp"
#include "api/known_machine.hpp"
#include "cost/placement.hpp"

namespace rankwise::api {

// Where the ranks sit, known to rank 0 (others get a placement of their number of ranks): nodes as MPI tells them, and
// sockets where every rank is bound to one; threads of one core count as cores. Nodes that are filled one after the other
// are told by a few numbers; of others each rank tells where it is.
// Collective.
[[nodiscard]] Placement placement_on_root(const Communicator& comm);

}  // namespace rankwise::api
