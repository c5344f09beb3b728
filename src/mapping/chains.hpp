// Chains of gifts: each part gives a cell to the next one, so that only the sizes of the first and the last change.
#pragma once

#include <array>
#include <cstdint>

#include "mapping/effort.hpp"
#include "mapping/partition.hpp"

namespace rankwise {

// What counts first, second and third: less is better. The parts at j_max are counted so that a search that takes one
// after the other below it sees progress.
using Quality = std::array<std::int64_t, 3>;

Quality quality(const Partition& partition, Objective objective);

// Gives cells along chains from parts with too many to parts with too few, at little cost, until all sizes are right.
// False where the effort has ended before that.
bool repair(Partition& partition, Effort& effort);

// Gives cells around cycles of parts, which keeps all sizes, as long as that makes the partition better.
void polish(Partition& partition, Objective objective, Effort& effort);

}  // namespace rankwise
