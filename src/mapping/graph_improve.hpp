// What makes a graph's map better, round by round.
#pragma once

#include "mapping/graph_search.hpp"

namespace rankwise {

// Rounds of several kinds, those more often that have gained most for their steps: annealing of the whole map, hot or cool;
// and windows, some neighbouring nodes whose vertices are annealed, or divided anew and annealed, alone. What is no better is
// dropped. Windows are shared among threads; the result does not depend on their number.
void improve(GraphMap& map, const MappingOptions& options);

}  // namespace rankwise
