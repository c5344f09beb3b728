// The algorithms behind the table in algorithms.cpp. To add one: its file, and its declaration and row there.
// Those that others begin with are declared here.
#pragma once

#include "mapping/mapping.hpp"

namespace rankwise {

std::unique_ptr<Mapping> prepare_blocked(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_hyperplane(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_kd_tree(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_stencil_strips_paper(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_stencil_strips_code(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_nodecart(const MappingProblem& problem);
std::unique_ptr<Mapping> prepare_auto(const MappingProblem& problem, const MappingOptions& options);
std::unique_ptr<Mapping> prepare_random(const MappingProblem& problem, const MappingOptions& options);
std::unique_ptr<Mapping> prepare_refined(const MappingProblem& problem, const MappingOptions& options);

// The same map, which also tells how many steps its search took and, for auto, which algorithm it is from.
std::unique_ptr<Mapping> annotated(std::unique_ptr<Mapping> mapping, Index steps, std::string_view picked = {});

// The distance in cells between neighbours along each axis of a row-major grid.
inline AxisValues strides_of(const Grid& grid) {
  AxisValues strides{};
  Index stride = 1;
  for (int axis = grid.ndim(); axis-- > 0;) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= grid.dim(axis);
  }
  return strides;
}

// A box of cells inside a grid, for the algorithms that halve the grid again and again.
struct Box {
  AxisValues start{};  // lowest coordinates
  AxisValues size{};   // cells along each axis
  Index cells = 1;

  static Box whole(const Grid& grid) {
    Box box;
    for (int axis = 0; axis < grid.ndim(); ++axis) box.size[static_cast<std::size_t>(axis)] = grid.dim(axis);
    box.cells = grid.size();
    return box;
  }

  // Cells in a layer of thickness 1 across the axis.
  [[nodiscard]] Index layer(std::size_t axis) const { return cells / size[axis]; }

  [[nodiscard]] Box low_part(std::size_t axis, Index thickness) const {
    Box part = *this;
    part.cells = layer(axis) * thickness;
    part.size[axis] = thickness;
    return part;
  }

  // What low_part leaves.
  [[nodiscard]] Box high_part(std::size_t axis, Index thickness) const {
    Box part = *this;
    part.cells = cells - layer(axis) * thickness;
    part.start[axis] += thickness;
    part.size[axis] -= thickness;
    return part;
  }
};

}  // namespace rankwise
