// Halving by planes: node sizes are exact, and of axes that are not alike the light ones are cut.
#include "mapping/planes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "mapping/score.hpp"
#include "problem.hpp"

namespace rankwise {
namespace {

TEST(Planes, CutsTheLightAxesAndKeepsTheSizes) {
  // Eight nodes of 16: the light axes in halves, the heavy one not.
  const Stencil stencil(4, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, {1, 9, 1, 1});
  const MappingProblem problem(Grid({4, 4, 4, 2}), NodeSizes(8, 16), stencil);
  const auto mapping = halved_by_planes(problem);
  EXPECT_EQ(score_of(*mapping, problem).j_sum, 4 * 4 * 2 + 4 * 4 * 2 + 4 * 4 * 4);
  const MappingProblem uneven(Grid({5, 3, 4, 2}), NodeSizes({7, 50, 1, 62}), stencil);
  std::vector<NodeId> node_of_cell(120);
  fill_node_of_cell(*halved_by_planes(uneven), uneven.nodes, node_of_cell);
  for (const Index node : {0, 1, 2, 3}) EXPECT_EQ(std::ranges::count(node_of_cell, node), uneven.nodes.size(node));
}

TEST(Planes, KeepsCosetsTogether) {
  // Only even offsets: four cosets of 16 cells, one a node.
  const MappingProblem problem = problem_of({8, 8}, 16, "2,0;-2,0;0,2;0,-2");
  EXPECT_EQ(score_of(*halved_by_planes(problem), problem).j_sum, 0);
}

TEST(Planes, MakesGroupsOfNodesThatFollowEachOther) {
  const MappingProblem problem(Grid({6, 4}), NodeSizes({3, 5, 7, 1, 8}), parse_stencil("nearest-neighbor", 2));
  const GridGroups once = grouped_by_planes(problem, 1);
  EXPECT_EQ(once.first_nodes, (std::vector<NodeId>{0, 2, 5}));
  EXPECT_EQ(std::ranges::count(once.of_cell, 0), 3 + 5);
  EXPECT_EQ(std::ranges::count(once.of_cell, 1), 7 + 1 + 8);
  EXPECT_EQ(grouped_by_planes(problem, 2).first_nodes, (std::vector<NodeId>{0, 1, 2, 3, 5}));
  EXPECT_EQ(grouped_by_planes(problem, 9).first_nodes, (std::vector<NodeId>{0, 1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace rankwise
