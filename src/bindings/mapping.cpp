#include <time.h>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "grid/grid.hpp"
#include "mapping/graph.hpp"
#include "mapping/graph_search.hpp"
#include "mapping/isoperimetry.hpp"
#include "mapping/mapping.hpp"
#include "mapping/search.hpp"
#include "pattern/describe.hpp"

namespace nb = nanobind;

namespace {

using rankwise::Coords;
using rankwise::Grid;
using rankwise::Index;
using rankwise::MappingAlgorithm;
using rankwise::MappingOptions;
using rankwise::MappingProblem;
using rankwise::NodeId;
using rankwise::NodeSizes;
using rankwise::Stencil;

template <typename T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

using NodeOfCell = Input<NodeId>;

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

template <typename T>
Array<T> array_of(std::span<const T> values) {
  return filled_array<T>(static_cast<Index>(values.size()),
                         [&](std::span<T> result) { std::ranges::copy(values, result.begin()); });
}

MappingProblem problem(std::vector<Index> dims, const std::vector<Index>& node_sizes, std::vector<Coords> stencil,
                       std::vector<Index> weights, std::vector<bool> periodic) {
  Grid grid(std::move(dims), std::move(periodic));
  Stencil offsets(grid.ndim(), std::move(stencil), std::move(weights));
  return {std::move(grid), NodeSizes(node_sizes), std::move(offsets)};
}

// seconds: 0 counts steps; more: ends so long from now.
MappingOptions options(Index steps, const std::string& objective, std::uint64_t seed, double seconds = 0, int threads = 1) {
  const auto now_s = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  MappingOptions result = rankwise::by_clock(seconds, +now_s);
  if (seconds == 0) result.steps = steps;
  result.seed = seed;
  result.threads = threads;
  if (objective == "j_max") {
    result.objective = rankwise::Objective::j_max;
  } else if (objective != "j_sum") {
    rankwise::invalid("objective '" + objective.substr(0, 40) + "' is unknown: take j_sum or j_max");
  }
  return result;
}

std::pair<std::vector<Coords>, std::vector<Index>> parse_stencil(std::string_view text, int ndim) {
  const Stencil stencil = rankwise::parse_stencil(text, ndim);
  return {stencil.offsets(), stencil.weights()};
}

std::tuple<Array<NodeId>, std::string, Index> map_grid(const MappingProblem& given, const std::string& algorithm, Index steps,
                                                       const std::string& objective, std::uint64_t seed, double seconds,
                                                       int threads) {
  const MappingOptions chosen = options(steps, objective, seed, seconds, threads);
  std::unique_ptr<rankwise::Mapping> mapping;
  {
    const nb::gil_scoped_release unlocked;
    mapping = rankwise::mapping_algorithm(algorithm).prepare(given, chosen);
  }
  auto node_of_cell = filled_array<NodeId>(given.grid.size(),
                                           [&](std::span<NodeId> nodes) { fill_node_of_cell(*mapping, given.nodes, nodes); });
  return {std::move(node_of_cell), std::string(mapping->picked()), mapping->steps()};
}

// The node of every cell in each map of the front.
std::vector<Array<NodeId>> map_front(const MappingProblem& given, Index steps, std::uint64_t seed, double seconds) {
  std::vector<std::unique_ptr<rankwise::Mapping>> maps;
  {
    const nb::gil_scoped_release unlocked;
    maps = rankwise::refined_front(given, options(steps, "j_sum", seed, seconds));
  }
  std::vector<Array<NodeId>> result;
  for (const auto& map : maps) {
    result.push_back(
        filled_array<NodeId>(given.grid.size(), [&](std::span<NodeId> nodes) { fill_node_of_cell(*map, given.nodes, nodes); }));
  }
  return result;
}

Array<Index> map_ranks(const MappingProblem& given, const std::string& algorithm) {
  const auto mapping = rankwise::mapping_algorithm(algorithm).prepare(given);
  return filled_array<Index>(given.grid.size(),
                             [&](std::span<Index> cell_of_rank) { fill_cell_of_rank(*mapping, cell_of_rank); });
}

Index cell_of_rank(const MappingProblem& given, const std::string& algorithm, Index rank) {
  if (rank < 0 || rank >= given.grid.size()) {
    rankwise::invalid("rank " + std::to_string(rank) + " does not exist: the " + std::to_string(given.grid.size()) +
                      " ranks count from 0");
  }
  return rankwise::mapping_algorithm(algorithm).prepare(given)->cell_of_rank(rank);
}

std::vector<double> instantiation_s(const MappingProblem& given, const std::string& algorithm,
                                    const std::vector<Index>& ranks) {
  const rankwise::MappingAlgorithm& chosen = rankwise::mapping_algorithm(algorithm);
  const auto now_s = [] {  // of this thread: what others do on the core does not count
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  std::vector<double> times_s;
  for (const Index rank : ranks) {
    if (rank < 0 || rank >= given.grid.size()) rankwise::invalid("rank " + std::to_string(rank) + " does not exist");
    const double start_s = now_s();
    const volatile Index cell = chosen.prepare(given)->cell_of_rank(rank);
    times_s.push_back(now_s() - start_s);
    static_cast<void>(cell);
  }
  return times_s;
}

Array<NodeId> balance_map(const MappingProblem& given, const NodeOfCell& node_of_cell) {
  const std::span<const NodeId> nodes = span_of(node_of_cell);
  if (static_cast<Index>(nodes.size()) != given.grid.size() ||
      std::ranges::any_of(nodes, [&](NodeId node) { return node < 0 || node >= given.nodes.nodes(); })) {
    rankwise::invalid("the map does not fit: give one node, counted from 0, for each cell");
  }
  const rankwise::StencilGraph graph(given.grid, given.stencil);
  rankwise::Partition partition(graph, given.nodes, nodes);
  MappingOptions unlimited;
  unlimited.steps = std::numeric_limits<Index>::max();
  rankwise::Effort effort(unlimited);
  rankwise::repair(partition, effort);
  return array_of(partition.part_of_cell());
}

// The graph in compressed rows: where each cell's neighbours begin, the neighbours, and what is sent both ways.
std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::int32_t>> stencil_graph(const MappingProblem& given) {
  const rankwise::WeightedGraph traffic = traffic_of(rankwise::StencilGraph(given.grid, given.stencil));
  std::vector<std::int32_t> others;
  std::vector<std::int32_t> sent;
  for (const auto& [to, weight] : traffic.edges) {
    others.push_back(to);
    sent.push_back(weight);
  }
  const std::vector<std::int32_t> first(traffic.first.begin(), traffic.first.end());
  return {array_of<std::int32_t>(first), array_of<std::int32_t>(others), array_of<std::int32_t>(sent)};
}

std::pair<Index, std::string> lower_bound(const MappingProblem& given) {
  const rankwise::Bound bound = rankwise::lower_bound(given);
  return {bound.j_sum, std::string(bound.kind)};
}

// The parts of a deeper level and their sizes.
std::pair<Array<NodeId>, std::vector<Index>> divide_level(const MappingProblem& given, const NodeOfCell& part_of_cell,
                                                          std::vector<Index> sizes, Index ways, Index steps,
                                                          std::uint64_t seed) {
  const rankwise::Level level{{part_of_cell.data(), part_of_cell.data() + part_of_cell.size()}, std::move(sizes)};
  rankwise::Level inner;
  {
    const nb::gil_scoped_release unlocked;
    inner = rankwise::divide(given.grid, given.stencil, level, ways, options(steps, "j_sum", seed));
  }
  return {array_of<NodeId>(inner.part_of_cell), std::move(inner.sizes)};
}

// Steps, seed, seconds and threads, as for options.
using Search = std::tuple<Index, std::uint64_t, double, int>;
using Words = Input<std::int32_t>;

// A division of any graph into parts of given sizes: the best of some, improved by a search.
Array<NodeId> divide_graph(const Words& first, const Words& others, const Words& out, const Words& in,
                           const std::vector<Index>& sizes, const std::vector<NodeOfCell>& starts, const std::string& objective,
                           const Search& search) {
  if (others.size() != out.size() || others.size() != in.size()) rankwise::invalid("edges and weights differ in number");
  std::vector<rankwise::StencilGraph::Edge> edges(others.size());
  for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = {others.data()[i], out.data()[i], in.data()[i]};
  const rankwise::StencilGraph graph({first.data(), first.data() + first.size()}, std::move(edges));
  const NodeSizes parts(sizes);
  if (parts.ranks() != graph.cells()) rankwise::invalid("the parts do not hold as many as the graph has");
  if (starts.empty()) rankwise::invalid("a search needs a division to start from");
  std::vector<rankwise::Partition> begun;
  for (const NodeOfCell& start : starts) {
    if (static_cast<std::int32_t>(start.size()) != graph.cells()) rankwise::invalid("a start has another number of cells");
    std::vector<Index> held(sizes.size());
    for (std::size_t i = 0; i < start.size(); ++i) {
      const NodeId part = start.data()[i];
      if (part < 0 || part >= parts.nodes()) rankwise::invalid("a start has a part that is none");
      ++held[static_cast<std::size_t>(part)];
    }
    if (held != sizes) rankwise::invalid("a start does not fill the parts");
    begun.emplace_back(graph, parts, span_of(start));
  }
  const auto [steps, seed, seconds, threads] = search;
  const MappingOptions chosen = options(steps, objective, seed, seconds, threads);
  return filled_array<NodeId>(graph.cells(), [&](std::span<NodeId> result) {
    const rankwise::Partition best = rankwise::search(std::move(begun), chosen, 0);
    std::ranges::copy(best.part_of_cell(), result.begin());
  });
}

rankwise::WeightedGraph weighted_graph(const Words& first, const Words& others, const Words& weights) {
  if (others.size() != weights.size()) rankwise::invalid("edges and weights differ in number");
  rankwise::WeightedGraph graph{{first.data(), first.data() + first.size()}, {}, {}};
  graph.edges.reserve(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) graph.edges.push_back({others.data()[i], weights.data()[i]});
  return graph;
}

using Units = std::vector<std::vector<std::int32_t>>;

Array<NodeId> map_graph(const Words& first, const Words& others, const Words& weights, const std::vector<Index>& sizes,
                        Units units, std::vector<std::int64_t> costs, const Search& search) {
  const rankwise::WeightedGraph graph = weighted_graph(first, others, weights);
  const rankwise::NodeTree tree{sizes, std::move(units), std::move(costs)};
  const auto [steps, seed, seconds, threads] = search;
  const MappingOptions chosen = options(steps, "j_sum", seed, seconds, threads);
  return filled_array<NodeId>(graph.vertices(), [&](std::span<NodeId> result) {
    std::ranges::copy(rankwise::map_graph(graph, tree, chosen), result.begin());
  });
}

Array<NodeId> balance_graph(const Words& first, const Words& others, const Words& weights, const std::vector<Index>& sizes,
                            const NodeOfCell& parts) {
  const rankwise::WeightedGraph graph = weighted_graph(first, others, weights);
  graph.check();
  const rankwise::NodeTree tree{sizes, {}, {1}};
  tree.check();
  if (NodeSizes(sizes).ranks() != graph.vertices() || static_cast<Index>(parts.size()) != graph.vertices()) {
    rankwise::invalid("the parts do not hold as many as the graph has");
  }
  std::vector<NodeId> begun(parts.data(), parts.data() + parts.size());
  if (std::ranges::any_of(begun, [&](NodeId part) { return part < 0 || part >= tree.nodes(); })) {
    rankwise::invalid("the map has a part that is none");
  }
  rankwise::GraphMap map(graph, tree, std::move(begun));
  rankwise::repair(map);
  return array_of<NodeId>(map.nodes());
}

std::pair<Index, Index> score(const MappingProblem& given, const NodeOfCell& node_of_cell) {
  const std::span<const NodeId> nodes = span_of(node_of_cell);
  const nb::gil_scoped_release unlocked;
  const rankwise::Score result = rankwise::score(given.grid, given.stencil, nodes);
  return {result.j_sum, result.j_max};
}

using rankwise::Pattern;

Pattern find_grid(const Input<Index>& pointer, const Input<std::uint32_t>& peer, const Input<std::uint64_t>& messages,
                  const Input<std::uint64_t>& bytes) {
  const rankwise::Traffic traffic{span_of(pointer), span_of(peer), span_of(messages), span_of(bytes)};
  const nb::gil_scoped_release unlocked;
  return rankwise::find_pattern(traffic);
}

using OffsetRow = std::tuple<std::vector<Index>, std::uint64_t, std::uint64_t, std::uint64_t>;

std::vector<OffsetRow> offsets_of(const Pattern& pattern) {
  std::vector<OffsetRow> rows;
  for (const rankwise::KeptOffset& kept : pattern.offsets) {
    const auto ndim = static_cast<std::ptrdiff_t>(pattern.dims.size());
    rows.emplace_back(std::vector<Index>(kept.offset.begin(), kept.offset.begin() + ndim), kept.pairs, kept.messages,
                      kept.bytes);
  }
  return rows;
}

void bind_pattern(nb::module_& m) {
  nb::class_<Pattern>(m, "FoundPattern", "What describes a traffic matrix shortest.")
      .def_prop_ro(
          "kind", [](const Pattern& p) { return rankwise::to_string(p.kind); }, "grid, graph or uncertain.")
      .def_ro("dims", &Pattern::dims)
      .def_ro("periodic", &Pattern::periodic)
      .def_prop_ro("offsets", &offsets_of, "Of each offset its coordinates, pairs, messages and bytes.")
      .def_ro("explained", &Pattern::explained, "The share of bytes that follow the offsets.")
      .def_ro("bits", &Pattern::bits)
      .def_ro("noise_bits", &Pattern::noise_bits)
      .def_ro("cell_of_rank", &Pattern::cell_of_rank, "Row-major.");
  m.def("find_grid", &find_grid, nb::arg("pointer"), nb::arg("peer"), nb::arg("messages"), nb::arg("bytes"),
        "Find the grid in a traffic matrix (rows are senders, in compressed form). Raises ValueError on arrays that do "
        "not fit each other.");
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
        "offsets written as '1,0;-1,0*8', for a grid of ndim axes, and the weight of each. Raises ValueError.");
  nb::class_<MappingProblem>(m, "Problem", "A process grid, the ranks of each node, and what each rank sends where.")
      .def(nb::new_(&problem), nb::arg("dims"), nb::arg("node_sizes"), nb::arg("stencil"),
           nb::arg("weights") = std::vector<Index>(), nb::arg("periodic") = std::vector<bool>(),
           "periodic: one flag an axis, or empty for open axes. Raises ValueError where these do not fit each other.")
      .def("map_grid", &map_grid, nb::arg("algorithm"), nb::arg("steps"), nb::arg("objective"), nb::arg("seed"),
           nb::arg("seconds") = 0.0, nb::arg("threads") = 1,
           "Return the node of every cell (row-major, int32), for auto the id of the algorithm it picked, and the steps of "
           "a search whose length a clock has set (0: none). Rank r is "
           "on node 0 for r < node_sizes[0], and so on; the algorithm gives each rank a cell. A search takes about steps "
           "steps (STEPS_PER_SECOND of them a second), or ends after so many seconds where that is not 0: then the map may "
           "depend on the machine, else not, and never on threads. Raises ValueError where the algorithm is unknown or "
           "cannot handle the input.")
      .def("map_front", &map_front, nb::arg("steps"), nb::arg("seed"), nb::arg("seconds"),
           "Return the maps (the node of every cell) that refined finds between the least J_sum and the least J_max, none of "
           "them better than another in both, the least J_sum first. Raises ValueError like map_grid.")
      .def("map_ranks", &map_ranks, nb::arg("algorithm"),
           "Return the new cell (row-major, int64) of every rank. Raises ValueError like map_grid.")
      .def("cell_of_rank", &cell_of_rank, nb::arg("algorithm"), nb::arg("rank"),
           "Return the new cell of one rank without mapping the others. Raises ValueError like map_grid.")
      .def("instantiation_s", &instantiation_s, nb::arg("algorithm"), nb::arg("ranks"),
           "Return the processor time that each of these ranks takes to compute its new cell from nothing but the grid, the "
           "node sizes and the stencil (hunold2020, section VI-E). Raises ValueError like map_grid.")
      .def("score", &score, nb::arg("node_of_cell"),
           "Return (J_sum, J_max) of a map: the directed stencil edges between nodes, and those that leave the node with "
           "most of them. Raises ValueError.")
      .def("divide_level", &divide_level, nb::arg("part_of_cell"), nb::arg("sizes"), nb::arg("ways"), nb::arg("steps"),
           nb::arg("seed"),
           "Divide each node (or part of one) into ways parts, nearly equal, by a search of about steps steps; 0: in the "
           "order of cells. Return the part of every cell, numbered node by node, and the parts' sizes. Raises "
           "ValueError.")
      .def("balance_map", &balance_map, nb::arg("node_of_cell"),
           "Return a map in which every node holds exactly its ranks, by moving cells of a map where some do not. Raises "
           "ValueError.")
      .def("stencil_graph", &stencil_graph,
           "Return the stencil's graph in compressed rows: where each cell's neighbours begin (one entry more than "
           "cells), the neighbours, and the weight that is sent both ways. Raises ValueError.")
      .def(
          "total_edges", [](const MappingProblem& given) { return rankwise::total_edges(given.grid, given.stencil); },
          "Return the weight of all edges of the stencil, within nodes and between them.")
      .def("lower_bound", &lower_bound,
           "Return a J_sum that no mapping can fall below, and the kind of argument: isoperimetric, lines, "
           "components or projections.");
  m.def("divide_graph", &divide_graph, nb::arg("first"), nb::arg("others"), nb::arg("out"), nb::arg("into"), nb::arg("sizes"),
        nb::arg("starts"), nb::arg("objective"), nb::arg("search"),
        "Divide any graph into parts of these sizes, by a search from the best of starts (the part of each vertex). search: "
        "its steps, seed, seconds and threads; where seconds is not 0, the clock ends it instead. The graph in compressed "
        "rows (int32): where each vertex's edges begin (one entry more than vertices), their other ends, and the weights that "
        "go there and come from there; each edge stands at both ends, all weights together come to "
        "less than 2^31. Return the part of each vertex. Raises ValueError.");
  m.def("map_graph", &map_graph, nb::arg("first"), nb::arg("others"), nb::arg("weights"), nb::arg("sizes"), nb::arg("units"),
        nb::arg("costs"), nb::arg("search"),
        "Return the node of each vertex of any graph, with exactly so many vertices on each node: recursive multisection, then "
        "a search (as for divide_graph), whose result does not depend on the threads. The graph in compressed rows as for "
        "divide_graph, weights: both ways together. units: for each level above the node, the inner first, the unit of each "
        "node; costs: of a weight between nodes of one unit of the innermost level, of the next, ..., one more than levels, "
        "0 to 1024, not falling. Raises ValueError.");
  m.def("balance_graph", &balance_graph, nb::arg("first"), nb::arg("others"), nb::arg("weights"), nb::arg("sizes"),
        nb::arg("parts"),
        "Return the part of each vertex with exactly so many in each, by cheap moves where some do not hold theirs. Raises "
        "ValueError.");
  m.attr("STEPS_PER_SECOND") = rankwise::steps_per_second;
  bind_pattern(m);
}
