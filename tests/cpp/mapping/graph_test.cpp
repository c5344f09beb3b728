#include "mapping/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "mapping/graph_search.hpp"
#include "mapping/random.hpp"

namespace rankwise {
namespace {

using Ends = std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>;  // weight of each pair, the smaller end first

WeightedGraph graph_of(std::int32_t vertices, const Ends& pairs) {
  std::vector<std::vector<WeightedGraph::Edge>> rows(slot(vertices));
  for (const auto& [ends, weight] : pairs) {
    rows[slot(ends.first)].push_back({ends.second, weight});
    rows[slot(ends.second)].push_back({ends.first, weight});
  }
  WeightedGraph graph;
  for (const auto& row : rows) {
    graph.edges.insert(graph.edges.end(), row.begin(), row.end());
    graph.first.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  return graph;
}

std::int32_t below(Random& random, std::int32_t end) {
  return static_cast<std::int32_t>(((random.bits() >> 32) * static_cast<std::uint64_t>(end)) >> 32);
}

// A ring, isolated vertices, a star, or pairs drawn at random; weights 0 to 9.
WeightedGraph drawn(Random& random, std::int32_t vertices) {
  Ends pairs;
  const auto add = [&](std::int32_t a, std::int32_t b) {
    if (a != b) pairs[std::minmax(a, b)] = below(random, 10);
  };
  const std::int32_t kind = below(random, 4);
  for (std::int32_t v = 1; v < vertices && kind < 2; ++v) add(v, kind == 0 ? v - 1 : 0);
  for (std::int32_t i = 0; i < 3 * vertices && kind == 2; ++i) add(below(random, vertices), below(random, vertices));
  return graph_of(vertices, pairs);
}

std::vector<Index> sizes_drawn(Random& random, std::int32_t vertices) {
  std::vector<Index> sizes;
  for (Index left = vertices; left > 0; left -= sizes.back()) {
    sizes.push_back(std::min<Index>(left, 1 + below(random, std::max(1, vertices / 3))));
  }
  return sizes;
}

std::vector<Index> held(const std::vector<NodeId>& nodes, std::size_t count) {
  std::vector<Index> result(count, 0);
  for (const NodeId node : nodes) ++result[slot(node)];
  return result;
}

WeightedGraph torus(std::int32_t side) {
  Ends pairs;
  for (std::int32_t v = 0; v < side * side; ++v) {
    const std::int32_t right = v / side * side + (v + 1) % side;
    pairs[std::minmax(v, right)] = 1;
    pairs[std::minmax(v, (v + side) % (side * side))] = 1;
  }
  return graph_of(side * side, pairs);
}

MappingOptions searched(Index steps, std::uint64_t seed, int threads) {
  MappingOptions options;
  options.steps = steps;
  options.seed = seed;
  options.threads = threads;
  return options;
}

TEST(GraphMap, SizesAreExactWhateverTheGraph) {
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    const WeightedGraph graph = drawn(random, 1 + below(random, 120));
    NodeTree tree{sizes_drawn(random, graph.vertices()), {}, {1}};
    if (below(random, 2) == 0) {  // switches of three nodes, out of order
      tree.unit_of_node.emplace_back();
      for (std::int32_t node = 0; node < tree.nodes(); ++node) tree.unit_of_node[0].push_back(node % ((tree.nodes() + 2) / 3));
      tree.costs = {1, 4};
    }
    const std::vector<NodeId> found = map_graph(graph, tree, searched(20'000, 7, 1));
    ASSERT_EQ(held(found, tree.sizes.size()), tree.sizes);
  }
}

TEST(GraphMap, ThreadsDoNotChangeTheMap) {
  const WeightedGraph graph = torus(30);
  const NodeTree tree{std::vector<Index>(45, 20), {}, {1}};
  EXPECT_EQ(map_graph(graph, tree, searched(3'000'000, 5, 1)), map_graph(graph, tree, searched(3'000'000, 5, 3)));
}

TEST(GraphMap, AClockEndsTheSearch) {
  const WeightedGraph graph = torus(20);
  const NodeTree tree{std::vector<Index>(20, 20), {}, {1}};
  for (const int most : {1, 10, 1000}) {
    MappingOptions options = searched(1, 1, 1);
    int asked = 0;
    options.left_s = [&] { return 1.0 - static_cast<double>(asked++) / most; };
    EXPECT_EQ(held(map_graph(graph, tree, options), tree.sizes.size()), tree.sizes);
    EXPECT_LT(asked, most + 100);
    EXPECT_GE(asked, most);
  }
}

TEST(GraphMap, BlocksOfATorusAreFound) {
  const WeightedGraph graph = torus(16);
  const NodeTree tree{std::vector<Index>(16, 16), {}, {1}};  // 4x4 blocks cut 16 edges each, counted from both
  EXPECT_EQ(cost_of(graph, tree, map_graph(graph, tree, searched(20'000'000, 1, 1))), 128);
}

TEST(GraphMap, SwitchesAreCutLessWhereThatCostsMore) {
  const WeightedGraph graph = torus(16);
  NodeTree tree{std::vector<Index>(16, 16), {{}}, {1, 50}};
  for (std::int32_t node = 0; node < 16; ++node) tree.unit_of_node[0].push_back(node % 2);
  const std::vector<NodeId> found = map_graph(graph, tree, searched(20'000'000, 1, 1));
  std::vector<NodeId> switches(found);
  for (NodeId& node : switches) node %= 2;
  EXPECT_EQ(cost_of(graph, {{128, 128}, {}, {1}}, switches), 32);  // half of the torus each
  EXPECT_EQ(cost_of(graph, tree, found), 128 + 49 * 32);
}

TEST(GraphMap, RepairKeepsNodesFilledAndMakesSizesExact) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const WeightedGraph graph = drawn(random, 2 + below(random, 60));
    const NodeTree tree{sizes_drawn(random, graph.vertices()), {}, {1}};
    std::vector<NodeId> any(slot(graph.vertices()));
    for (NodeId& node : any) node = below(random, tree.nodes());
    GraphMap map(graph, tree, any);
    repair(map);
    ASSERT_EQ(held(map.nodes(), tree.sizes.size()), tree.sizes);
    ASSERT_EQ(map.cost(), cost_of(graph, tree, map.nodes()));
  }
}

TEST(GraphMap, SmoothingGainsAndKeepsSizesNear) {
  const WeightedGraph graph = torus(12);
  const NodeTree tree{std::vector<Index>(9, 16), {}, {1}};
  std::vector<NodeId> blocks(144);
  for (std::size_t v = 0; v < blocks.size(); ++v) blocks[v] = static_cast<NodeId>(v / 12 / 4 * 3 + v % 12 / 4);
  GraphMap best(graph, tree, blocks);
  smooth(best, 1, 8);
  EXPECT_EQ(best.nodes(), blocks);  // nothing to gain
  // A cell inside each of two blocks given to the other: both come back, though no node may hold more than one too many.
  std::swap(blocks[13], blocks[13 + 4 * 12 + 4]);
  GraphMap map(graph, tree, blocks);
  const std::int64_t before = map.cost();
  smooth(map, 1, 8);
  EXPECT_EQ(map.cost(), best.cost());
  EXPECT_GT(before, map.cost());
  // From rows, with slack: sizes are off by no more than that, and the cost is what it is counted anew.
  for (const std::int64_t slack : {0, 2}) {
    for (std::size_t v = 0; v < blocks.size(); ++v) blocks[v] = static_cast<NodeId>(v / 16);
    GraphMap rows(graph, tree, blocks);
    const std::int64_t of_rows = rows.cost();
    smooth(rows, slack, 8);
    for (NodeId node = 0; node < 9; ++node) EXPECT_LE(std::abs(rows.surplus(node)), slack);
    EXPECT_EQ(rows.cost(), cost_of(graph, tree, rows.nodes()));
    EXPECT_TRUE(slack == 0 ? rows.cost() == of_rows : rows.cost() < of_rows);
  }
}

TEST(Pieces, TakeWholeGroupsAndCutWhereThatIsCheap) {
  // Paths of 4, 3, 3 and 2 vertices, the second one's edges heavy.
  const WeightedGraph paths =
      graph_of(12, {{{0, 1}, 1}, {{1, 2}, 1}, {{2, 3}, 1}, {{4, 5}, 9}, {{5, 6}, 9}, {{7, 8}, 1}, {{8, 9}, 1}, {{10, 11}, 5}});
  const std::vector<std::pair<std::vector<Index>, std::int64_t>> known{
      {{7, 5}, 0}, {{6, 6}, 0}, {{3, 9}, 0}, {{2, 3, 3, 4}, 0}, {{1, 11}, 1}, {{11, 1}, 1}, {{5, 4, 3}, 0}};
  for (const auto& [sizes, cut] : known) {
    const NodeTree tree{sizes, {}, {1}};
    const std::vector<NodeId> found = dealt_in_pieces(paths, tree);
    EXPECT_EQ(held(found, sizes.size()), sizes);
    EXPECT_EQ(cost_of(paths, tree, found), cut) << sizes[0];
  }
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    const WeightedGraph graph = drawn(random, 1 + below(random, 60));
    const NodeTree tree{sizes_drawn(random, graph.vertices()), {}, {1}};
    EXPECT_EQ(held(dealt_in_pieces(graph, tree), tree.sizes.size()), tree.sizes);
  }
}

// Gains as large as they can be, and weights that differ by less than a bucket of gains holds.
TEST(Multisection, HeavyGroupsStayWholeAndTheLighterBondsAreCut) {
  for (const std::int32_t heavy : {3, 70, 4000, 80'000'000}) {
    // Four groups of four in a ring, all bound within, whose bonds to the next weigh 1, 2, 1, 2.
    std::map<std::pair<int, int>, int> weights;
    for (int group = 0; group < 4; ++group) {
      for (int a = 0; a < 4; ++a) {
        for (int b = a + 1; b < 4; ++b) weights[{4 * group + a, 4 * group + b}] = (heavy + a) / 2;
      }
      const int next = (4 * group + 4) % 16;
      weights[std::minmax(4 * group + 1, next)] = 1 + group % 2;
    }
    const WeightedGraph graph = graph_of(16, weights);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      MappingOptions options;
      options.seed = seed;
      const NodeTree halves{{8, 8}, {}, {1}};
      EXPECT_EQ(cost_of(graph, halves, multisect(graph, halves, options)), 2) << heavy << ", seed " << seed;
      const NodeTree quarters{{4, 4, 4, 4}, {}, {1}};
      EXPECT_EQ(cost_of(graph, quarters, multisect(graph, quarters, options)), 6) << heavy << ", seed " << seed;
    }
  }
}

