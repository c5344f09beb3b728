// What the exchanges of a 3-D FFT take on each process grid, by the judge.
#pragma once

#include <array>
#include <vector>

#include "cost/machine.hpp"
#include "cost/placement.hpp"

namespace rankwise {

// Exchanges among ranks of a grid p1 x p2: within the rows, then within the columns, pairwise or all at once.
struct FftExchanges {
  std::array<Index, 2> grid{1, 1};
  bool pairwise = false;
  double time_s = 0.0;
};

// The grids of so many ranks in which every rank has a pencil in every stage, the one with the most slabs first. complex_points: of
// axis 2 of the spectrum.
[[nodiscard]] std::vector<std::array<Index, 2>> fft_grids(const std::array<Index, 3>& n, Index complex_points,
                                                          Index ranks);

// The time of the exchanges of one transform; bytes: of an array of one rank. Throws std::invalid_argument where the machine
// lacks a link.
[[nodiscard]] double fft_exchanges_s(const FftExchanges& way, double bytes, const Placement& placement, const Machine& machine);

}  // namespace rankwise
