// The rule by which `auto` chooses: the time of one rank's schedule if all ranks keep step, by three numbers.
#pragma once

#include "schedule/schedule.hpp"

namespace rankwise::api {

// Time of one message and of what overlaps: alpha = latency, of which the processor spends overhead_s on each side.
struct Rates {
  double alpha_s = 2e-6;
  double overhead_s = 0.5e-6;
  double beta_s_per_byte = 1e-10;
};

// One message after the other costs alpha + beta m each; n in flight together cost alpha + beta m for the largest and
// max(overhead, beta m) for each other one, but no less than 2 n overheads. Unlike the walk in cost/, this needs no
// other rank's schedule, so a plan costs no O(P) work.
[[nodiscard]] double estimate_s(const RankSchedule& schedule, Index block_bytes, const Rates& rates);

}  // namespace rankwise::api
