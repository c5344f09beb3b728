// Every algorithm gives the J_sum and J_max of the authors' published library on every instance of hunold2020.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "mapping/isoperimetry.hpp"
#include "mapping/mapping.hpp"

namespace rankwise {
namespace {

std::vector<std::string> fields_of(const std::string& line, char separator) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, separator);) fields.push_back(field);
  return fields;
}

TEST(PublishedScores, AreMetOnEveryInstance) {
  std::ifstream file(RANKWISE_TEST_DATA "/hunold2020_scores.csv");
  ASSERT_TRUE(file);
  std::string line;
  while (std::getline(file, line) && line.starts_with('#')) {
  }
  ASSERT_EQ(line, "nodes,ranks_per_node,grid,stencil,algorithm,j_sum,j_max,j_sum_lower_bound");
  std::map<std::string, int> instances;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line, ',');
    ASSERT_EQ(fields.size(), 8U) << line;
    std::vector<Index> dims;
    for (const std::string& size : fields_of(fields[2], 'x')) dims.push_back(std::stoll(size));
    const MappingProblem problem(Grid(dims), NodeSizes(std::stoll(fields[0]), std::stoll(fields[1])),
                                 parse_stencil(fields[3], static_cast<int>(dims.size())));
    std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()), -1);
    fill_node_of_cell(*mapping_algorithm(fields[4]).prepare(problem), problem.nodes, node_of_cell);
    const Score found = score(problem.grid, problem.stencil, node_of_cell);
    EXPECT_EQ(found.j_sum, std::stoll(fields[5])) << line;
    EXPECT_EQ(found.j_max, std::stoll(fields[6])) << line;
    const Index bound = lower_bound(problem).j_sum;
    EXPECT_GE(found.j_sum, bound) << line;
    EXPECT_GE(bound, std::stoll(fields[7])) << line;  // ours is sharper on 4 of the 438
    ++instances[fields[4]];
  }
  EXPECT_EQ(instances, (std::map<std::string, int>{{"blocked", 438},
                                                   {"hyperplane", 438},
                                                   {"kd-tree", 438},
                                                   {"stencil-strips:paper", 438},
                                                   {"stencil-strips:code", 438},
                                                   {"nodecart", 438}}));
}

}  // namespace
}  // namespace rankwise
