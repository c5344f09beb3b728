// What the exchanges of a 3-D FFT take on each process grid, and a halo by each of its schedules, by the judge.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cost/machine.hpp"
#include "cost/placement.hpp"
#include "halo/node_aware.hpp"
#include "schedule/programs.hpp"

namespace rankwise {

// The exchanges of a transform on a grid p1 x p2: within the rows, then within the columns.
struct FftExchanges {
  std::array<Index, 2> grid{1, 1};
  TransposeMethod method = TransposeMethod::alltoall;
  Index chunks = 1;     // of a slab: slices under way while others are transformed
  Index batch = 1;      // fields
  Index together = 1;   // of them, whose blocks travel as one message
  Index in_flight = 1;  // 2: a group of them is exchanged while the next one is transformed
  Index passes = 1;     // 2: everything is sent back to where it came from
};

// The grids of so many ranks in which every rank has a pencil in every stage, the one with the most slabs first.
// complex_points: of axis 2 of the spectrum.
[[nodiscard]] std::vector<std::array<Index, 2>> fft_grids(const std::array<Index, 3>& n, Index complex_points, Index ranks);

// The groups of a batch whose fields travel together: (how many, fields), whole ones first and then what is left over.
[[nodiscard]] std::vector<std::pair<Index, Index>> fft_groups(Index batch, Index together);
// How many fields may travel together: powers of two up to all, while their messages are short. field_bytes: as bytes above.
[[nodiscard]] std::vector<Index> fft_together(Index ranks, Index batch, double field_bytes);
// How often the smaller of a group's local work and exchange is hidden in so many groups. Of the work of slabs two thirds come before
// the last exchange, of which the first slice waits for nothing; of groups by turns all but the first hide it.
[[nodiscard]] double fft_hidden(Index groups, Index chunks, Index in_flight);

// The time of a whole batch. bytes: of a field's array of one rank; local_s: of a field's local work, without which it is that of
// the exchanges. The two, less what slices or turns hide of them; within a node nothing is hidden, for messages are copied by the
// ranks themselves. Throws std::invalid_argument where the machine lacks a link.
[[nodiscard]] double fft_s(const FftExchanges& variant, double bytes, double local_s, const Placement& placement,
                           const Machine& machine);

// What a halo takes, as the ranks of one node see it: they stand for all.
struct HaloCost {
  double time_s = 0.0;
  double low_s = 0.0;  // as of Cost
  double high_s = 0.0;
};

// Messages of so many bytes, one step of them after the other, all of a step in flight together. steps: the traffic of one node
// in each; nothing is passed on. Packing is not part of the time. Throws std::invalid_argument where the machine lacks a link.
[[nodiscard]] HaloCost cost_of_steps(const std::vector<NodeTraffic>& steps, const Machine& machine);
// The same by a node-aware algorithm. there: what the other nodes sent.
[[nodiscard]] HaloCost cost_of_node_aware(NodeAwareKind kind, const NodeTraffic& traffic, const std::vector<NodeLeaders>& there,
                                          const Machine& machine);

// Those that may be the fastest, in the order of their times, at most so many: their low ends do not lie above twice the high end
// of the fastest. Intervals know how far times of links scatter, not what packing and the MPI's own work add to them; a trial is
// quick to drop what is much slower.
[[nodiscard]] std::vector<std::size_t> worth_trying(const std::vector<HaloCost>& costs, std::size_t most);

}  // namespace rankwise
