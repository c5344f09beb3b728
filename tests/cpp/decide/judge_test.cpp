#include "decide/judge.hpp"

#include <gtest/gtest.h>

#include "../machine.hpp"
#include "profile/profile.hpp"

namespace rankwise {

namespace {

// The exchanges alone.
double fft_exchanges_s(const FftExchanges& variant, double bytes, const Placement& placement, const Machine& machine) {
  return fft_s(variant, bytes, 0.0, placement, machine);
}

using Grids = std::vector<std::array<Index, 2>>;

TEST(FftJudge, GridsLeaveNobodyIdle) {
  EXPECT_EQ(fft_grids({16, 16, 16}, 16, 4), (Grids{{4, 1}, {2, 2}, {1, 4}}));
  EXPECT_EQ(fft_grids({16, 2, 16}, 9, 4), (Grids{{2, 2}}));
  EXPECT_EQ(fft_grids({1, 1, 5}, 3, 6), Grids{});
  EXPECT_EQ(fft_grids({16, 16, 4}, 3, 4), (Grids{{4, 1}, {2, 2}}));
}

const LinkCost near_cost = rankwise_test::near_link();
const LinkCost far_cost = rankwise_test::far_link();
constexpr double array_bytes = 24'000;

double exchanges_s(const FftExchanges& variant, Index ranks_per_node) {
  const Placement placement = Placement::blocked(variant.grid[0] * variant.grid[1], ranks_per_node);
  return fft_exchanges_s(variant, array_bytes, placement, rankwise_test::machine());
}

TEST(FftJudge, AtOnceAMessageFollowsTheOtherByTheGap) {
  EXPECT_EQ(exchanges_s({{1, 1}}, 1), 0.0);
  EXPECT_DOUBLE_EQ(exchanges_s({{2, 1}}, 1), far_cost.exchange(12'000));
  EXPECT_DOUBLE_EQ(exchanges_s({{4, 1}}, 1), far_cost.exchange(6'000) + 2 * far_cost.gap(6'000));
  EXPECT_DOUBLE_EQ(exchanges_s({{4, 1}}, 4), near_cost.exchange(6'000) + 2 * near_cost.gap(6'000));
  // Rows of three within a node, columns of two between nodes, in which three ranks share a card.
  EXPECT_DOUBLE_EQ(exchanges_s({{2, 3}}, 3), near_cost.exchange(8'000) + near_cost.gap(8'000) + far_cost.exchange(12'000) +
                                                 2 * far_cost.send.hold_s(12'000));
  // No message is empty.
  EXPECT_DOUBLE_EQ(fft_exchanges_s({{2, 1}}, 0.5, Placement::blocked(2, 1), rankwise_test::machine()), far_cost.exchange(1));
}

TEST(FftJudge, PairwiseAStepForEachPartner) {
  EXPECT_DOUBLE_EQ(exchanges_s({{4, 1}, TransposeMethod::pairwise}, 1), 3 * far_cost.exchange(6'000));
  EXPECT_DOUBLE_EQ(exchanges_s({{2, 2}, TransposeMethod::pairwise}, 1), 2 * far_cost.exchange(12'000));
}

TEST(FftJudge, SlicesOfASlabAreExchangedOneAfterTheOther) {
  EXPECT_DOUBLE_EQ(exchanges_s({{4, 1}, TransposeMethod::alltoall, 3}, 1),
                   3 * (far_cost.exchange(2'000) + 2 * far_cost.gap(2'000)));
  EXPECT_DOUBLE_EQ(exchanges_s({{2, 2}, TransposeMethod::alltoall, 3}, 1), 2 * far_cost.exchange(12'000));
  EXPECT_DOUBLE_EQ(exchanges_s({{1, 4}, TransposeMethod::alltoall, 3}, 1), far_cost.exchange(6'000) + 2 * far_cost.gap(6'000));
}

TEST(FftJudge, FieldsTravelTogetherAsFarAsTheyFit) {
  using Counts = std::vector<Index>;
  EXPECT_EQ(fft_together(4, 10, 1e6), (Counts{1, 2, 4, 8, 10}));
  EXPECT_EQ(fft_together(4, 16, 2e6), (Counts{1, 2, 4, 8}));
  EXPECT_EQ(fft_together(4, 16, 2.1e6), (Counts{1, 2, 4}));
  EXPECT_EQ(fft_together(4, 16, 8e6), (Counts{1, 2}));
  EXPECT_EQ(fft_together(4, 16, 8.1e6), (Counts{1}));
  EXPECT_EQ(fft_together(1, 16, 1.0), (Counts{1}));
  EXPECT_EQ(fft_together(2, 1, 1.0), (Counts{1}));
  using Groups = std::vector<std::pair<Index, Index>>;
  EXPECT_EQ(fft_groups(10, 4), (Groups{{2, 4}, {1, 2}}));
  EXPECT_EQ(fft_groups(8, 4), (Groups{{2, 4}}));
  EXPECT_EQ(fft_groups(3, 4), (Groups{{1, 3}}));
  EXPECT_DOUBLE_EQ(fft_hidden(3, 4, 1), 3 * 2.0 / 3 * 3 / 4);
  EXPECT_DOUBLE_EQ(fft_hidden(3, 4, 2), 2.0);
}

TEST(FftJudge, ByNodeItGathersSendsAndHandsOut) {
  // Of 24 kB of six ranks on two nodes each has 4 kB for every other: 8 kB for each of its node, 36 kB for the other node.
  const double inside_s = near_cost.exchange(8'000) + near_cost.gap(8'000);
  EXPECT_DOUBLE_EQ(exchanges_s({{6, 1}, TransposeMethod::node_aware}, 3), 2 * inside_s + far_cost.exchange(36'000));
  EXPECT_DOUBLE_EQ(exchanges_s({{6, 1}, TransposeMethod::node_aware, 2}, 3),
                   2 * (2 * (near_cost.exchange(4'000) + near_cost.gap(4'000)) + far_cost.exchange(18'000)));
  // Of seven four sit on the first node: as if eight, with 3428 B for each.
  const double four_s = near_cost.exchange(6'000) + 2 * near_cost.gap(6'000);
  EXPECT_DOUBLE_EQ(exchanges_s({{7, 1}, TransposeMethod::node_aware}, 4), 2 * four_s + far_cost.exchange(54'857));
  // No message is empty.
  EXPECT_DOUBLE_EQ(
      fft_exchanges_s({{4, 1}, TransposeMethod::node_aware}, 0.5, Placement::blocked(4, 2), rankwise_test::machine()),
      2 * near_cost.exchange(1) + far_cost.exchange(1));
  // Columns of a grid whose rows have a node each: nothing to gather.
  EXPECT_DOUBLE_EQ(exchanges_s({{3, 2}, TransposeMethod::node_aware}, 2),
                   near_cost.exchange(12'000) * 2 + far_cost.exchange(8'000) + far_cost.gap(8'000));
}

TEST(FftJudge, SlicesHideTwoThirdsOfTheWorkButTheFirstBetweenNodes) {
  const Machine machine = rankwise_test::machine();
  const auto time_s = [&](const FftExchanges& variant, Index per_node, double local_s) {
    return fft_s(variant, array_bytes, local_s, Placement::blocked(variant.grid[0] * variant.grid[1], per_node), machine);
  };
  const FftExchanges slices{{4, 1}, TransposeMethod::alltoall, 4};
  const double between_s = exchanges_s(slices, 1);
  EXPECT_DOUBLE_EQ(time_s(slices, 1, 1e-3), 1e-3 + 0.5 * between_s);
  EXPECT_DOUBLE_EQ(time_s(slices, 1, 1e-6), 0.5e-6 + between_s);
  EXPECT_DOUBLE_EQ(time_s(slices, 4, 1e-3), 1e-3 + exchanges_s(slices, 4));
  EXPECT_DOUBLE_EQ(time_s({{4, 1}}, 1, 1e-3), 1e-3 + exchanges_s({{4, 1}}, 1));
  const FftExchanges pencils{{2, 2}, TransposeMethod::alltoall, 4};
  EXPECT_DOUBLE_EQ(time_s(pencils, 1, 1e-3), 1e-3 + exchanges_s(pencils, 1));
}

TEST(FftJudge, TakesTimeForEveryExchange) {
  const Machine machine = default_machine();
  const auto time_s = [&](std::array<Index, 2> grid, bool pairwise, double bytes) {
    const Index ranks = grid[0] * grid[1];
    return fft_exchanges_s({grid, pairwise ? TransposeMethod::pairwise : TransposeMethod::alltoall}, bytes,
                           Placement::blocked(ranks, ranks), machine);
  };
  for (const bool pairwise : {false, true}) {
    EXPECT_EQ(time_s({1, 1}, pairwise, 16384.0), 0.0);
    EXPECT_GT(time_s({2, 1}, pairwise, 16384.0), 0.0);
    EXPECT_GT(time_s({2, 1}, pairwise, 65536.0), time_s({2, 1}, pairwise, 16384.0));
    EXPECT_GT(time_s({2, 2}, pairwise, 16384.0), 1.5 * time_s({2, 1}, pairwise, 16384.0));  // one exchange more
  }
  EXPECT_GT(time_s({4, 1}, true, 16384.0), time_s({4, 1}, false, 16384.0));  // three steps in place of one
}

TEST(FftJudge, SlicesHideWorkBetweenNodesOnly) {
  const Machine machine = default_machine();
  const auto time_s = [&](Index chunks, Index per_node, double local_s) {
    return fft_s({{4, 1}, TransposeMethod::alltoall, chunks}, 4e6, local_s, Placement::blocked(4, per_node), machine);
  };
  EXPECT_LT(time_s(8, 1, 2e-3), time_s(1, 1, 2e-3));
  EXPECT_GE(time_s(8, 4, 2e-3), time_s(1, 4, 2e-3));
  EXPECT_GE(time_s(8, 1, 0.0), time_s(1, 1, 0.0));  // more messages, nothing to hide
}

TEST(FftJudge, BatchesSaveMessagesAndHideBetweenNodes) {
  const Machine machine = default_machine();
  FftExchanges variant{.grid = {2, 1}, .batch = 5};
  const auto time_s = [&](Index together, Index in_flight, Index per_node, double local_s) {
    variant.together = together;
    variant.in_flight = in_flight;
    return fft_s(variant, 16384.0, local_s, Placement::blocked(2, per_node), machine);
  };
  const double one_s = time_s(1, 1, 2, 0.0) / 5;
  const double two_s = fft_exchanges_s({.grid = {2, 1}}, 32768.0, Placement::blocked(2, 2), machine);
  EXPECT_NEAR(time_s(2, 1, 2, 0.0), 2 * two_s + one_s, 1e-12);  // two groups of two, one left over
  EXPECT_LT(two_s, 2 * one_s);
  EXPECT_LT(time_s(5, 1, 2, 1e-4), time_s(1, 1, 2, 1e-4));
  EXPECT_EQ(time_s(8, 1, 2, 1e-4), time_s(5, 1, 2, 1e-4));
  EXPECT_EQ(time_s(1, 2, 2, 1e-4), time_s(1, 1, 2, 1e-4));  // on one node nothing is hidden
  // Between nodes all but one of five: the smaller of the two, here the local work.
  EXPECT_NEAR(time_s(1, 1, 1, 1e-7) - time_s(1, 2, 1, 1e-7), 4e-7, 1e-12);
  variant.passes = 2;
  EXPECT_NEAR(time_s(1, 1, 2, 0.0), 10 * one_s, 1e-12);
}

TEST(FftJudge, ByNodeSavesMessagesWhereTheyAreShort) {
  const Machine machine = default_machine();
  const auto time_s = [&](TransposeMethod messages, double bytes) {
    return fft_exchanges_s({{16, 1}, messages}, bytes, Placement::blocked(16, 8), machine);
  };
  EXPECT_LT(time_s(TransposeMethod::node_aware, 512.0), time_s(TransposeMethod::pairwise, 512.0));
  EXPECT_GT(time_s(TransposeMethod::node_aware, 4e6), time_s(TransposeMethod::alltoall, 4e6));
}

}  // namespace

namespace {

// Node 0 of two nodes of `size` ranks, every rank of which has something for every rank of the other.
NodeTraffic crowd(Index size, Index bytes) {
  NodeTraffic traffic;
  for (Index rank = 0; rank < size; ++rank) {
    traffic.members.push_back(rank);
    for (Index other = size; other < 2 * size; ++other) {
      traffic.out.push_back({{rank, other}, size, bytes});
      traffic.in.push_back({{other, rank}, size, bytes});
    }
  }
  return traffic;
}

std::vector<NodeLeaders> mirrored(NodeAwareKind kind, const NodeTraffic& traffic) {
  std::vector<NodeLeaders> there = node_leaders(kind, traffic);
  const auto size = static_cast<Index>(traffic.members.size());
  for (NodeLeaders& leaders : there) {
    leaders.sender += size;
    leaders.receiver += size;
    for (Index& rank : leaders.members) rank += size;
  }
  return there;
}

double node_aware_s(NodeAwareKind kind, const NodeTraffic& traffic) {
  return cost_of_node_aware(kind, traffic, mirrored(kind, traffic), default_machine()).time_s;
}

TEST(HaloJudge, WhereNothingIsPassedOnNodeAwareCostsWhatItsLongerMessagesDo) {
  const NodeTraffic alone = crowd(1, 1000);
  const double direct_s = cost_of_steps({alone}, default_machine()).time_s;
  EXPECT_GE(node_aware_s(NodeAwareKind::two_step, alone), direct_s);
  EXPECT_LT(node_aware_s(NodeAwareKind::two_step, alone), 1.05 * direct_s);
}

TEST(HaloJudge, OneRankThatDoesAllIsSlowerThanManyWhereMessagesAreLarge) {
  const NodeTraffic traffic = crowd(16, 1 << 16);
  EXPECT_GT(node_aware_s(NodeAwareKind::leader, traffic), 1.5 * node_aware_s(NodeAwareKind::two_step, traffic));
  EXPECT_GT(node_aware_s(NodeAwareKind::two_step, traffic), cost_of_steps({traffic}, default_machine()).time_s);
}

TEST(HaloJudge, WhatWaitsForSeveralStepsTakesLonger) {
  const NodeTraffic traffic = crowd(4, 1000);
  const double once_s = cost_of_steps({traffic}, default_machine()).time_s;
  EXPECT_GT(cost_of_steps({traffic, traffic}, default_machine()).time_s, 1.9 * once_s);
}

TEST(HaloJudge, MessagesOfAStepAreInFlightTogetherAndShareTheCard) {
  const LinkCost near = rankwise_test::near_link();
  const LinkCost far = rankwise_test::far_link();
  const Machine machine = rankwise_test::machine();
  const HaloCost alone = cost_of_steps({crowd(1, 1000)}, machine);
  EXPECT_DOUBLE_EQ(alone.time_s, far.exchange(1000));
  EXPECT_DOUBLE_EQ(alone.low_s, 0.98 * alone.time_s);
  EXPECT_DOUBLE_EQ(alone.high_s, 1.02 * alone.time_s);
  // Two ranks send two messages each: the card passes four.
  EXPECT_DOUBLE_EQ(cost_of_steps({crowd(2, 1000)}, machine).time_s, far.exchange(1000) + 3 * far.send.hold_s(1000));
  // Within a node, and then to another, which sends one message less: what it does not answer passes the card all the same.
  NodeTraffic inside;
  inside.members = {0, 1};
  inside.inside = {{{0, 1}, 0, 500}, {{1, 0}, 0, 700}};
  NodeTraffic across = crowd(2, 1000);
  across.in.pop_back();
  const double time_s = cost_of_steps({inside, across}, machine).time_s;
  EXPECT_DOUBLE_EQ(time_s, near.exchange(700) + far.exchange(1000) + 3 * far.send.hold_s(1000));
}

TEST(HaloJudge, NodeAwareCarriesEightBytesMoreForEachPacket) {
  const LinkCost near = rankwise_test::near_link();
  const LinkCost far = rankwise_test::far_link();
  const Machine machine = rankwise_test::machine();
  const auto part = [&](NodeAwareKind kind, const NodeTraffic& traffic) {
    return cost_of_node_aware(kind, traffic, mirrored(kind, traffic), machine).time_s;
  };
  EXPECT_DOUBLE_EQ(part(NodeAwareKind::two_step, crowd(1, 1000)), far.exchange(1008));
  EXPECT_DOUBLE_EQ(part(NodeAwareKind::leader, crowd(1, 1000)), far.exchange(1008));
  // To the leader, four packets to the other node's, and to its member.
  EXPECT_DOUBLE_EQ(part(NodeAwareKind::leader, crowd(2, 1000)), 2 * near.send(2016) + far.exchange(4032));
  // One packet to each other, then two for one rank of the other node, beside those of the other.
  EXPECT_DOUBLE_EQ(part(NodeAwareKind::two_step, crowd(2, 1000)),
                   near.exchange(1008) + far.exchange(2016) + far.send.hold_s(2016));
}

TEST(HaloJudge, OnlyWhatMayBeTheFastestIsTried) {
  const std::vector<HaloCost> costs{{3.0, 2.0, 4.0}, {2.0, 1.5, 2.5}, {2.2, 2.1, 2.3}, {9.0, 5.1, 20.0}, {3.5, 3.4, 3.6}};
  EXPECT_EQ(worth_trying(costs, 4), (std::vector<std::size_t>{1, 2, 0, 4}));
  EXPECT_EQ(worth_trying({{2.0, 1.5, 2.5}, {9.0, 4.9, 20.0}}, 2), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(worth_trying({{2.0, 1.5, 2.5}, {9.0, 5.0, 20.0}}, 2), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(worth_trying(costs, 2), (std::vector<std::size_t>{1, 2}));
}

}  // namespace

}  // namespace rankwise
