// The machine that `auto` decides for.
#pragma once

#include <string>

#include "api/communicator.hpp"
#include "cost/placement.hpp"
#include "profile/profile.hpp"

namespace rankwise::api {

// What messages cost on the machine that `auto` decides for.

// What messages cost, and where that is from.
struct KnownMachine {
  Machine machine;
  std::string source;
};

// The profile that RANKWISE_PROFILE names, or the default machine. A file is read once in a process for each name.
// Not collective. Throws Failure for a file that is missing or no profile.
[[nodiscard]] const KnownMachine& known_machine();

// The machine that `auto` decides for: which of its messages leave a socket or a node.

// Where the ranks sit, known to rank 0 (others get a placement of their number of ranks): nodes as MPI tells them, and
// sockets where every rank is bound to one; threads of one core count as cores. Nodes that are filled one after the other
// are known by a few numbers; of others each rank sends where it is.
// Collective.
[[nodiscard]] Placement placement_on_root(const Communicator& comm);

}  // namespace rankwise::api
