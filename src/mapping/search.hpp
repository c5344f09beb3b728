// The search behind refined: from the best of several maps to a better one.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/effort.hpp"
#include "mapping/partition.hpp"

namespace rankwise {

// Improves the best of the starts, all of them with exact part sizes, until the effort is spent or no better map can
// be. bound: no map has a smaller j_sum.
Partition search(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound);
// The same, and what it took.
Partition search(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound, Effort& effort);

// Half of the effort for a small j_sum, half for a small j_max: the maps of which none is better than another in both, the
// least j_sum first.
std::vector<Partition> search_front(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound,
                                    Effort& effort);

}  // namespace rankwise
