// Chains of gifts: each part gives a cell to the next one, so that only the sizes of the first and the last change.
#pragma once

#include <cstdint>
#include <utility>

#include "mapping/effort.hpp"
#include "mapping/partition.hpp"

namespace rankwise {

// What counts first, then second: less is better.
using Quality = std::pair<std::int64_t, std::int64_t>;

inline Quality quality(const Partition& partition, Objective objective) {
  const Quality found(partition.j_sum(), partition.j_max());
  return objective == Objective::j_sum ? found : Quality(found.second, found.first);
}

// Gives cells along chains from parts with too many to parts with too few, at little cost, until all sizes are right.
// False where the effort has ended before that.
bool repair(Partition& partition, Effort& effort);

// Gives cells around cycles of parts, which keeps all sizes, as long as that makes the partition better.
void polish(Partition& partition, Objective objective, Effort& effort);

}  // namespace rankwise
