// What the exchanges of a 3-D FFT take on each process grid, by the judge.
#pragma once

#include <array>
#include <vector>

#include "cost/machine.hpp"
#include "cost/placement.hpp"

namespace rankwise {

// The exchanges of a transform on a grid p1 x p2: within the rows, then within the columns.
enum class FftMessages { at_once, pairwise, by_node };
struct FftExchanges {
  std::array<Index, 2> grid{1, 1};
  FftMessages messages = FftMessages::at_once;
  Index chunks = 1;  // of a slab: slices under way while others are transformed
};

// The grids of so many ranks in which every rank has a pencil in every stage, the one with the most slabs first. complex_points: of
// axis 2 of the spectrum.
[[nodiscard]] std::vector<std::array<Index, 2>> fft_grids(const std::array<Index, 3>& n, Index complex_points,
                                                          Index ranks);

// The time of the exchanges of one transform; bytes: of an array of one rank. Throws std::invalid_argument where the machine
// lacks a link.
[[nodiscard]] double fft_exchanges_s(const FftExchanges& way, double bytes, const Placement& placement, const Machine& machine);

// Of a whole transform whose local work takes local_s: the two, less what slices hide of them. Of the work two thirds come before the
// last exchange, of which the first slice waits for nothing; within a node nothing is hidden, for messages are copied by the ranks
// themselves.
[[nodiscard]] double fft_s(const FftExchanges& way, double bytes, double local_s, const Placement& placement,
                           const Machine& machine);

}  // namespace rankwise
