// What crosses between nodes, and who handles it; that all arrives is proved with the other algorithms (family_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "../rounds.hpp"
#include "generated.hpp"

namespace rankwise {
namespace {

using Pair = std::pair<Index, Index>;  // of nodes: from, to

// The blocks that cross between nodes, by pair, however often; and in how many messages.
struct Crossings {
  std::map<Pair, std::multiset<Index>> blocks;
  std::map<Pair, int> messages;
  std::map<Index, Index> handled;  // by rank: messages between nodes that it sends or receives
};

Crossings crossings(const ExchangeSpec& spec) {
  Crossings found;
  for (Index rank = 0; rank < spec.ranks(); ++rank) {
    const std::vector<Index> of_slot = origins(spec, rank);
    const RankSchedule schedule = make_schedule(spec, rank);
    EXPECT_EQ(schedule.steps.size(), spec.algorithm == "two-step" ? 2U : 3U);
    for (const Op& op : schedule.ops()) {
      const Pair pair{spec.nodes.node_of(rank), spec.nodes.node_of(op.peer)};
      if (pair.first == pair.second) continue;
      ++found.handled[rank];
      if (op.kind != Op::Kind::send) continue;
      ++found.messages[pair];
      for (const SlotRange& range : op.slots) {
        for (Index i = 0; i < range.count; ++i) {
          found.blocks[pair].insert(of_slot[static_cast<std::size_t>(range.first + i)]);
        }
      }
    }
  }
  return found;
}

class NodeAware : public testing::TestWithParam<std::string> {};

TEST_P(NodeAware, EveryBlockCrossesOnceToEachNodeThatNeedsIt) {
  Generator generate(31);
  for (int i = 0; i < rankwise_test::rounds(300); ++i) {
    const ExchangeSpec spec = generate.spec(GetParam());
    std::map<Pair, std::multiset<Index>> needed;
    for (Index rank = 0; rank < spec.ranks(); ++rank) {
      for (const Index origin : window_origins(spec, rank)) {
        if (origin < 0) continue;
        const Pair pair{spec.nodes.node_of(origin), spec.nodes.node_of(rank)};
        if (pair.first == pair.second) continue;
        std::multiset<Index>& blocks = needed[pair];
        if (!blocks.contains(origin)) blocks.insert(origin);
      }
    }
    const Crossings found = crossings(spec);
    ASSERT_EQ(found.blocks, needed) << described(spec);
    for (const auto& [pair, messages] : found.messages) {
      const auto blocks = static_cast<int>(needed[pair].size());
      ASSERT_EQ(messages, GetParam() == "two-step" ? blocks : 1) << described(spec);
    }
  }
}

TEST_P(NodeAware, ARankMakesItsScheduleWithoutLookingAtAll) {
  ExchangeSpec spec = make_spec(GetParam(), SendMode::isend, {1 << 20, 1 << 10}, {true, true}, {1, 1});
  spec.nodes = NodeMap::blocked(spec.ranks(), 16);
  for (const Index rank : {Index{0}, spec.ranks() / 2 + 3, spec.ranks() - 1}) {
    EXPECT_LT(make_schedule(spec, rank).slots, 200);
    EXPECT_LT(make_reduce(spec, rank).slots, 200);
  }
}

TEST_P(NodeAware, OnOneNodeRanksSendStraight) {
  ExchangeSpec spec = make_spec(GetParam(), SendMode::isend, {4, 4}, {true, true}, {1, 1});
  spec.nodes = NodeMap::blocked(16, 20);
  for (const RankSchedule& schedule : make_schedules(spec)) {
    EXPECT_EQ(schedule.messages_sent(), 8);
    EXPECT_EQ(schedule.passing, 0);
  }
}

TEST_P(NodeAware, RefusesNodesThatAreUnknownOrDoNotFit) {
  ExchangeSpec spec = make_spec(GetParam(), SendMode::isend, {6}, {true}, {1});
  EXPECT_THROW((void)make_schedule(spec, 0), std::invalid_argument);
  spec.nodes = NodeMap::blocked(8, 2);
  EXPECT_THROW((void)make_schedules(spec), std::invalid_argument);
  EXPECT_THROW((void)NodeMap::blocked(6, 0), std::invalid_argument);
  spec.nodes = NodeMap::of({0, 0, 7, 7, 1, 1});
  EXPECT_EQ(make_schedules(spec).size(), 6U);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, NodeAware, testing::Values("striped", "leader", "two-step"), [](const auto& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Striped, DealsTheMessagesOfANodeEvenly) {
  Generator generate(37);
  for (int i = 0; i < rankwise_test::rounds(300); ++i) {
    const ExchangeSpec spec = generate.spec("striped");
    Crossings found = crossings(spec);
    std::map<Index, std::pair<Index, Index>> range;  // by node: the fewest and most messages that a rank handles
    for (Index rank = 0; rank < spec.ranks(); ++rank) {
      const Index handled = found.handled[rank];
      const auto [known, added] = range.try_emplace(spec.nodes.node_of(rank), handled, handled);
      known->second = {std::min(known->second.first, handled), std::max(known->second.second, handled)};
    }
    for (const auto& [node, least_and_most] : range) {
      ASSERT_LE(least_and_most.second - least_and_most.first, 1) << described(spec) << " node " << node;
    }
  }
}

TEST(Leader, LeavesAllToTheFirstRankOfANode) {
  Generator generate(41);
  for (int i = 0; i < rankwise_test::rounds(100); ++i) {
    const ExchangeSpec spec = generate.spec("leader");
    for (const auto& [rank, handled] : crossings(spec).handled) {
      ASSERT_EQ(spec.nodes.member(spec.nodes.node_of(rank), 0), rank) << described(spec);
    }
  }
}

TEST(Nodes, CountInTheOrderOfTheirLowestRanks) {
  const NodeMap map = NodeMap::of({9, 4, 4, 9, -2});
  EXPECT_EQ(map.node_of(0), 0);
  EXPECT_EQ(map.node_of(2), 1);
  EXPECT_EQ(map.node_of(4), 2);
  EXPECT_EQ(map.members(0), 2);
  EXPECT_EQ(map.member(0, 1), 3);
  const NodeMap uneven = NodeMap::blocked(7, 3);
  EXPECT_EQ(uneven.node_of(6), 2);
  EXPECT_EQ(uneven.members(2), 1);
  EXPECT_EQ(uneven.member(1, 2), 5);
}

}  // namespace
}  // namespace rankwise
