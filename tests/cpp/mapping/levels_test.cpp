#include "mapping/levels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "mapping/score.hpp"
#include "random_problem.hpp"

namespace rankwise {
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
