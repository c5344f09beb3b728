// What all ranks of a grid do alike, as the judge sees workloads.
#pragma once

#include <functional>
#include <vector>

#include "grid/grid.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// What every rank does, wherever it is on a grid of ranks: a workload as the judge sees it.
struct Program {
  SendMode mode;
  Grid grid;
  // How far messages reach on each axis, down and up.
  std::vector<Index> lower;
  std::vector<Index> upper;
  std::function<RankSchedule(const Grid& grid, Index rank)> import;
  std::function<RankSchedule(const Grid& grid, Index rank)> reduce = {};  // the way back; none: empty
  bool in_turn = false;                                                   // ranks of one parity send while the others receive
};

// One step in which every cell sends a message to each cell of its stencil, as heavy as the offset.
[[nodiscard]] Program stencil_program(const Grid& grid, const Stencil& stencil, SendMode mode = SendMode::isend);
// A personalised all-to-all along some axes at once: pairwise, a step for each partner, or all at once.
[[nodiscard]] Program transpose_program(const Grid& grid, const std::vector<int>& axes, bool pairwise,
                                        SendMode mode = SendMode::isend);

// An exchange, messages that are alike as one where that is known; spec must outlive it.
[[nodiscard]] Program program_of(const ExchangeSpec& spec);

// Every rank's partners in one step, those at `offsets` in that order; weights: the blocks of each (empty: one).
[[nodiscard]] RankSchedule one_step(const Grid& grid, Index rank, const std::vector<Coords>& offsets,
                                    const std::vector<Index>& weights, SendMode mode);

}  // namespace rankwise
