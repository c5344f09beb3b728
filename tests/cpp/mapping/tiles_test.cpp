// Nodes of one shape side by side: their shapes are as good as any, sizes are exact, and what does not suit is left alone.
#include "mapping/lattice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "mapping/isoperimetry.hpp"
#include "mapping/mapping.hpp"
#include "problem.hpp"
#include "random_problem.hpp"

namespace rankwise {

namespace {

constexpr Index plenty = Index{1} << 30;
constexpr const char* triangular = "1,0;-1,0;0,1;0,-1;1,1;-1,-1";

// What the busiest node sends that is in the middle of the grid, which no other shape of as many cells may undercut there.
Index sent_in_the_middle(const MappingProblem& problem) {
  const std::vector<NodeId> nodes = nodes_of(*paved(problem, plenty), problem);
  Coords middle;
  for (const Index length : problem.grid.dims()) middle.push_back(length / 2);
  const NodeId node = nodes[static_cast<std::size_t>(problem.grid.cell(middle))];
  return leaving_nodes(problem.grid, problem.stencil, nodes)[static_cast<std::size_t>(node)];
}

TEST(Tiles, AreTheBestShapesKnown) {
  // 7 and 19 cells of a triangular lattice are hexagons of sides 2 and 3, which send 3 to each neighbour along a side and corner.
  EXPECT_EQ(sent_in_the_middle(problem_of({42, 40}, 7, triangular)), 18);
  EXPECT_EQ(sent_in_the_middle(problem_of({76, 70}, 19, triangular)), 30);
  // Blocks: 4 x 4 where neighbours are along the axes. An octagon of 12 with diagonals: 4 x 4 without its corners.
  EXPECT_EQ(sent_in_the_middle(problem_of({48, 48}, 16, "nearest-neighbor")), 16);
  EXPECT_EQ(sent_in_the_middle(problem_of({96, 80}, 60, "moore:1")), 84);
  EXPECT_EQ(sent_in_the_middle(problem_of({24, 24, 24}, 8, "nearest-neighbor")), 24);
}

TEST(Tiles, BeatStripsWhereNeighboursAreDiagonalToo) {
  // Strips of a perfect width, 8 x 8 blocks, send 143,364.
  const MappingProblem problem = problem_of({320, 320}, 64, "moore:1");
  EXPECT_LE(score_of(*paved(problem, plenty), problem).j_sum, 137'500);
}

TEST(Tiles, KeepEverySizeWhateverTheGrid) {
  RandomProblems random(5);
  int paved_ones = 0;
  for (int i = 0; i < 3000; ++i) {
    const Grid grid = random.grid();
    std::vector<Index> sizes(static_cast<std::size_t>(grid.size() / random.between(2, 9)) + 1, random.between(2, 9));
    Index left = grid.size();
    for (Index& size : sizes) left -= size = std::min(size, left);
    sizes.push_back(left);
    std::erase(sizes, 0);
    const MappingProblem problem(grid, NodeSizes(sizes), random.stencil(grid.ndim()));
    const auto mapping = paved(problem, plenty);
    if (!mapping) continue;
    ++paved_ones;
    const std::vector<NodeId> nodes = nodes_of(*mapping, problem);
    std::vector<Index> counts(static_cast<std::size_t>(problem.nodes.nodes()), 0);
    for (const NodeId node : nodes) ++counts.at(static_cast<std::size_t>(node));
    for (Index node = 0; node < problem.nodes.nodes(); ++node) {
      ASSERT_EQ(counts[static_cast<std::size_t>(node)], problem.nodes.size(node)) << describe(problem);
    }
    ASSERT_GE(score(problem.grid, problem.stencil, nodes).j_sum, lower_bound(problem).j_sum) << describe(problem);
  }
  EXPECT_GT(paved_ones, 20);
}

TEST(Tiles, LeaveAloneWhatDoesNotSuit) {
  EXPECT_EQ(paved(problem_of({400}, 8, "nearest-neighbor"), plenty), nullptr);                       // one axis
  EXPECT_EQ(paved(problem_of({8, 8, 8, 8}, 8, "nearest-neighbor"), plenty), nullptr);                // four
  EXPECT_EQ(paved(problem_of({40, 40}, 8, "2,0;-2,0;0,2;0,-2"), plenty), nullptr);                   // cells that never talk
  EXPECT_EQ(paved(problem_of({40, 40}, 8, "1,0;0,1;0,2000000000"), plenty), nullptr);                // far beyond the grid
  EXPECT_EQ(paved(problem_of({4, 4}, {3, 1, 2, 3, 1, 2, 4}, "nearest-neighbor"), plenty), nullptr);  // no common size
  EXPECT_EQ(paved(problem_of({40, 40}, 8, "nearest-neighbor"), 10'000), nullptr);                    // no time
}

}  // namespace

// Halving by planes: node sizes are exact, and of axes that are not alike the light ones are cut.

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
