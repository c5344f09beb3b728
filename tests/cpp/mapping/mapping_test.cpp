#include "mapping/mapping.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "../rounds.hpp"
#include "problem.hpp"
#include "random_problem.hpp"

namespace rankwise {

namespace {

std::vector<Index> cells(const Mapping& mapping, Index ranks) {
  std::vector<Index> cell_of_rank(static_cast<std::size_t>(ranks), -1);
  fill_cell_of_rank(mapping, cell_of_rank);
  return cell_of_rank;
}

std::vector<Index> cells(std::string_view algorithm, const MappingProblem& problem) {
  return cells(*mapping_algorithm(algorithm).prepare(problem), problem.grid.size());
}

std::string refusal(std::string_view algorithm, const MappingProblem& problem) {
  try {
    (void)mapping_algorithm(algorithm).prepare(problem);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

class EveryAlgorithm : public testing::TestWithParam<MappingAlgorithm> {};

TEST_P(EveryAlgorithm, GivesEveryNodeExactlyItsRanksAndMapsOneRankLikeAll) {
  const MappingAlgorithm& algorithm = GetParam();
  RandomProblems random(7);
  int handled = 0;
  MappingOptions brief;  // enough for a few thousand moves of a search
  brief.steps = 60'000;
  for (int i = 0; i < rankwise_test::rounds(1500, 5); ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    std::unique_ptr<Mapping> mapping;
    try {
      mapping = algorithm.prepare(problem, brief);
    } catch (const std::invalid_argument&) {
      ASSERT_FALSE(problem.nodes.equal()) << "nodes of equal size are never refused";
      continue;
    }
    ++handled;
    const Index ranks = problem.grid.size();
    const std::vector<Index> cell_of_rank = cells(*mapping, ranks);
    std::vector<Index> node_by_cell(cell_of_rank.size(), -1);
    Index node = 0;
    Index left = problem.nodes.size(0);
    for (Index rank = 0; rank < ranks; ++rank) {
      const Index cell = cell_of_rank[static_cast<std::size_t>(rank)];
      ASSERT_GE(cell, 0);
      ASSERT_LT(cell, ranks);
      ASSERT_EQ(cell, mapping->cell_of_rank(rank)) << "rank " << rank;
      ASSERT_EQ(node_by_cell[static_cast<std::size_t>(cell)], -1) << "two ranks on cell " << cell;
      if (left == 0) left = problem.nodes.size(++node);
      --left;
      node_by_cell[static_cast<std::size_t>(cell)] = node;
    }
    std::vector<NodeId> node_of_cell(cell_of_rank.size(), -1);
    fill_node_of_cell(*mapping, problem.nodes, node_of_cell);
    ASSERT_EQ(std::vector<Index>(node_of_cell.begin(), node_of_cell.end()), node_by_cell);
  }
  EXPECT_GT(handled, rankwise_test::rounds(1500, 5) / 3);
}

INSTANTIATE_TEST_SUITE_P(Mapping, EveryAlgorithm, testing::ValuesIn(mapping_algorithms().begin(), mapping_algorithms().end()),
                         [](const auto& instance) {
                           std::string name(instance.param.name);
                           for (char& c : name) c = c == '-' || c == ':' ? '_' : c;
                           return name;
                         });

TEST(Mapping, OneRankNeedsNoWorkThatGrowsWithTheRanks) {
  // 2^44 ranks: nothing that touches every rank or node would return.
  const MappingProblem problem(Grid({Index{1} << 16, Index{1} << 14, Index{1} << 14}),
                               NodeSizes(Index{1} << 30, Index{1} << 14), parse_stencil("nearest-neighbor", 3));
  for (const MappingAlgorithm& algorithm : mapping_algorithms()) {
    if (!algorithm.local) continue;
    const auto mapping = algorithm.prepare(problem);
    const Index last = mapping->cell_of_rank(problem.grid.size() - 1);
    EXPECT_GE(last, 0) << algorithm.name;
    EXPECT_LT(last, problem.grid.size()) << algorithm.name;
    EXPECT_NE(mapping->cell_of_rank(0), last) << algorithm.name;
  }
}

TEST(Mapping, TableHasBlockedFirstAndDistinctNames) {
  EXPECT_EQ(mapping_algorithms().front().name, "blocked");
  std::map<std::string_view, int> names;
  for (const MappingAlgorithm& algorithm : mapping_algorithms()) ++names[algorithm.name];
  EXPECT_EQ(names.size(), mapping_algorithms().size());
  EXPECT_THROW(mapping_algorithm("kd_tree"), std::invalid_argument);
}

TEST(Mapping, StencilStripsIsThePapersReading) {
  const MappingProblem problem = problem_of({50, 48}, std::vector<Index>(50, 48), "nearest-neighbor-with-hops");
  EXPECT_EQ(cells("stencil-strips", problem), cells("stencil-strips:paper", problem));
  EXPECT_NE(cells("stencil-strips", problem), cells("stencil-strips:code", problem));
}

TEST(Mapping, HyperplaneCutsTheExampleOfThePaperLikeThePaper) {
  // hunold2020, figure 4: 5x4 cells, nodes of 4. The first cut is across the longer axis, two rows from the border,
  // and the second quarters that part.
  const std::vector<Index> cell_of_rank = cells("hyperplane", problem_of({5, 4}, {4, 4, 4, 4, 4}, "nearest-neighbor"));
  for (std::size_t rank = 0; rank < 8; ++rank) EXPECT_LT(cell_of_rank[rank], 8);
}

TEST(Mapping, HyperplaneIsNotMisledByRoundingInItsPreferences) {
  // A Moore stencil communicates alike along all axes, like nearest neighbours, but its sums of cosines are rounded.
  const std::vector<Index> dims{5, 7, 11};
  const std::vector<Index> nodes(35, 11);
  EXPECT_EQ(cells("hyperplane", problem_of(dims, nodes, "moore:3")),
            cells("hyperplane", problem_of(dims, nodes, "nearest-neighbor")));
}

TEST(Mapping, KdTreeHalvesTheLongestAxis) {
  // 2x4 with nearest neighbours: the second axis first, then ties to the first.
  EXPECT_EQ(cells("kd-tree", problem_of({2, 4}, {4, 4}, "nearest-neighbor")), (std::vector<Index>{0, 1, 4, 5, 2, 3, 6, 7}));
  // Nothing is sent along the second axis: it is cut to single columns first.
  EXPECT_EQ(cells("kd-tree", problem_of({3, 2}, {3, 3}, "component")), (std::vector<Index>{0, 2, 4, 1, 3, 5}));
}

TEST(Mapping, StencilStripsWalksLikeASnake) {
  // Nodes of 4 on 4x4: two strips of width 2, the second walked upwards.
  EXPECT_EQ(cells("stencil-strips", problem_of({4, 4}, {4, 4, 4, 4}, "nearest-neighbor")),
            (std::vector<Index>{0, 1, 4, 5, 8, 9, 12, 13, 14, 15, 10, 11, 6, 7, 2, 3}));
}

TEST(Mapping, StencilStripsTakesOneSidedStencils) {
  // The extension of {(1,0), (0,1)} counts the cell itself, hence the strips of the two-sided stencil.
  const std::vector<Index> nodes(4, 4);
  EXPECT_EQ(cells("stencil-strips", problem_of({4, 4}, nodes, "1,0;0,1")),
            cells("stencil-strips", problem_of({4, 4}, nodes, "nearest-neighbor")));
}

TEST(Mapping, NodecartGivesEveryNodeTheSameBlock) {
  // 6 = 3 * 2: 3 goes to the first axis of 6x4, 2 to the second.
  const std::vector<Index> cell_of_rank = cells("nodecart", problem_of({6, 4}, {6, 6, 6, 6}, "nearest-neighbor"));
  EXPECT_EQ(std::vector<Index>(cell_of_rank.begin(), cell_of_rank.begin() + 6), (std::vector<Index>{0, 1, 4, 5, 8, 9}));
}

TEST(Mapping, NodecartRefusesUnequalNodes) {
  const std::string reason = refusal("nodecart", problem_of({4, 4}, {4, 4, 6, 2}, "nearest-neighbor"));
  EXPECT_NE(reason.find("from 2 to 6 ranks"), std::string::npos) << reason;
}

TEST(Mapping, HyperplaneTakesANodeSizeThatDividesOrRefuses) {
  EXPECT_EQ(refusal("hyperplane", problem_of({4, 4}, {6, 2, 4, 4}, "nearest-neighbor")), "");  // the mean, 4
  EXPECT_EQ(refusal("hyperplane", problem_of({4, 4}, {4, 4, 8}, "nearest-neighbor")), "");     // the smallest, 4
  EXPECT_EQ(refusal("hyperplane", problem_of({5, 4}, {10, 7, 3}, "nearest-neighbor")), "");    // the largest, 10
  const std::string reason = refusal("hyperplane", problem_of({4, 4}, {7, 6, 3}, "nearest-neighbor"));
  EXPECT_NE(reason.find("smallest (3) nor the largest (7)"), std::string::npos) << reason;
}

TEST(NodeSizes, RefusesWhatHoldsNoRanks) {
  EXPECT_THROW(NodeSizes(std::vector<Index>{}), std::invalid_argument);
  EXPECT_THROW(NodeSizes(std::vector<Index>{3, 0}), std::invalid_argument);
  EXPECT_THROW(NodeSizes(std::vector<Index>{3, -1}), std::invalid_argument);
  EXPECT_THROW(NodeSizes(std::vector<Index>{Index{1} << 62, 1}), std::invalid_argument);
  EXPECT_THROW(NodeSizes(0, 4), std::invalid_argument);
  EXPECT_THROW(NodeSizes(4, 0), std::invalid_argument);
  EXPECT_THROW(NodeSizes(Index{1} << 31, 1), std::invalid_argument);
  EXPECT_THROW(NodeSizes(Index{1} << 30, Index{1} << 33), std::invalid_argument);
}

TEST(NodeSizes, KnowsItsNodes) {
  const NodeSizes nodes(std::vector<Index>{3, 5, 4});
  EXPECT_EQ(nodes.nodes(), 3);
  EXPECT_EQ(nodes.ranks(), 12);
  EXPECT_FALSE(nodes.equal());
  EXPECT_EQ(nodes.smallest(), 3);
  EXPECT_EQ(nodes.largest(), 5);
  EXPECT_EQ(nodes.size(1), 5);
  EXPECT_TRUE(NodeSizes(std::vector<Index>{4, 4}).equal());
  EXPECT_EQ(NodeSizes(2, 4).size(1), 4);
}

TEST(MappingProblem, RefusesWhatDoesNotFit) {
  const Stencil stencil = parse_stencil("nearest-neighbor", 2);
  EXPECT_THROW(MappingProblem(Grid({4, 4}), NodeSizes(3, 4), stencil), std::invalid_argument);
  EXPECT_THROW(MappingProblem(Grid({16}), NodeSizes(4, 4), stencil), std::invalid_argument);
  EXPECT_THROW(MappingProblem(Grid({Index{1} << 23, Index{1} << 23}), NodeSizes(Index{1} << 30, 1 << 16), stencil),
               std::invalid_argument);
  EXPECT_THROW(MappingProblem(Grid(std::vector<Index>(9, 1)), NodeSizes(1, 1), parse_stencil("nearest-neighbor", 9)),
               std::invalid_argument);
}

}  // namespace

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
