// Search by windows: exact sizes, never worse, alike for any number of threads, ended by steps and by the clock.
#include "mapping/search.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {
namespace {

MappingProblem half_open(std::vector<Index> dims, NodeSizes nodes, std::string_view stencil) {
  Grid grid(std::move(dims), {true, false});
  return {std::move(grid), std::move(nodes), parse_stencil(stencil, 2)};
}

std::vector<NodeId> searched(const MappingProblem& problem, const MappingOptions& options) {
  std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()));
  fill_node_of_cell(*mapping_algorithm("stencil-strips").prepare(problem), problem.nodes, node_of_cell);
  Effort effort(options);
  improve_by_windows(problem, node_of_cell, options, effort);
  EXPECT_GE(effort.spent(), 1);
  return node_of_cell;
}

TEST(Windows, KeepSizesAndGainAlikeForAnyNumberOfThreads) {
  std::vector<Index> sizes(124, 24);
  for (std::size_t node = 0; node < 40; ++node) sizes[node] += node % 2 == 0 ? 5 : -5;
  for (const NodeSizes& nodes : {NodeSizes(124, 24), NodeSizes(sizes)}) {
    const MappingProblem problem = half_open({62, 48}, nodes, "moore:1");
    MappingOptions options;
    options.steps = 6'000'000;
    const std::vector<NodeId> alone = searched(problem, options);
    options.threads = 2;
    EXPECT_EQ(searched(problem, options), alone);
    std::vector<NodeId> start(alone.size());
    fill_node_of_cell(*mapping_algorithm("stencil-strips").prepare(problem), problem.nodes, start);
    EXPECT_LT(score(problem.grid, problem.stencil, alone).j_sum, score(problem.grid, problem.stencil, start).j_sum);
    std::vector<Index> held(124);
    for (const NodeId node : alone) ++held[static_cast<std::size_t>(node)];
    for (Index node = 0; node < 124; ++node) EXPECT_EQ(held[static_cast<std::size_t>(node)], nodes.size(node));
  }
}

TEST(Windows, EaseTheBusiestNode) {
  const MappingProblem problem = half_open({62, 48}, NodeSizes(124, 24), "moore:1");
  MappingOptions options;
  options.steps = 6'000'000;
  const Score sum = score(problem.grid, problem.stencil, searched(problem, options));
  options.objective = Objective::j_max;
  const Score peak = score(problem.grid, problem.stencil, searched(problem, options));
  EXPECT_LE(peak.j_max, 58);  // of 66 at first
  EXPECT_LT(peak.j_max, sum.j_max);
  EXPECT_GT(peak.j_sum, sum.j_sum);
}

TEST(Windows, EndByTheClock) {
  const MappingProblem problem = half_open({60, 48}, NodeSizes(120, 24), "moore:1");
  MappingOptions options;
  options.steps = Index{1} << 60;
  double left_s = 1;
  options.left_s = [&] { return left_s -= 1e-3; };  // a thousand questions long
  searched(problem, options);
  EXPECT_LE(left_s, 0);
}

TEST(Windows, AreForLargeMapsAndManyNodes) {
  EXPECT_TRUE(prefers_windows(half_open({320, 320}, NodeSizes(1600, 64), "moore:1"), 1'800'000));
  EXPECT_FALSE(prefers_windows(half_open({320, 320}, NodeSizes(16, 6400), "moore:1"), 1'800'000));
  EXPECT_FALSE(prefers_windows(half_open({40, 40}, NodeSizes(50, 32), "nearest-neighbor"), 1'800'000));
}

}  // namespace
}  // namespace rankwise
