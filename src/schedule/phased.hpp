// Schedules of a program that was observed: phase after phase, in which ranks compute and then have messages in flight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

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

}  // namespace rankwise
