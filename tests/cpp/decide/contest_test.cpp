// Who takes part in a contest, in which order equals stand, and who shares a walk.
#include "decide/contest.hpp"

#include <gtest/gtest.h>

#include "../machine.hpp"
#include "../refused.hpp"

namespace rankwise {
namespace {

std::string told(const std::vector<Candidate>& list) {
  std::string text;
  for (const Candidate& one : list) text += (text.empty() ? "" : "; ") + to_string(one);
  return text;
}

Question cube(Index length, int cutoff = 1) {
  return {Grid({length, length, length}, {true, true, true}), {cutoff, cutoff, cutoff}, Shell::full, {}, {}, {}};
}

TEST(Contest, AllThatFitTakePart) {
  Question question{Grid({16}, {true}), {2}, Shell::full, {}, {}, {}};
  EXPECT_EQ(told(candidates(question)),
            "direct, isend; direct, persistent; direct, send; direct, ssend; comb, isend; comb, persistent; comb, send; "
            "comb, ssend; shift, isend; shift, persistent; shift, isend-self; shift, send; shift, ssend; neighbor-alltoall, "
            "isend; team-shift c=2, isend; team-shift c=4, isend; team-shift c=8, isend; team-shift c=2, persistent; "
            "team-shift c=4, persistent; team-shift c=8, persistent; team-shift c=2, send; team-shift c=4, send; team-shift "
            "c=8, send; team-shift c=2, ssend; team-shift c=4, ssend; team-shift c=8, ssend; shift-posted, send; "
            "shift-posted, ssend");
  question.modes = {SendMode::send};
  EXPECT_EQ(told(candidates(question)),
            "direct, send; comb, send; shift, send; team-shift c=2, send; team-shift c=4, send; team-shift c=8, send; "
            "shift-posted, send");
  question.algorithms = {"team-shift"};
  question.replications = {3, 16, 17, 4};
  EXPECT_EQ(told(candidates(question)), "team-shift c=3, send; team-shift c=16, send; team-shift c=4, send");
}

TEST(Contest, WhereNobodyFitsTheReasonIsTheFirstOnes) {
  Question question{Grid({16}, {true}), {2}, Shell::full, {"team-shift"}, {SendMode::isend}, {99, 98}};
  EXPECT_EQ(rankwise_test::error_of([&] { (void)candidates(question); }),
            "replication 99 does not fit the grid: it must be a product of one factor an axis, none larger than its axis");
  question.algorithms = {"shift", "nothing"};
  EXPECT_THROW((void)candidates(question), std::invalid_argument);
}

TEST(Contest, ThoseThatKnowNodesTakePartWhereNodesAreKnownAndTheirSchedulesQuick) {
  Question question{Grid({8, 8}, {true, true}), {1, 1}, Shell::full, {}, {SendMode::isend}, {1}};
  const std::string without = told(candidates(question));
  question.nodes = NodeMap::blocked(64, 8);
  EXPECT_EQ(told(candidates(question)), without + "; striped, isend; leader, isend; two-step, isend");
  question.modes = {};
  EXPECT_EQ(told(candidates(question)).find("striped, ssend"), std::string::npos);
  question.modes = {SendMode::ssend};
  EXPECT_NE(told(candidates(question)).find("striped, ssend"), std::string::npos);
  question.modes = {SendMode::isend};
  // 17^2 slots for each of 64 ranks are 18,496, of 70 more than 20,000.
  question.cutoff = {8, 8};
  question.nodes = NodeMap::blocked(64, 64);
  EXPECT_NE(told(candidates(question)).find("striped"), std::string::npos);
}

TEST(Contest, TheFastestStandsFirstAndEqualsInOrder) {
  const Question question = cube(4);
  const Placement placement = Placement::blocked(64, 16);
  const Contest contest(question, placement);
  const std::vector<Ranked> ranked = contest.ranked(1000, rankwise_test::machine());
  std::vector<Candidate> order;
  for (const Ranked& one : ranked) order.push_back(one.candidate);
  EXPECT_EQ(told(order),
            "two-step, isend; two-step, persistent; striped, isend; striped, persistent; leader, isend; leader, persistent; "
            "team-shift c=2, isend; team-shift c=2, persistent; team-shift c=2, send; team-shift c=2, ssend; team-shift c=4, "
            "isend; team-shift c=4, persistent; team-shift c=4, send; team-shift c=4, ssend; direct, isend; direct, "
            "persistent; direct, send; neighbor-alltoall, isend; comb, isend; comb, persistent; comb, send; shift, isend; "
            "shift, persistent; shift, isend-self; shift-posted, send; comb, ssend; shift-posted, ssend; direct, ssend; "
            "team-shift c=8, isend; team-shift c=8, persistent; team-shift c=8, send; team-shift c=8, ssend; shift, send; "
            "shift, ssend");
  for (const Ranked& one : ranked) {
    const Ranked alone = contest.ranked_one(one.candidate, 1000, rankwise_test::machine());
    EXPECT_EQ(alone.time_s, one.time_s);
    EXPECT_GT(one.high_s, one.time_s);
    EXPECT_LT(one.low_s, one.time_s);
    EXPECT_EQ(alone.empty_s, contest.ranked_one(one.candidate, 0, rankwise_test::machine()).time_s);
    EXPECT_EQ(to_string(alone.candidate), to_string(one.candidate));
  }
  const Ranked shift = contest.ranked_one({"shift", SendMode::isend, 1}, 1000, rankwise_test::machine());
  EXPECT_EQ(shift.messages, 6);
  EXPECT_EQ(shift.bytes, 2 * (1 + 3 + 9) * 1000);
  EXPECT_EQ(shift.steps, 3);
  const Machine timed = rankwise_test::timed(rankwise_test::machine());
  EXPECT_EQ(contest.ranked_one({"neighbor-alltoall", SendMode::isend, 1}, 1000, timed).time_s,
            contest.ranked_one({"direct", SendMode::persistent, 1}, 1000, timed).time_s);
  EXPECT_EQ(contest.message_blocks({"shift", SendMode::ssend, 1}), (std::vector<Index>{1, 3, 9}));
  EXPECT_THROW((void)contest.message_blocks({"shift", SendMode::ssend, 2}), std::invalid_argument);
}

TEST(Contest, NodesAreThoseOfThePlacementWhereRanksShareThem) {
  Question question{Grid({4, 4}, {true, true}), {1, 1}, Shell::full, {}, {SendMode::isend}, {1}};
  const auto takes_part = [&](Index per_node) {
    const Contest contest(question, Placement::blocked(16, per_node));
    return rankwise_test::error_of([&] { (void)contest.message_blocks({"striped", SendMode::isend, 1}); }).empty();
  };
  EXPECT_FALSE(takes_part(1));
  EXPECT_TRUE(takes_part(4));
  EXPECT_TRUE(takes_part(8));
  EXPECT_FALSE(takes_part(16));
  question.algorithms = {"striped"};
  EXPECT_TRUE(takes_part(1));
  EXPECT_TRUE(takes_part(16));
}

}  // namespace
}  // namespace rankwise
