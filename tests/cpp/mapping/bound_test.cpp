#include "mapping/isoperimetry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "../rounds.hpp"
#include "mapping/mapping.hpp"
#include "problem.hpp"
#include "random_problem.hpp"

namespace rankwise {
namespace {

TEST(LowerBound, IsAtLeastThePublishedOneOnThePapersInstances) {
  std::ifstream file(RANKWISE_TEST_DATA "/hunold2020_scores.csv");
  ASSERT_TRUE(file);
  int seen = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream stream(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    if (fields.size() != 8 || fields[4] != "blocked") continue;
    std::vector<Index> dims;
    std::istringstream sizes(fields[2]);
    for (std::string size; std::getline(sizes, size, 'x');) dims.push_back(std::stoll(size));
    const std::vector<Index> nodes(static_cast<std::size_t>(std::stoll(fields[0])), std::stoll(fields[1]));
    EXPECT_GE(lower_bound(problem_of(dims, nodes, fields[3])).j_sum, std::stoll(fields[7])) << line;
    ++seen;
  }
  EXPECT_EQ(seen, 438);
}

TEST(LowerBound, IsReachedBySquaresAndByLines) {
  // Four nodes of 4x4: each sends 16, less the 32 edges that leave the grid.
  EXPECT_EQ(lower_bound(problem_of({8, 8}, {16, 16, 16, 16}, "nearest-neighbor")).j_sum, 32);
  // Component: 50 nodes over 48 lines of 50 cells; 2 (N - gcd(N, lines)).
  const Bound lines = lower_bound(problem_of({50, 48}, std::vector<Index>(50, 48), "component"));
  EXPECT_EQ(lines.j_sum, 96);
  EXPECT_EQ(lines.kind, "lines");
  EXPECT_EQ(lower_bound(problem_of({75, 64}, std::vector<Index>(100, 48), "component")).j_sum, 192);
  EXPECT_EQ(lower_bound(problem_of({6, 6}, {36}, "nearest-neighbor")).j_sum, 0);
}

TEST(LowerBound, IsBelowEveryMap) {
  RandomProblems random(31);
  MappingOptions brief;
  brief.steps = 20'000;
  for (int i = 0; i < rankwise_test::rounds(400); ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    const Bound bound = lower_bound(problem);
    EXPECT_GE(bound.j_sum, 0);
    std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
    for (const std::string_view name : {"blocked", "random", "kd-tree", "refined"}) {
      fill_node_of_cell(*mapping_algorithm(name).prepare(problem, brief), problem.nodes, node_of_cell);
      ASSERT_LE(bound.j_sum, score(problem.grid, problem.stencil, node_of_cell).j_sum) << name;
    }
  }
}

TEST(LowerBound, IsWhatIsKnown) {
  struct Known {
    std::vector<Index> dims;
    Index ranks_per_node;
    std::string_view stencil;
    bool periodic;
    Index j_sum;
  };
  for (const auto& [dims, n, stencil, periodic, j_sum] :
       std::vector<Known>{{{28, 20}, 35, "moore:1", false, 740},
                          {{33, 27}, 27, "moore:1", false, 1492},
                          {{27, 25}, 25, "moore:1", true, 1458},
                          {{6, 6}, 6, "moore:1", true, 156},
                          {{30, 28}, 24, "nearest-neighbor", true, 700},
                          {{7, 6}, 6, "nearest-neighbor", true, 70},
                          {{12, 12}, 24, "nearest-neighbor", true, 6 * 20},
                          {{6, 30}, 12, "nearest-neighbor", true, 15 * 12},  // two lines all the way round
                          {{31, 31}, 31, "nearest-neighbor", true, 31 * 24},
                          {{32, 24}, 24, "2,0;-2,0;0,2;0,-2", false, 416},
                          {{256, 256}, 64, "2,0;-2,0;0,2;0,-2", false, 30720},
                          {{40, 40}, 40, "1,0;-1,0;1,4;-1,-4", false, 568},
                          {{50, 30}, 25, "1,1;-1,-1", false, 58},
                          {{48, 36}, 36, "1,1;-1,-1", false, 0},
                          {{12, 12, 12}, 27, "moore:1", true, 64 * 338},
                          {{24, 24, 24}, 48, "moore:1", true, 288 * 494}}) {  // no column leads all the way round
    const std::vector<bool> around(dims.size(), periodic);
    const Grid grid(dims, around);
    const std::vector<Index> sizes(static_cast<std::size_t>(grid.size() / n), n);
    EXPECT_EQ(lower_bound(problem_of(dims, sizes, stencil, around)).j_sum, j_sum) << stencil << ' ' << dims[0];
  }
}

TEST(LowerBound, IsNeverNothingWhereCellsHangTogether) {
  for (const std::string_view stencil : {"moore:1", "1,0;0,1", "2,1;-1,1;1,0", "3,0;2,0;0,1", "1,0,0;1,1,0;1,1,1"}) {
    const auto ndim = static_cast<int>(std::ranges::count(stencil.substr(0, stencil.find(';')), ',')) + 1;
    const std::vector<Index> dims(static_cast<std::size_t>(ndim < 2 ? 2 : ndim), 6);
    const std::vector<Index> sizes(dims.size() == 2 ? 2 : 12, 18);
    EXPECT_GT(lower_bound(problem_of(dims, sizes, stencil)).j_sum, 0) << stencil;
  }
}

TEST(LowerBound, GrowsWithTheWeights) {
  const Grid grid({9, 7});
  const NodeSizes nodes(9, 7);
  const MappingProblem once(grid, nodes, parse_stencil("1,0;-1,0;0,1;0,-1", 2));
  const MappingProblem thrice(grid, nodes, parse_stencil("1,0*3;-1,0*3;0,1*3;0,-1*3", 2));
  EXPECT_EQ(lower_bound(thrice).j_sum, 3 * lower_bound(once).j_sum);
}

}  // namespace
}  // namespace rankwise
