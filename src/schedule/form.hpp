// What must hold of schedules before anybody can follow them: every rank, slot, place and operation that they name exists.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

// What is wrong, one sentence for each rank that is; empty when the schedules (of all ranks) can be followed. slots: how many slots
// each rank's schedule speaks of; adds: whether what arrives is to be added up.
[[nodiscard]] std::vector<std::string> find_malformed(const std::vector<RankSchedule>& schedules,
                                                      const std::vector<std::size_t>& slots, bool adds);

}  // namespace rankwise
