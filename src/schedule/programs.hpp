// Schedules of whole programs, without a window: what was observed, and transposes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

// Schedules of a program that was observed: phase after phase, in which ranks compute and then have messages in flight.

// Message i of a phase, between ranks; messages are sorted by phase. Blocks are of one byte.
struct PhasedMessages {
  std::span<const std::int32_t> phase;
  std::span<const std::int32_t> from;
  std::span<const std::int32_t> to;
  std::span<const Index> bytes;
};

// The schedules of all ranks. compute_s: of each phase and rank (phase-major), before its messages.
// Throws std::invalid_argument where a phase or rank does not exist, or a size is negative.
[[nodiscard]] std::vector<RankSchedule> phased_schedules(Index ranks, const PhasedMessages& messages,
                                                         std::span<const double> compute_s);

// The transpose of a distributed array as a schedule: a personalised all-to-all, pairwise.
//
// Slots 0..P-1 hold what goes to each rank, slots P..2P-1 what comes from each. In step s = 1..P-1 rank r sends to r + s
// and receives from r - s (modulo P), both at once; its own block is copied along with the first. Blocks may have
// different sizes.

// Throws std::invalid_argument for a rank that does not exist.
[[nodiscard]] RankSchedule make_transpose(Index ranks, Index rank);

}  // namespace rankwise
