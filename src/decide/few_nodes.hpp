// Of exchanges that know nodes, the ranks of one node stand for all.
#pragma once

#include <functional>

#include "cost/walk.hpp"

namespace rankwise {

// The walk of the ranks of one node, or of all ranks where nodes are few and their exchange small.
[[nodiscard]] Walk walk_of_nodes(const ExchangeSpec& spec, const Placement& placement);

// Of the ranks of the first node, who do what `make` says; of all others only their places count.
[[nodiscard]] Walk walk_of_node(const NodeMap& map, const Placement& placement, SendMode mode,
                                const std::function<RankSchedule(Index rank)>& make);

}  // namespace rankwise
