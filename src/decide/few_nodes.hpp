// Of exchanges that know nodes, the ranks of one node stand for all.
#pragma once

#include "cost/walk.hpp"

namespace rankwise {

// The walk of the ranks of one node, or of all ranks where nodes are few and their exchange small.
[[nodiscard]] Walk walk_of_nodes(const ExchangeSpec& spec, const Placement& placement);

}  // namespace rankwise
