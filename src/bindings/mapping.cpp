#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "grid/stencil.hpp"
#include "mapping/mapping.hpp"
#include "mapping/score.hpp"

namespace nb = nanobind;

namespace {

using rankwise::Coords;
using rankwise::Grid;
using rankwise::Index;
using rankwise::MappingAlgorithm;
using rankwise::MappingProblem;
using rankwise::NodeId;
using rankwise::NodeSizes;
using rankwise::Stencil;

template <typename T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T, typename Fill>
Array<T> filled_array(Index length, Fill fill) {
  const auto entries = static_cast<std::size_t>(length);
  std::unique_ptr<T[]> data(new T[entries]);  // left uninitialised: fill writes every entry
  {
    const nb::gil_scoped_release unlocked;
    fill(std::span<T>(data.get(), entries));
  }
  nb::capsule owner(data.get(), [](void* pointer) noexcept { delete[] static_cast<T*>(pointer); });
  return Array<T>(data.release(), {entries}, owner);
}

MappingProblem problem(std::vector<Index> dims, const std::vector<Index>& node_sizes, std::vector<Coords> stencil) {
  Grid grid(std::move(dims));
  Stencil offsets(grid.ndim(), std::move(stencil));
  return {std::move(grid), NodeSizes(node_sizes), std::move(offsets)};
}

std::vector<Coords> parse_stencil(std::string_view text, int ndim) {
  return rankwise::parse_stencil(text, ndim).offsets();
}

void check_mapping(std::vector<Index> dims, const std::vector<Index>& node_sizes, std::vector<Coords> stencil) {
  problem(std::move(dims), node_sizes, std::move(stencil));
}

Array<NodeId> map_grid(const std::string& algorithm, std::vector<Index> dims, const std::vector<Index>& node_sizes,
                       std::vector<Coords> stencil) {
  const MappingProblem given = problem(std::move(dims), node_sizes, std::move(stencil));
  const auto mapping = rankwise::mapping_algorithm(algorithm).prepare(given);
  return filled_array<NodeId>(given.grid.size(), [&](std::span<NodeId> node_of_cell) {
    fill_node_of_cell(*mapping, given.nodes, node_of_cell);
  });
}

Array<Index> map_ranks(const std::string& algorithm, std::vector<Index> dims, const std::vector<Index>& node_sizes,
                       std::vector<Coords> stencil) {
  const MappingProblem given = problem(std::move(dims), node_sizes, std::move(stencil));
  const auto mapping = rankwise::mapping_algorithm(algorithm).prepare(given);
  return filled_array<Index>(given.grid.size(),
                             [&](std::span<Index> cell_of_rank) { fill_cell_of_rank(*mapping, cell_of_rank); });
}

Index cell_of_rank(const std::string& algorithm, std::vector<Index> dims, const std::vector<Index>& node_sizes,
                   std::vector<Coords> stencil, Index rank) {
  const MappingProblem given = problem(std::move(dims), node_sizes, std::move(stencil));
  if (rank < 0 || rank >= given.grid.size()) {
    rankwise::invalid("rank " + std::to_string(rank) + " does not exist: the " + std::to_string(given.grid.size()) +
                      " ranks count from 0");
  }
  return rankwise::mapping_algorithm(algorithm).prepare(given)->cell_of_rank(rank);
}

using NodeOfCell = nb::ndarray<const NodeId, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::pair<Index, Index> score(std::vector<Index> dims, std::vector<bool> periodic, std::vector<Coords> stencil,
                              const NodeOfCell& node_of_cell) {
  const Grid grid(std::move(dims), std::move(periodic));
  const Stencil offsets(grid.ndim(), std::move(stencil));
  const std::span<const NodeId> nodes(node_of_cell.data(), node_of_cell.size());
  const nb::gil_scoped_release unlocked;
  const rankwise::Score result = rankwise::score(grid, offsets, nodes);
  return {result.j_sum, result.j_max};
}

}  // namespace

void bind_mapping(nb::module_& m) {
  nb::class_<MappingAlgorithm>(m, "MappingAlgorithm", "What is known about a mapping algorithm.")
      .def_ro("name", &MappingAlgorithm::name)
      .def_ro("summary", &MappingAlgorithm::summary)
      .def_ro("source", &MappingAlgorithm::source)
      .def_ro("in_all", &MappingAlgorithm::in_all, "Part of 'all'; False for a second reading of another algorithm.")
      .def_ro("equal_nodes", &MappingAlgorithm::equal_nodes, "Needs nodes of equal size.")
      .def_ro("local", &MappingAlgorithm::local, "Finds one rank's cell without work that grows like the ranks.");

  m.def(
      "mapping_algorithms",
      [] {
        const auto table = rankwise::mapping_algorithms();
        return std::vector<MappingAlgorithm>(table.begin(), table.end());
      },
      "All mapping algorithms, blocked first.");
  m.def("parse_stencil", &parse_stencil, nb::arg("text"), nb::arg("ndim"),
        "Return the offsets of a stencil's id (nearest-neighbor, nearest-neighbor-with-hops, component, moore:K) or of "
        "offsets written as '1,0;-1,0', for a grid of ndim axes. Raises ValueError.");
  m.def("check_mapping", &check_mapping, nb::arg("dims"), nb::arg("node_sizes"), nb::arg("stencil"),
        "Raise ValueError where grid, node sizes and stencil do not fit each other.");
  m.def("map_grid", &map_grid, nb::arg("algorithm"), nb::arg("dims"), nb::arg("node_sizes"), nb::arg("stencil"),
        "Return the node of every cell (row-major, int32). Rank r is on node 0 for r < node_sizes[0], and so on; the "
        "algorithm gives each rank a cell. Raises ValueError where the algorithm is unknown or cannot handle the "
        "input.");
  m.def("map_ranks", &map_ranks, nb::arg("algorithm"), nb::arg("dims"), nb::arg("node_sizes"), nb::arg("stencil"),
        "Return the new cell (row-major, int64) of every rank. Raises ValueError like map_grid.");
  m.def("cell_of_rank", &cell_of_rank, nb::arg("algorithm"), nb::arg("dims"), nb::arg("node_sizes"),
        nb::arg("stencil"), nb::arg("rank"),
        "Return the new cell of one rank without mapping the others. Raises ValueError like map_grid.");
  m.def("score", &score, nb::arg("dims"), nb::arg("periodic"), nb::arg("stencil"), nb::arg("node_of_cell"),
        "Return (J_sum, J_max) of a map: the directed stencil edges between nodes, and those that leave the node with "
        "most of them. periodic: one flag an axis, or empty for open axes. Raises ValueError.");
}
