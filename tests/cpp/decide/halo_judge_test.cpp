#include "decide/halo_judge.hpp"

#include <gtest/gtest.h>

#include "../machine.hpp"
#include "profile/profile.hpp"

namespace rankwise {
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

std::vector<NodeOffice> mirrored(RelayKind kind, const NodeTraffic& traffic) {
  std::vector<NodeOffice> there = offices(kind, traffic);
  const auto size = static_cast<Index>(traffic.members.size());
  for (NodeOffice& office : there) {
    office.sender += size;
    office.receiver += size;
    for (Index& rank : office.members) rank += size;
  }
  return there;
}

double relay_s(RelayKind kind, const NodeTraffic& traffic) {
  return cost_of_relay(kind, traffic, mirrored(kind, traffic), default_machine()).time_s;
}

TEST(HaloJudge, WhereNothingIsPassedOnARelayCostsWhatItsLongerMessagesDo) {
  const NodeTraffic alone = crowd(1, 1000);
  const double direct_s = cost_of_steps({alone}, default_machine()).time_s;
  EXPECT_GE(relay_s(RelayKind::two_step, alone), direct_s);
  EXPECT_LT(relay_s(RelayKind::two_step, alone), 1.05 * direct_s);
}

TEST(HaloJudge, OneRankThatDoesAllIsSlowerThanManyWhereMessagesAreLarge) {
  const NodeTraffic traffic = crowd(16, 1 << 16);
  EXPECT_GT(relay_s(RelayKind::leader, traffic), 1.5 * relay_s(RelayKind::two_step, traffic));
  EXPECT_GT(relay_s(RelayKind::two_step, traffic), cost_of_steps({traffic}, default_machine()).time_s);
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
  // Within a node, and then to another, which sends one message less: what it does not answer is left out.
  NodeTraffic inside;
  inside.members = {0, 1};
  inside.inside = {{{0, 1}, 0, 500}, {{1, 0}, 0, 700}};
  NodeTraffic across = crowd(2, 1000);
  across.in.pop_back();
  const double time_s = cost_of_steps({inside, across}, machine).time_s;
  EXPECT_DOUBLE_EQ(time_s, near.exchange(700) + far.exchange(1000) + 2 * far.send.hold_s(1000));
}

TEST(HaloJudge, RelaysCarryEightBytesMoreForEachParcel) {
  const LinkCost near = rankwise_test::near_link();
  const LinkCost far = rankwise_test::far_link();
  const Machine machine = rankwise_test::machine();
  const auto relay = [&](RelayKind kind, const NodeTraffic& traffic) {
    return cost_of_relay(kind, traffic, mirrored(kind, traffic), machine).time_s;
  };
  EXPECT_DOUBLE_EQ(relay(RelayKind::two_step, crowd(1, 1000)), far.exchange(1008));
  EXPECT_DOUBLE_EQ(relay(RelayKind::leader, crowd(1, 1000)), far.exchange(1008));
  // To the leader, four parcels to the other node's, and to its member.
  EXPECT_DOUBLE_EQ(relay(RelayKind::leader, crowd(2, 1000)), 2 * near.send(2016) + far.exchange(4032));
  // One parcel to each other, then two for one rank of the other node, beside those of the other.
  EXPECT_DOUBLE_EQ(relay(RelayKind::two_step, crowd(2, 1000)),
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
