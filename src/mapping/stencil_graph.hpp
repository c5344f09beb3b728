// The graph that a stencil spans over a grid, or any other, stored for searches that look at the same cells again and again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mapping/graph.hpp"
#include "mapping/mapping.hpp"

namespace rankwise {

class StencilGraph {
 public:
  // Two cells between which something is sent, or neighbours along an axis along which nothing is (weights 0). An edge
  // stands once at each of its cells.
  struct Edge {
    std::int32_t cell;  // the other one
    std::int32_t out;   // weight of what this cell sends to it
    std::int32_t in;    // weight of what it sends here
  };

  // Throws std::invalid_argument where fits() is false.
  StencilGraph(const Grid& grid, const Stencil& stencil);
  // The part of the graph among some cells, in ascending order; edges and the graph's cells count within these.
  StencilGraph(const Grid& grid, const Stencil& stencil, std::span<const Index> cells);
  // The same for many small parts one after the other: index has an entry for each cell of the grid, -1 before and after.
  StencilGraph(const Grid& grid, const Stencil& stencil, std::span<const Index> cells, std::span<std::int32_t> index);

  // Any graph: the edges of cell c are first[c] to first[c + 1] - 1, and each stands at both of its cells. Throws
  // std::invalid_argument where that is not so, or the weights of all edges come to 2^30.
  StencilGraph(std::vector<std::uint32_t> first, std::vector<Edge> edges);

  // Whether the graph of that problem is small enough to be held: edges in both directions of all cells.
  static bool fits(const Grid& grid, const Stencil& stencil) { return fits(grid.size(), stencil); }
  // Likewise for a part of the graph with so many cells.
  static bool fits(Index cells, const Stencil& stencil);

  [[nodiscard]] std::int32_t cells() const { return static_cast<std::int32_t>(first_.size()) - 1; }
  [[nodiscard]] std::span<const Edge> edges(std::int32_t cell) const {
    const auto c = static_cast<std::size_t>(cell);
    return {edges_.data() + first_[c], edges_.data() + first_[c + 1]};
  }
  // What a cell sends to cells of the grid that are not part of this graph.
  [[nodiscard]] std::int64_t beyond(std::int32_t cell) const {
    return beyond_.empty() ? 0 : beyond_[static_cast<std::size_t>(cell)];
  }
  // The mean of out + in over all edges, at least 1; 1 where there is no edge.
  [[nodiscard]] std::int64_t mean_weight() const { return mean_weight_; }
  [[nodiscard]] std::size_t edge_count() const { return edges_.size(); }

 private:
  // index_of(cell): its number in this graph, negative where it is not part of it.
  template <typename IndexOf>
  void add_cells(const Grid& grid, const Stencil& stencil, Index count, const Index* cells, IndexOf index_of);
  void set_mean(std::int64_t weight, std::int64_t weighted);

  std::vector<std::uint32_t> first_;  // where each cell's edges begin
  std::vector<Edge> edges_;
  std::vector<std::int32_t> beyond_;  // none where the graph is of all cells
  std::int64_t mean_weight_ = 1;
};

// What is sent over a grid as traffic between any ranks, both ways together.
[[nodiscard]] WeightedGraph traffic_of(const StencilGraph& graph);

}  // namespace rankwise
