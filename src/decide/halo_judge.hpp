// What a halo takes by each of its schedules, as the ranks of one node see it: they stand for all.
#pragma once

#include <string>
#include <vector>

#include "cost/machine.hpp"
#include "halo/relay.hpp"

namespace rankwise {

struct HaloCost {
  double time_s = 0.0;
  double low_s = 0.0;  // as of Cost
  double high_s = 0.0;
};

// Messages of so many bytes, one step of them after the other, all of a step in flight together. steps: the traffic of one node
// in each; nothing is passed on. Packing is not part of the time. Throws std::invalid_argument where the machine lacks a link.
[[nodiscard]] HaloCost cost_of_steps(const std::vector<NodeTraffic>& steps, const Machine& machine);
// The same by a relay. there: what the other nodes told.
[[nodiscard]] HaloCost cost_of_relay(RelayKind kind, const NodeTraffic& traffic, const std::vector<NodeOffice>& there,
                                     const Machine& machine);

// Those that may be the fastest, in the order of their times, at most so many: their low ends do not lie above twice the high end
// of the fastest. Intervals know how far times of links scatter, not what packing and the MPI's own work add to them; a trial is
// quick to drop what is much slower.
[[nodiscard]] std::vector<std::size_t> worth_trying(const std::vector<HaloCost>& costs, std::size_t most);

}  // namespace rankwise
