// Where ranks sit, by numbers and one by one.
#include "cost/placement.hpp"

#include <gtest/gtest.h>

#include "../refused.hpp"

namespace rankwise {
namespace {

using rankwise_test::error_of;

TEST(LinkBetween, TheNarrowestThatHoldsBoth) {
  EXPECT_EQ(link_between({0, 0, 0, -1}, {1, 0, 0, -1}), LinkClass::other_node);
  EXPECT_EQ(link_between({0, 0, 0, 5}, {0, 1, 0, 5}), LinkClass::other_socket);
  EXPECT_EQ(link_between({0, 0, 0, -1}, {0, 0, 1, -1}), LinkClass::same_socket);
  EXPECT_EQ(link_between({0, 0, 0, 1}, {0, 0, 1, 0}), LinkClass::same_socket);
  EXPECT_EQ(link_between({0, 0, 0, 0}, {0, 0, 1, 0}), LinkClass::shared_cache);
  EXPECT_EQ(link_between({0, 0, 3, 0}, {0, 0, 3, 0}), LinkClass::same_core);
}

TEST(Placement, NodesAreFilledOneAfterTheOther) {
  // 11 ranks on nodes of 5: sockets of 3 and 2, caches of 2 and 1, and of 2.
  const Placement placement = Placement::blocked(11, 5, 3, 2);
  const std::vector<Location> expected{{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 2, 1}, {0, 1, 3, 2}, {0, 1, 4, 2}, {1, 2, 5, 4},
                                       {1, 2, 6, 4}, {1, 2, 7, 5}, {1, 3, 8, 6}, {1, 3, 9, 6}, {2, 4, 10, 8}};
  for (Index rank = 0; rank < 11; ++rank) {
    EXPECT_EQ(placement[rank], expected[static_cast<std::size_t>(rank)]) << rank;
    EXPECT_EQ(placement.node(rank), rank / 5);
  }
  EXPECT_EQ(placement.nodes(), 3);
  EXPECT_EQ(placement.most_on_a_node(), 5);
  EXPECT_TRUE(placement.is_blocked() && placement.has_sockets() && !placement.knows_only_nodes());
  const Placement plain = Placement::blocked(10, 5);
  EXPECT_EQ(plain.nodes(), 2);
  EXPECT_EQ(plain[7], (Location{1, 1, 7, -1}));
  EXPECT_TRUE(!plain.has_sockets() && plain.knows_only_nodes());
  EXPECT_TRUE(Placement::blocked(10, 5, 5).knows_only_nodes());
  EXPECT_FALSE(Placement::blocked(10, 5, 7, 1).knows_only_nodes());
  EXPECT_EQ(Placement::blocked(10, 5, 7, 1)[6], (Location{1, 1, 6, 6}));
  EXPECT_EQ(Placement::blocked(3, 5).most_on_a_node(), 3);
  EXPECT_EQ(Placement::blocked(1, 1).nodes(), 1);
}

TEST(Placement, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(error_of([] { (void)Placement::blocked(0, 1); }), "a placement of 0 ranks places nobody: give at least 1");
  EXPECT_EQ(error_of([] { (void)Placement::blocked(1, 0); }), "ranks per node 0 is too small: it must be at least 1");
  const std::string negative = "ranks per socket or cache are negative: give at least 1";
  EXPECT_EQ(error_of([] { (void)Placement::blocked(4, 2, -1); }), negative);
  EXPECT_EQ(error_of([] { (void)Placement::blocked(4, 2, 0, -1); }), negative);
  const auto listed = [](const std::vector<Location>& list) { return error_of([&] { (void)Placement(list); }); };
  const std::string below = "a location of the placement is negative: count nodes, sockets and cores from 0";
  EXPECT_EQ(listed({}), "a placement of 0 ranks places nobody: give one location a rank");
  EXPECT_EQ(listed({{0, 0, 0}, {-1, 0, 1}}), below);
  EXPECT_EQ(listed({{0, 0, 0}, {0, -1, 1}}), below);
  EXPECT_EQ(listed({{0, 0, 0}, {0, 0, -1}}), below);
  EXPECT_EQ(listed({{0, 0, 0}, {1, 0, 1}}), "socket 0 lies on nodes 0 and 1: number them over the machine");
  EXPECT_EQ(listed({{Index{1} << 31, 0, 0}}), "the placement numbers its nodes beyond 2^31: number them from 0");
  EXPECT_EQ(listed({{(Index{1} << 31) - 1, 0, 0}}), "");
  const std::vector<std::int32_t> three{0, 1, 2};
  const std::vector<std::int32_t> two{0, 1};
  EXPECT_EQ(error_of([&] { (void)Placement::on_nodes(three, two); }), "3 ranks have nodes and 2 sockets: give each rank both");
}

TEST(Placement, RanksListedOneByOne) {
  // Nodes of 3, 1 and 2 ranks, dealt out.
  const std::vector<std::int32_t> nodes{2, 0, 0, 2, 1, 0};
  const Placement dealt = Placement::on_nodes(nodes);
  EXPECT_TRUE(!dealt.is_blocked() && dealt.knows_only_nodes() && !dealt.has_sockets());
  EXPECT_EQ(dealt.nodes(), 3);
  EXPECT_EQ(dealt.ranks(), 6);
  EXPECT_EQ(dealt.most_on_a_node(), 3);
  for (Index rank = 0; rank < 6; ++rank) {
    const auto node = nodes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(dealt[rank], (Location{node, node, rank, -1}));
    EXPECT_EQ(dealt.node(rank), node);
  }
  const std::vector<std::int32_t> sockets{4, 0, 1, 5, 2, 0};
  const Placement seated = Placement::on_nodes(nodes, sockets);
  EXPECT_TRUE(!seated.is_blocked() && !seated.knows_only_nodes() && seated.has_sockets());
  EXPECT_EQ(seated[3], (Location{2, 5, 3, -1}));
  const std::vector<Location> cached{{0, 0, 0, 0}, {0, 0, 1, 0}};
  EXPECT_FALSE(Placement(cached).is_blocked());
  EXPECT_FALSE(Placement(cached).knows_only_nodes());
}

TEST(Placement, RanksListedOneByOneAreKnownAsBlocked) {
  for (const auto& [per_node, per_socket] : {std::pair<Index, Index>{6, 6}, {6, 3}, {6, 4}, {6, 1}, {1, 1}, {20, 7}}) {
    const Placement blocked = Placement::blocked(20, per_node, per_socket);
    std::vector<std::int32_t> nodes;
    std::vector<std::int32_t> sockets;
    for (Index rank = 0; rank < 20; ++rank) {
      nodes.push_back(static_cast<std::int32_t>(blocked[rank].node));
      sockets.push_back(static_cast<std::int32_t>(blocked[rank].socket));
    }
    const Placement listed = Placement::on_nodes(nodes, sockets);
    EXPECT_TRUE(listed.is_blocked()) << per_node << " a node, " << per_socket << " a socket";
    EXPECT_EQ(listed.knows_only_nodes(), per_socket == per_node);
    for (Index rank = 0; rank < 20; ++rank) EXPECT_EQ(listed[rank], blocked[rank]);
    if (per_node == 20) continue;
    std::swap(sockets.front(), sockets.back());
    std::swap(nodes.front(), nodes.back());
    EXPECT_FALSE(Placement::on_nodes(nodes, sockets).is_blocked());
  }
}

TEST(Placement, LevelsOfSwitchesLieBetweenNodesOfDifferentUnits) {
  const Placement placement = Placement::blocked(24, 2).with_levels({2, 6});
  EXPECT_EQ(placement.levels(), (std::vector<Index>{2, 6}));
  EXPECT_EQ(placement.levels_between(0, 1), 0U);
  EXPECT_EQ(placement.levels_between(1, 2), 1U);
  EXPECT_EQ(placement.levels_between(5, 6), 2U);
  EXPECT_EQ(placement.levels_between(11, 0), 2U);
  const std::string grow = "the levels of switches do not grow: name the inner ones first";
  EXPECT_EQ(error_of([&] { (void)placement.with_levels({0}); }), grow);
  EXPECT_EQ(error_of([&] { (void)placement.with_levels({2, 1}); }), grow);
  EXPECT_EQ(error_of([&] { (void)placement.with_levels({1, 1}); }), "");
}

}  // namespace
}  // namespace rankwise
