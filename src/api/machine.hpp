// The machine that `auto` decides for: what its messages cost, and which of them leave a socket or a node.
#pragma once

#include <string>

#include "api/communicator.hpp"
#include "decide/few.hpp"
#include "profile/profile.hpp"

namespace rankwise::api {

// What messages cost, and where that is from.
struct KnownMachine {
  Machine machine;
  std::string source;
};

// The profile that RANKWISE_PROFILE names, or the default machine. A file is read once in a process for each name.
// Not collective. Throws Failure for a file that is missing or no profile.
[[nodiscard]] const KnownMachine& known_machine();

// The farthest link that this rank's messages along each axis take within the cutoff: same socket, other socket of the
// node, other node. Ranks are on different sockets where both are bound to one each; threads of one core count as cores.
// Collective; alike on all ranks once the largest is taken.
[[nodiscard]] AxisLinks own_axis_links(const Communicator& comm, const Window& window);

}  // namespace rankwise::api
