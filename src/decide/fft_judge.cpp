#include "decide/fft_judge.hpp"

#include <algorithm>

#include "decide/few.hpp"

namespace rankwise {

std::vector<std::array<Index, 2>> fft_grids(const std::array<Index, 3>& n, Index complex_points, Index ranks) {
  std::vector<std::array<Index, 2>> grids;
  for (Index p1 = ranks; p1 >= 1; --p1) {
    if (ranks % p1 != 0 || p1 > std::min(n[0], n[1])) continue;
    if (ranks / p1 <= std::min(n[1], complex_points)) grids.push_back({p1, ranks / p1});
  }
  return grids;
}

double fft_exchanges_s(const FftExchanges& way, double bytes, const Placement& placement, const Machine& machine) {
  const Grid grid({way.grid[0], way.grid[1]}, {false, false});
  const Layout layout(grid, placement);
  double time_s = 0.0;
  for (const int axis : {1, 0}) {
    const Index ranks = way.grid[static_cast<std::size_t>(axis)];
    if (ranks == 1) continue;
    const Walk walk = walk_of(transpose_program(grid, {axis}, way.pairwise), layout);
    time_s += walk.cost(std::max<Index>(1, static_cast<Index>(bytes / static_cast<double>(ranks))), machine).time_s();
  }
  return time_s;
}

}  // namespace rankwise
