#include "mapping/partition.hpp"

#include <algorithm>

namespace rankwise {

Partition::Partition(const StencilGraph& graph, const NodeSizes& sizes, std::span<const NodeId> part_of_cell)
    : graph_(&graph),
      part_(part_of_cell.begin(), part_of_cell.end()),
      surplus_(static_cast<std::size_t>(sizes.nodes())),
      cells_in_(surplus_.size(), 0),
      out_(surplus_.size(), 0) {
  for (std::size_t node = 0; node < surplus_.size(); ++node) {
    surplus_[node] = -static_cast<std::int32_t>(sizes.size(static_cast<Index>(node)));
  }
  for (Cell cell = 0; cell < graph.cells(); ++cell) {
    const auto own = static_cast<std::size_t>(part(cell));
    ++surplus_[own];
    ++cells_in_[own];
    out_[own] += graph.beyond(cell);
    for (const StencilGraph::Edge& edge : graph.edges(cell)) {
      if (part(edge.cell) == part(cell)) continue;
      out_[own] += edge.out;
      j_sum_ += edge.out;
    }
  }
}

std::int64_t Partition::j_max() const { return *std::ranges::max_element(out_); }

}  // namespace rankwise