TEST(Multisection, StaysWithinGroups) {
  const WeightedGraph graph = torus(12);
  const NodeTree tree{{10, 20, 30, 40, 44}, {}, {1}};
  std::vector<NodeId> group(144);
  for (std::size_t v = 0; v < group.size(); ++v) group[v] = v < 60 ? 0 : 1;
  const std::vector<NodeId> first_nodes{0, 3, 5};
  const std::vector<NodeId> found = multisect_within(graph, tree, searched(0, 1, 1), group, first_nodes);
  EXPECT_EQ(held(found, tree.sizes.size()), tree.sizes);
  for (std::size_t v = 0; v < group.size(); ++v) EXPECT_EQ(found[v] >= 3, group[v] == 1);
  EXPECT_EQ(multisect_within(graph, tree, searched(0, 1, 3), group, first_nodes), found);
}

TEST(GraphMap, WhatDoesNotFitIsRefused) {
  const WeightedGraph pair = graph_of(2, {{{0, 1}, 5}});
  const auto refused = [&](const WeightedGraph& graph, const NodeTree& tree) {
    EXPECT_THROW(static_cast<void>(map_graph(graph, tree, {})), std::invalid_argument);
  };
  refused(pair, {{1}, {}, {1}});
  refused(pair, {{2, 0}, {}, {1}});
  refused(pair, {{1, 1}, {{0, 1}}, {1}});
  refused(pair, {{1, 1}, {{0, 1}}, {2, 1}});
  refused(pair, {{1, 1}, {{0, 0}, {0, 1}}, {1, 2, 3}});
  WeightedGraph one_end = pair;
  one_end.edges[1].weight = 6;
  refused(one_end, {{1, 1}, {}, {1}});
  WeightedGraph loop = pair;
  loop.edges[0].to = 0;
  refused(loop, {{1, 1}, {}, {1}});
}

}  // namespace
}  // namespace rankwise
