// Grids in which ranks are numbered row by row (or, the axes taken the other way round, column by column), or in any way: drawn,
// or node by node.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "pattern/describe.hpp"

namespace rankwise {

// The shortest description over all ordered factorisations of the number of ranks into one to four factors. Among more
// than 1024 ranks a sample of rows chooses at most twelve factorisations that all rows decide between.
// flows: sorted by sender. ranks: at least 2.
Description describe_natural(std::span<const Flow> flows, Index ranks);

// The row-major cell of each rank.
std::vector<Cell> natural_cells(const std::vector<Index>& dims);

struct Embedding {
  Description description;
  std::vector<Cell> cells;
};

// Lays the ranks out from several seeds and frames and returns the shortest description; nothing where no layout fills a
// grid. flows: sorted by sender.
std::optional<Embedding> describe_any_numbering(std::span<const Flow> flows, Index ranks);

}  // namespace rankwise
