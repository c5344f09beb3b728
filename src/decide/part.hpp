// The part of a large grid whose ranks, followed event by event, stand for all.
//
// Nodes (and units of switches) are filled one after the other, so that along an axis what they hold repeats after some coordinates. A periodic axis
// consists of tiles of so many: at the same time ranks at the same place in each do the same. Of an open axis what happens at its
// borders and far from them is the same where some of its middle is left out: messages wait for each other from rank to rank, and
// these waits go no further than there are operations to wait for.
#pragma once

#include <optional>
#include <vector>

#include "cost/placement.hpp"
#include "grid/grid.hpp"

namespace rankwise {

struct Part {
  Grid grid;                // open axes shorter, others as long
  std::vector<Index> tile;  // of it, along each axis; of open axes all
};

// Nothing where a part would have more operations than are followed, and where it is the grid itself. reach: how far messages go
// on each axis; repeats: after how many coordinates of each axis ranks do the same as those before; operations: of a rank far from
// borders.
[[nodiscard]] std::optional<Part> part_of(const Grid& grid, const std::vector<Index>& reach, std::vector<Index> repeats,
                                          Index operations, const Placement& placement);

}  // namespace rankwise
