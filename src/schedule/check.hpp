// Proves a schedule: every rank ends with exactly the blocks of its window, each delivered once, and under rendezvous
// semantics (no buffering at all) no ranks wait for each other for ever.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

// What is wrong, one sentence each, the first few of each kind; empty when the schedule is right.
[[nodiscard]] std::vector<std::string> check_schedules(const ExchangeSpec& spec,
                                                       const std::vector<RankSchedule>& schedules);

}  // namespace rankwise
