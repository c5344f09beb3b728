// A mapping that is known cell by cell.
#pragma once

#include <memory>
#include <span>

#include "mapping/mapping.hpp"

namespace rankwise {

// node_of_cell: the node of every cell, each node as often as it has ranks. The ranks of a node take its cells in
// row-major order. Holds one Index a rank.
std::unique_ptr<Mapping> table_mapping(const NodeSizes& nodes, std::span<const NodeId> node_of_cell);

}  // namespace rankwise
