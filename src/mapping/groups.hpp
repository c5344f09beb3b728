// Groups of cells that talk to each other, directly or through others.
#pragma once

#include <span>
#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

// The group of each cell, numbered by one of its cells. Each offset joins a cell with the one beside it, so that of two
// opposite ones either will do.
[[nodiscard]] std::vector<Index> groups_of(const Grid& grid, std::span<const Coords> offsets);

}  // namespace rankwise
