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

// A division of a stencil's cells into parts (one a node) while a search changes it, cell by cell.

class Partition {
 public:
  using Cell = std::int32_t;
  using Part = std::int32_t;

  // What moving a cell from its part to another would change.
  struct Change {
    std::int64_t j_sum;
    std::int64_t out_from;  // of what leaves the part that loses the cell
    std::int64_t out_to;    // of what leaves the part that gains it
  };

  // part_of_cell: one node id a cell. sizes: how many cells each part is to have; what it has may differ.
  Partition(const StencilGraph& graph, const NodeSizes& sizes, std::span<const NodeId> part_of_cell);

  [[nodiscard]] const StencilGraph& graph() const { return *graph_; }
  [[nodiscard]] Part parts() const { return static_cast<Part>(surplus_.size()); }
  [[nodiscard]] Part part(Cell cell) const { return part_[static_cast<std::size_t>(cell)]; }
  [[nodiscard]] std::span<const NodeId> part_of_cell() const { return part_; }
  // Cells that the part has beyond what it is to have; negative where it lacks some.
  [[nodiscard]] Index surplus(Part part) const { return surplus_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] Index cells_in(Part part) const { return cells_in_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] std::int64_t j_sum() const { return j_sum_; }
  // What leaves a part, cells beyond the graph included; j_sum knows only of the graph's own edges.
  [[nodiscard]] std::int64_t out(Part part) const { return out_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] std::int64_t j_max() const;

  [[nodiscard]] Change change(Cell cell, Part to) const {
    const Part from = part(cell);
    std::int64_t out_kept = 0;
    std::int64_t in_kept = 0;
    std::int64_t out_joined = 0;
    std::int64_t in_joined = 0;
    std::int64_t out_all = graph_->beyond(cell);
    for (const StencilGraph::Edge& edge : graph_->edges(cell)) {
      const Part other = part(edge.cell);
      out_all += edge.out;
      if (other == from) {
        out_kept += edge.out;
        in_kept += edge.in;
      } else if (other == to) {
        out_joined += edge.out;
        in_joined += edge.in;
      }
    }
    return {out_kept + in_kept - out_joined - in_joined, in_kept - (out_all - out_kept), out_all - out_joined - in_joined};
  }

  // change must be that of this cell and part.
  void move(Cell cell, Part to, const Change& change) {
    const auto from = static_cast<std::size_t>(part(cell));
    const auto target = static_cast<std::size_t>(to);
    part_[static_cast<std::size_t>(cell)] = to;
    --surplus_[from];
    ++surplus_[target];
    --cells_in_[from];
    ++cells_in_[target];
    out_[from] += change.out_from;
    out_[target] += change.out_to;
    j_sum_ += change.j_sum;
  }

 private:
  const StencilGraph* graph_;
  std::vector<NodeId> part_;
  std::vector<std::int32_t> surplus_;
  std::vector<std::int32_t> cells_in_;
  std::vector<std::int64_t> out_;
  std::int64_t j_sum_ = 0;
};

}  // namespace rankwise
