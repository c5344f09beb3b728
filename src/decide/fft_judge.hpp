// What the exchanges of a 3-D FFT take on each process grid, by the judge.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "cost/machine.hpp"
#include "cost/placement.hpp"

namespace rankwise {

// The exchanges of a transform on a grid p1 x p2: within the rows, then within the columns.
enum class FftMessages { at_once, pairwise, by_node };
struct FftExchanges {
  std::array<Index, 2> grid{1, 1};
  FftMessages messages = FftMessages::at_once;
  Index chunks = 1;     // of a slab: slices under way while others are transformed
  Index batch = 1;      // fields
  Index together = 1;   // of them, whose blocks travel as one message
  Index in_flight = 1;  // 2: a group of them is exchanged while the next one is transformed
  Index passes = 1;     // 2: everything is sent back to where it came from
};

// The grids of so many ranks in which every rank has a pencil in every stage, the one with the most slabs first.
// complex_points: of axis 2 of the spectrum.
[[nodiscard]] std::vector<std::array<Index, 2>> fft_grids(const std::array<Index, 3>& n, Index complex_points, Index ranks);

// The time of the exchanges of a batch; bytes: of a field's array of one rank. Throws std::invalid_argument where the machine
// lacks a link.
[[nodiscard]] double fft_exchanges_s(const FftExchanges& way, double bytes, const Placement& placement, const Machine& machine);

// The groups of a batch whose fields travel together: (how many, fields), whole ones first and then what is left over.
[[nodiscard]] std::vector<std::pair<Index, Index>> fft_groups(Index batch, Index together);
// How many fields may travel together: powers of two up to all, while their messages are short. field_bytes: as bytes above.
[[nodiscard]] std::vector<Index> fft_together(Index ranks, Index batch, double field_bytes);
// How often the smaller of a group's local work and exchange is hidden in so many groups. Of the work of slabs two thirds come before
// the last exchange, of which the first slice waits for nothing; of groups by turns all but the first hide it.
[[nodiscard]] double fft_hidden(Index groups, Index chunks, Index in_flight);

// Of a whole batch, of each of whose fields the local work takes local_s: the two, less what slices or turns hide of them; within
// a node nothing is hidden, for messages are copied by the ranks themselves.
[[nodiscard]] double fft_s(const FftExchanges& way, double bytes, double local_s, const Placement& placement,
                           const Machine& machine);

}  // namespace rankwise
