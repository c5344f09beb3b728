#include "mapping/score.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "random_problem.hpp"

namespace rankwise {
namespace {

// Straight from the definition: every cell, every offset.
Score score_by_definition(const Grid& grid, const Stencil& stencil, const std::vector<NodeId>& node_of_cell) {
  std::map<NodeId, Index> leaving;
  for (Index cell = 0; cell < grid.size(); ++cell) {
    for (std::size_t k = 0; k < stencil.offsets().size(); ++k) {
      const Coords& offset = stencil.offsets()[k];
      Coords target = grid.coords(cell);
      bool inside = true;
      for (int axis = 0; axis < grid.ndim() && inside; ++axis) {
        Index& coordinate = target[static_cast<std::size_t>(axis)];
        coordinate = grid.shifted(axis, coordinate, offset[static_cast<std::size_t>(axis)]);
        inside = coordinate >= 0;
      }
      const NodeId node = node_of_cell[static_cast<std::size_t>(cell)];
      if (inside && node != node_of_cell[static_cast<std::size_t>(grid.cell(target))]) {
        leaving[node] += stencil.weights()[k];
      }
    }
  }
  Score score;
  for (const auto& [node, edges] : leaving) {
    score.j_sum += edges;
    score.j_max = std::max(score.j_max, edges);
  }
  return score;
}

void expect_definition(const Grid& grid, const Stencil& stencil, const std::vector<NodeId>& node_of_cell) {
  const Score expected = score_by_definition(grid, stencil, node_of_cell);
  const Score found = score(grid, stencil, node_of_cell);
  EXPECT_EQ(found.j_sum, expected.j_sum);
  EXPECT_EQ(found.j_max, expected.j_max);
}

TEST(Score, IsTheDefinitionOnRandomProblems) {
  RandomProblems random(11);
  for (int i = 0; i < 1500; ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
    const Index nodes = random.between(1, problem.grid.size());
    for (NodeId& node : node_of_cell) node = static_cast<NodeId>(random.between(0, nodes - 1));
    expect_definition(problem.grid, problem.stencil, node_of_cell);
  }
}

TEST(Score, IsTheDefinitionOnRowsLongerThanABlock) {
  RandomProblems random(13);
  const Stencil stencil(2, {{0, 1}, {0, -1}, {1, 2500}, {0, -4999}, {0, 5000}, {-1, -5001}, {0, 1'000'000}});
  for (const bool periodic : {false, true}) {
    const Grid grid({2, 5000}, {periodic, periodic});
    std::vector<NodeId> node_of_cell(static_cast<std::size_t>(grid.size()));
    for (NodeId& node : node_of_cell) node = static_cast<NodeId>(random.between(0, 9));
    expect_definition(grid, stencil, node_of_cell);
  }
}

TEST(Score, BlockedOnThePapersGrid) {
  // hunold2020: 50 nodes of 48 ranks on 50x48.
  std::vector<NodeId> node_of_cell;
  for (NodeId cell = 0; cell < 2400; ++cell) node_of_cell.push_back(cell / 48);
  const Score found = score(Grid({50, 48}), parse_stencil("nearest-neighbor", 2), node_of_cell);
  EXPECT_EQ(found.j_sum, 4704);
  EXPECT_EQ(found.j_max, 96);
}

TEST(Score, AWrapOntoTheSameCellIsNoEdge) {
  const Stencil stencil = parse_stencil("nearest-neighbor", 2);
  const std::vector<NodeId> node_of_cell{0, 1, 2};
  const Score found = score(Grid({1, 3}, {true, false}), stencil, node_of_cell);
  EXPECT_EQ(found.j_sum, 4);
  EXPECT_EQ(found.j_max, 2);
}

TEST(Score, TwoOffsetsOntoTheSameCellAreTwoEdges) {
  const Score found = score(Grid({2}, {true}), parse_stencil("nearest-neighbor", 1), std::vector<NodeId>{0, 1});
  EXPECT_EQ(found.j_sum, 4);
  EXPECT_EQ(found.j_max, 2);
}

TEST(Score, RefusesWhatIsNoMap) {
  const Stencil stencil = parse_stencil("nearest-neighbor", 2);
  EXPECT_THROW(score(Grid({2, 2}), stencil, std::vector<NodeId>{0, 0, 0}), std::invalid_argument);
  EXPECT_THROW(score(Grid({2, 2}), stencil, std::vector<NodeId>{0, 0, 0, -1}), std::invalid_argument);
  EXPECT_THROW(score(Grid({2, 2}), stencil, std::vector<NodeId>{0, 0, 0, 4}), std::invalid_argument);
  EXPECT_THROW(score(Grid({4}), stencil, std::vector<NodeId>{0, 0, 0, 0}), std::invalid_argument);
}

}  // namespace
}  // namespace rankwise
