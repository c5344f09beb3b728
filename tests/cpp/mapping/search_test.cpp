// The parts of refined's search, each by what it promises.
#include "mapping/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "mapping/mapping.hpp"
#include "random_problem.hpp"

namespace rankwise {

namespace {

Partition drawn(const MappingProblem& problem, const StencilGraph& graph) {
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
  fill_node_of_cell(*mapping_algorithm("random").prepare(problem), problem.nodes, node_of_cell);
  return {graph, problem.nodes, node_of_cell};
}

void expect_exact(const Partition& partition, const MappingProblem& problem) {
  for (Partition::Part part = 0; part < partition.parts(); ++part) {
    ASSERT_EQ(partition.surplus(part), 0);
    ASSERT_EQ(partition.cells_in(part), problem.nodes.size(part));
  }
  const Score found = score(problem.grid, problem.stencil, partition.part_of_cell());
  ASSERT_EQ(partition.j_sum(), found.j_sum);
  ASSERT_EQ(partition.j_max(), found.j_max);
}

TEST(StencilGraph, HasEveryEdgeOnceAtBothItsCells) {
  RandomProblems random(41);
  for (int i = 0; i < 100; ++i) {
    const Grid grid = random.grid();
    const Stencil stencil = random.stencil(grid.ndim());
    const StencilGraph graph(grid, stencil);
    Index out = 0;
    Index in = 0;
    for (std::int32_t cell = 0; cell < graph.cells(); ++cell) {
      for (const auto& edge : graph.edges(cell)) {
        ASSERT_NE(edge.cell, cell);
        out += edge.out;
        in += edge.in;
      }
    }
    EXPECT_EQ(out, total_edges(grid, stencil));
    EXPECT_EQ(in, out);
  }
}

TEST(StencilGraph, APartHasTheEdgesWithinIt) {
  RandomProblems random(42);
  for (int i = 0; i < 100; ++i) {
    const Grid grid = random.grid();
    const Stencil stencil = random.stencil(grid.ndim());
    std::vector<Index> cells;
    for (Index cell = 0; cell < grid.size(); ++cell) {
      if (random.between(0, 2) > 0) cells.push_back(cell);
    }
    const StencilGraph whole(grid, stencil);
    const StencilGraph part(grid, stencil, cells);
    ASSERT_EQ(part.cells(), static_cast<std::int32_t>(cells.size()));
    for (std::int32_t index = 0; index < part.cells(); ++index) {
      std::vector<std::pair<Index, std::int32_t>> expected;
      std::int64_t beyond = 0;
      for (const auto& edge : whole.edges(static_cast<std::int32_t>(cells[static_cast<std::size_t>(index)]))) {
        const bool is_within = std::ranges::binary_search(cells, Index{edge.cell});
        if (is_within) expected.emplace_back(edge.cell, edge.out);
        beyond += is_within ? 0 : edge.out;
      }
      ASSERT_EQ(part.beyond(index), beyond);
      std::vector<std::pair<Index, std::int32_t>> found;
      for (const auto& edge : part.edges(index)) {
        found.emplace_back(cells[static_cast<std::size_t>(edge.cell)], edge.out);
      }
      ASSERT_EQ(found, expected);
    }
  }
}

TEST(Annealing, MendedByRepairKeepsSizesAndScoresTrue) {
  RandomProblems random(43);
  for (int i = 0; i < 100; ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    const StencilGraph graph(problem.grid, problem.stencil);
    Partition partition = drawn(problem, graph);
    MappingOptions options;
    options.steps = 1'000'000'000;
    Effort effort(options);
    Random bits(static_cast<std::uint64_t>(i));
    anneal(partition, {1500, 150, 512, 1536, 0, 0, 100'000}, bits, effort);
    ASSERT_TRUE(repair(partition, effort));
    expect_exact(partition, problem);
  }
}

TEST(Polish, MakesNoMapWorse) {
  RandomProblems random(44);
  for (int i = 0; i < 60; ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    const StencilGraph graph(problem.grid, problem.stencil);
    for (const Objective objective : {Objective::j_sum, Objective::j_max}) {
      Partition partition = drawn(problem, graph);
      const Quality before = quality(partition, objective);
      MappingOptions options;
      options.steps = 2'000'000;
      Effort effort(options);
      polish(partition, objective, effort);
      EXPECT_LE(quality(partition, objective), before);
      expect_exact(partition, problem);
    }
  }
}

TEST(Search, NeverLosesTheBestStart) {
  RandomProblems random(45);
  for (int i = 0; i < 60; ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    const StencilGraph graph(problem.grid, problem.stencil);
    MappingOptions options;
    options.steps = 300'000;
    options.objective = random.between(0, 1) == 0 ? Objective::j_sum : Objective::j_max;
    std::vector<Partition> starts;
    starts.push_back(drawn(problem, graph));
    std::vector<NodeId> blocked(static_cast<std::size_t>(problem.grid.size()));
    fill_node_of_cell(*mapping_algorithm("blocked").prepare(problem), problem.nodes, blocked);
    starts.emplace_back(graph, problem.nodes, blocked);
    const Quality least = std::min(quality(starts[0], options.objective), quality(starts[1], options.objective));
    const Partition found = search(starts, options, 0);
    EXPECT_LE(quality(found, options.objective), least);
    expect_exact(found, problem);
  }
}

TEST(TableMapping, GivesEachNodeItsCellsInTheirOrder) {
  const std::vector<NodeId> node_of_cell{1, 0, 1, 2, 0, 2, 1};
  const NodeSizes nodes(std::vector<Index>{2, 3, 2});
  const auto mapping = table_mapping(nodes, node_of_cell);
  std::vector<Index> cells(7);
  fill_cell_of_rank(*mapping, cells);
  EXPECT_EQ(cells, (std::vector<Index>{1, 4, 0, 2, 6, 3, 5}));
  std::vector<NodeId> back(7, -1);
  fill_node_of_cell(*mapping, nodes, back);
  EXPECT_EQ(back, node_of_cell);
}

}  // namespace

namespace {

Level nodes_of(const MappingProblem& problem, std::string_view algorithm) {
  Level level;
  level.part_of_cell.resize(static_cast<std::size_t>(problem.grid.size()));
  fill_node_of_cell(*mapping_algorithm(algorithm).prepare(problem), problem.nodes, level.part_of_cell);
  for (Index node = 0; node < problem.nodes.nodes(); ++node) level.sizes.push_back(problem.nodes.size(node));
  return level;
}

TEST(Levels, PartsLieWithinNodesAndAreNearlyEqual) {
  RandomProblems random(21);
  for (int i = 0; i < 300; ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    const Level nodes = nodes_of(problem, "kd-tree");
    const Index ways = random.between(1, 5);
    MappingOptions options;
    options.steps = random.between(0, 1) * 50'000;
    const Level parts = divide(problem.grid, problem.stencil, nodes, ways, options);
    std::vector<Index> first;  // part of each node
    Index count = 0;
    for (const Index size : nodes.sizes) {
      first.push_back(count);
      count += std::min(ways, size);
    }
    first.push_back(count);
    ASSERT_EQ(parts.sizes.size(), static_cast<std::size_t>(count));
    std::vector<Index> held(parts.sizes.size(), 0);
    for (std::size_t cell = 0; cell < parts.part_of_cell.size(); ++cell) {
      const auto node = static_cast<std::size_t>(nodes.part_of_cell[cell]);
      ASSERT_GE(parts.part_of_cell[cell], first[node]);
      ASSERT_LT(parts.part_of_cell[cell], first[node + 1]);
      ++held[static_cast<std::size_t>(parts.part_of_cell[cell])];
    }
    ASSERT_EQ(held, parts.sizes);
    for (std::size_t node = 0; node < nodes.sizes.size(); ++node) {
      const auto own = std::ranges::minmax(
          std::span(parts.sizes)
              .subspan(static_cast<std::size_t>(first[node]), static_cast<std::size_t>(first[node + 1] - first[node])));
      ASSERT_LE(own.max - own.min, 1);
    }
  }
}

TEST(Levels, SearchIsNeverWorseThanTheOrderOfCells) {
  RandomProblems random(22);
  MappingOptions none;
  none.steps = 0;
  MappingOptions some;
  some.steps = 200'000;
  for (int i = 0; i < 100; ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    const Level nodes = nodes_of(problem, "blocked");
    const Level plain = divide(problem.grid, problem.stencil, nodes, 2, none);
    const Level searched = divide(problem.grid, problem.stencil, nodes, 2, some);
    EXPECT_LE(score(problem.grid, problem.stencil, searched.part_of_cell).j_sum,
              score(problem.grid, problem.stencil, plain.part_of_cell).j_sum);
  }
}

TEST(Levels, ANodeOfEightByFourIsHalvedAcrossItsLongSide) {
  const Grid grid({8, 4});
  const Stencil stencil = parse_stencil("nearest-neighbor", 2);
  MappingOptions options;
  const Level halves = divide(grid, stencil, {std::vector<NodeId>(32, 0), {32}}, 2, options);
  EXPECT_EQ(score(grid, stencil, halves.part_of_cell).j_sum, 8);
  const Level quarters = divide(grid, stencil, halves, 2, options);
  EXPECT_EQ(quarters.sizes, std::vector<Index>(4, 8));
  EXPECT_EQ(score(grid, stencil, quarters.part_of_cell).j_sum, 24);
}

TEST(Levels, RefusesWhatDoesNotFit) {
  const Grid grid({2, 2});
  const Stencil stencil = parse_stencil("nearest-neighbor", 2);
  EXPECT_THROW(divide(grid, stencil, {{0, 0, 1, 1}, {2, 2}}, 0, {}), std::invalid_argument);
  EXPECT_THROW(divide(grid, stencil, {{0, 0, 1}, {2, 1}}, 2, {}), std::invalid_argument);
  EXPECT_THROW(divide(grid, stencil, {{0, 0, 1, 2}, {2, 2}}, 2, {}), std::invalid_argument);
  EXPECT_THROW(divide(grid, stencil, {{0, 0, 0, 1}, {2, 2}}, 2, {}), std::invalid_argument);
}

TEST(TotalEdges, AreTheScoreOfOneCellANode) {
  RandomProblems random(23);
  for (int i = 0; i < 200; ++i) {
    const Grid grid = random.grid();
    const Stencil stencil = random.stencil(grid.ndim());
    std::vector<NodeId> own(static_cast<std::size_t>(grid.size()));
    std::iota(own.begin(), own.end(), NodeId{0});
    ASSERT_EQ(total_edges(grid, stencil), score(grid, stencil, own).j_sum);
  }
}

}  // namespace

}  // namespace rankwise
