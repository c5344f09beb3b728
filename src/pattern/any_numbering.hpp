// Grids in which ranks are numbered in any way: drawn, or node by node.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "pattern/describe.hpp"

namespace rankwise {

struct Embedding {
  Description description;
  std::vector<Cell> cells;
};

// Lays the ranks out from several seeds and frames and returns the shortest description; nothing where no layout fills a
// grid. flows: sorted by sender.
std::optional<Embedding> describe_any_numbering(std::span<const Flow> flows, Index ranks);

}  // namespace rankwise
