// The transpose of a distributed array as a schedule: a personalised all-to-all, pairwise.
//
// Slots 0..P-1 hold what goes to each rank, slots P..2P-1 what comes from each. In step s = 1..P-1 rank r sends to r + s
// and receives from r - s (modulo P), both at once; its own block is copied along with the first. Blocks may have
// different sizes.
#pragma once

#include "schedule/schedule.hpp"

namespace rankwise {

// Throws std::invalid_argument for a rank that does not exist.
[[nodiscard]] RankSchedule make_transpose(Index ranks, Index rank);
[[nodiscard]] std::vector<RankSchedule> make_transposes(Index ranks);

}  // namespace rankwise
