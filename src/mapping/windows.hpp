// Search for maps too large to be searched as a whole: a few neighbouring nodes at a time, the rest held fast.
#pragma once

#include <vector>

#include "mapping/effort.hpp"
#include "mapping/mapping.hpp"

namespace rankwise {

// Whether a map is better searched by windows than as a whole, with so many steps.
bool prefers_windows(const MappingProblem& problem, Index steps);
// Whether so many steps are enough for both, one after the other.
bool pays_windows(const MappingProblem& problem, Index steps);

// Improves a map with exact node sizes: takes nodes around a random one, anneals their cells among them, and keeps what is not
// worse. Edges that leave a window are cut whatever happens inside, so windows without a common node do not disturb each
// other: they are drawn a handful at a time and given to the threads, and the map is the same for any number of them.
// For a small J_sum, which is never raised; with the objective J_max around the nodes that send most.
void improve_by_windows(const MappingProblem& problem, std::vector<NodeId>& node_of_cell, const MappingOptions& options,
                        Effort& effort);

}  // namespace rankwise
