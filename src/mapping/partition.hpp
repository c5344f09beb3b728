// A division of a stencil's cells into parts (one a node) while a search changes it, cell by cell.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mapping/mapping.hpp"
#include "mapping/stencil_graph.hpp"

namespace rankwise {

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
