// Who takes part in a contest, in which order equals stand, and who shares a walk.
#include "decide/contest.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

TEST(Contest, OneMessageAfterTheOtherToManyPartnersIsNoCandidateUnlessAskedFor) {
  Question question = cube(4, 14);  // 24389 slots
  question.algorithms = {"direct", "shift"};
  EXPECT_EQ(told(candidates(question)),
            "direct, isend; direct, persistent; shift, isend; shift, persistent; shift, isend-self; shift, send; shift, ssend");
  question.modes = {SendMode::send};
  EXPECT_EQ(told(candidates(question)), "direct, send; shift, send");
}

TEST(Contest, MessagesAlikeArePricedAsOftenAsThereAre) {
  // On a ring of eight whose messages reach around it, seven partners get 25 or 26 messages each, and 24 stay with their rank.
  const auto direct = [](Index ranks, int cutoff) {
    const Question question{Grid({ranks}, {true}), {cutoff}, Shell::full, {"direct"}, {SendMode::isend}, {}};
    return Contest(question, Placement::blocked(ranks, 1)).first(1000, rankwise_test::machine());
  };
  EXPECT_EQ(direct(8, 100).messages, 176);
  EXPECT_NEAR(direct(8, 100).time_s, direct(512, 88).time_s, 1e-12 * direct(8, 100).time_s);
}

TEST(Contest, EndsBetweenWalks) {
  const Placement placement = Placement::blocked(64, 16);
  int left = 1000;
  const auto between = [&left] {
    if (--left < 0) throw std::runtime_error("interrupted");
  };
  const Contest contest(cube(4), placement, between);
  const int walks = 1000 - left;
  EXPECT_GT(walks, 10);
  left = 2 * walks;  // each at this size and at 0 B
  (void)contest.ranked(1000, rankwise_test::machine());
  EXPECT_EQ(left, 0);
  EXPECT_THROW((void)contest.first(1000, rankwise_test::machine()), std::runtime_error);
  left = 3;
  EXPECT_THROW((void)Contest(cube(4), placement, between), std::runtime_error);
  // Of one walk whose many partners take long to be counted, too.
  left = 5;
  const Question far{Grid({36, 36, 36}, {true, true, true}), {17, 17, 17}, Shell::full, {"direct"}, {SendMode::isend}, {}};
  EXPECT_THROW((void)Contest(far, Placement::blocked(36 * 36 * 36, 48), between), std::runtime_error);
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
            "team-shift c=8, ssend; team-shift c=8, isend; team-shift c=8, persistent; shift, send; shift, ssend; "
            "team-shift c=8, send");
  for (const Ranked& one : ranked) {
    const Ranked alone = contest.ranked_one(one.candidate, 1000, rankwise_test::machine());
    EXPECT_EQ(alone.time_s, one.time_s);
    EXPECT_GT(one.high_s, one.time_s);
    EXPECT_LT(one.low_s, one.time_s);
    EXPECT_EQ(one.empty_s, contest.ranked_one(one.candidate, 0, rankwise_test::machine()).time_s);
    EXPECT_EQ(to_string(alone.candidate), to_string(one.candidate));
  }
  EXPECT_EQ(to_string(contest.first(1000, rankwise_test::machine()).candidate), to_string(order.front()));
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

TEST(Contest, TheFirstIsTheFirstOfAllThoughNotAllAreFollowedToTheirEnd) {
  const Machine machine = rankwise_test::machine();
  for (const bool ring : {true, false}) {
    for (const std::vector<Index>& dims : std::vector<std::vector<Index>>{{16}, {5, 4}, {3, 2, 4}}) {
      const Grid grid(dims, std::vector<bool>(dims.size(), ring));
      const Placement placement = Placement::blocked(grid.size(), 5);
      const std::vector<int> cutoff(dims.size(), 2);
      const Contest contest({grid, cutoff, Shell::full, {}, {}, {}}, placement);
      const Contest one_by_one({grid, cutoff, Shell::full, {}, {SendMode::send, SendMode::ssend}, {}}, placement);
      for (const Index size : {1, 3'000, 400'000}) {
        for (const Contest* asked : {&contest, &one_by_one}) {
          const Ranked first = asked->first(size, machine);
          const Ranked of_all = asked->ranked(size, machine).front();
          EXPECT_EQ(to_string(first.candidate), to_string(of_all.candidate)) << grid.size() << ", " << size << " B";
          EXPECT_EQ(first.time_s, of_all.time_s);
          EXPECT_EQ(first.high_s, of_all.high_s);
        }
      }
    }
  }
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

// The words in which a choice is given, word by word.

namespace {

// direct: 26 messages at once in one step.
Ranked direct(double time_s, double empty_s) {
  return {{"direct", SendMode::isend, 1}, time_s, 0.9999 * time_s, 1.0001 * time_s, empty_s, 26, 104'000, 1, {}};
}
Ranked shift(double time_s, double empty_s) {
  return {{"shift", SendMode::isend, 1}, time_s, 0.9999 * time_s, 1.0001 * time_s, empty_s, 6, 104'000, 3, {}};
}

TEST(Reason, TheLatencyOfFewerMessagesDecides) {
  EXPECT_EQ(reason({shift(40e-6, 10e-6), direct(60e-6, 32e-6)}),
            "shift, isend takes 40 us; direct, isend would take 60 us, 1.5 times as long; the latency of messages decides: "
            "6 messages a rank instead of 26 take 22 us less, while the same 104 kB in 3 steps instead of 1 take 2 us more");
  // A part of less than a twentieth of the difference is not told.
  EXPECT_EQ(reason({shift(40e-6, 10e-6), direct(60e-6, 30.9e-6)}),
            "shift, isend takes 40 us; direct, isend would take 60 us, 1.5 times as long; the latency of messages decides: "
            "6 messages a rank instead of 26 take 20.9 us less");
}

TEST(Reason, TheBytesDecide) {
  Ranked longer = shift(600e-6, 10e-6);
  longer.bytes = 312'500;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), longer}),
            "direct, isend takes 100 us; shift, isend would take 600 us, 6 times as long; the bytes decide: 104 kB instead of "
            "312 kB take 522 us less");
  longer.time_s = 150e-6;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), longer}),
            "direct, isend takes 100 us; shift, isend would take 150 us, 1.5 times as long; the bytes decide: 104 kB "
            "instead of 312 kB take 72 us less, while 26 messages a rank instead of 6 take 22 us more");
}

TEST(Reason, FewerMessagesMayDecideTheBytesToo) {
  Ranked more = direct(100e-6, 40e-6);
  more.messages = 2;
  Ranked less = shift(130e-6, 60e-6);
  EXPECT_EQ(reason({more, less}),
            "direct, isend takes 100 us; shift, isend would take 130 us, 1.3 times as long; the latency of messages decides: "
            "2 messages a rank instead of 6 take 20 us less, while the same 104 kB in 2 messages instead of 6 take 10 us less");
}

TEST(Reason, ABlockingRivalGoesOneByOne) {
  Ranked one_by_one = direct(500e-6, 400e-6);
  one_by_one.candidate.mode = SendMode::ssend;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), one_by_one}),
            "direct, isend takes 100 us; with ssend it would take 500 us, one message at a time");
  EXPECT_EQ(reason({one_by_one, direct(600e-6, 432e-6)}),
            "direct, ssend takes 500 us; with isend it would take 600 us, all messages of a step in flight at once");
  Ranked shifted = shift(500e-6, 400e-6);
  shifted.candidate.mode = SendMode::send;
  shifted.messages = 26;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), shifted}),
            "direct, isend takes 100 us; shift, send would take 500 us, 5 times as long; the latency of messages decides: "
            "messages in flight at once, not one by one, take 368 us less, while the same 104 kB in flight at once, not one "
            "by one, take 32 us less");
  EXPECT_EQ(reason({shifted, direct(900e-6, 432e-6)}),
            "shift, send takes 500 us; direct, isend would take 900 us, 1.8 times as long; the bytes decide: the same 104 kB "
            "by another way take 368 us less, while the way that its messages go takes 32 us less");
  EXPECT_EQ(reason({shifted, direct(900e-6, 332e-6)}),
            "shift, send takes 500 us; direct, isend would take 900 us, 1.8 times as long; the bytes decide: the same 104 kB "
            "by another way take 468 us less, while messages one by one, not in flight at once, take 68 us more");
}

TEST(Reason, WhatIsSharedTakesALargePart) {
  Ranked busy = direct(100e-6, 32e-6);
  const std::array<const char*, 8> parts{"a socket's memory",          "the link between sockets",  "a node's memory",
                                         "a node's NIC, sending",      "a node's NIC, receiving",   "a node's NIC, both ways",
                                         "the links between switches", "the links between switches"};
  for (std::size_t resource = 0; resource < parts.size(); ++resource) {
    busy.busiest = {resource, 0, 42e-6, 1.5e6};
    EXPECT_EQ(reason({busy}), std::string("direct, isend takes 100 us, 42 % of it limited by ") + parts[resource] +
                                  " (1.5 MB); nothing else was asked for");
  }
  busy.busiest.held_s = 30e-6;
  EXPECT_NE(reason({busy}).find("30 % of it"), std::string::npos);
  busy.busiest.held_s = 29e-6;
  EXPECT_EQ(reason({busy}), "direct, isend takes 100 us; nothing else was asked for");
  busy.busiest.held_s = 101e-6;
  EXPECT_NE(reason({busy}).find("100 % of it"), std::string::npos);
}

TEST(Reason, FiguresHaveThreeDigits) {
  const auto told = [](double time_s) {
    const std::string text = reason({direct(time_s, 0)});
    return text.substr(0, text.find(';')).substr(std::string("direct, isend takes ").size());
  };
  EXPECT_EQ(told(1.23456e-9), "1.23 ns");
  EXPECT_EQ(told(999.4e-9), "999 ns");
  EXPECT_EQ(told(999.6e-9), "1 us");
  EXPECT_EQ(told(999.5e-6), "1 ms");
  EXPECT_EQ(told(12.345), "12.3 s");
  EXPECT_EQ(told(1234.5), "1234 s");
}

TEST(Reason, OfWhatCannotBeToldApartNoDifferenceIsTold) {
  const std::vector<Ranked> ranked{shift(40e-6, 10e-6), direct(60e-6, 32e-6)};
  const std::string start = "shift, isend takes 40 us; direct, isend would take 60 us, ";
  const std::string untold = start + "but the 95 % intervals overlap";
  EXPECT_EQ(reason(ranked, {{30e-6, 50e-6}, {50e-6, 70e-6}}), untold);
  EXPECT_EQ(reason(ranked, {{50e-6, 70e-6}, {30e-6, 50e-6}}), untold);
  EXPECT_EQ(reason(ranked, {{30e-6, 49e-6}, {50e-6, 70e-6}}).rfind(start + "1.5 times as long", 0), 0U);
  EXPECT_EQ(reason(ranked, {{51e-6, 70e-6}, {30e-6, 50e-6}}).rfind(start + "1.5 times as long", 0), 0U);
  EXPECT_THROW((void)reason(ranked, {{0.0, 1.0}}), std::invalid_argument);
  EXPECT_EQ(reason({}), "");
}

TEST(Reason, OneMessageTakesAndALittleLongerIsNoNumber) {
  Ranked one = shift(40e-6, 10e-6);
  one.messages = 1;
  EXPECT_EQ(reason({one, direct(40.15e-6, 10.15e-6)}),
            "shift, isend takes 40 us; direct, isend would take 40.1 us, a little longer; the latency of messages decides: "
            "1 message a rank instead of 26 takes 150 ns less");
}

TEST(Reason, EqualsTakeAsLong) {
  EXPECT_EQ(reason({direct(40e-6, 10e-6), shift(40e-6, 10e-6)}), "direct, isend takes 40 us; shift, isend takes as long");
  Ranked vague = shift(40e-6, 10e-6);
  vague.low_s = 1e-6;
  EXPECT_EQ(reason({direct(40e-6, 10e-6), vague}), "direct, isend takes 40 us; shift, isend takes as long");
  vague.time_s = std::nextafter(40e-6, 1.0);
  EXPECT_EQ(reason({direct(40e-6, 10e-6), vague}), "direct, isend takes 40 us; shift, isend takes as long");
  // One that takes longer is told of first.
  Ranked comb = shift(41e-6, 11e-6);
  comb.candidate.algorithm = "comb";
  EXPECT_EQ(reason({direct(40e-6, 10e-6), shift(40e-6, 10e-6), comb}),
            "direct, isend takes 40 us; comb, isend would take 41 us, 1.02 times as long; the latency of messages decides: "
            "messages in 1 step instead of 3 take 1 us less");
  EXPECT_EQ(reason({direct(40e-6, 10e-6), direct(40.1e-6, 10e-6)}), "direct, isend takes 40 us");
}

TEST(Reason, TeamsOfAnotherSizeAreRivalsWhereThereIsNoOtherAlgorithm) {
  const auto team = [](Index c, double time_s) {
    return Ranked{{"team-shift", SendMode::isend, c}, time_s, time_s, time_s, 10e-6, 8, 96'000, 5, {}};
  };
  EXPECT_EQ(reason({team(4, 40e-6), team(2, 80e-6)}),
            "team-shift c=4, isend takes 40 us; team-shift c=2, isend would take 80 us, 2 times as long; the bytes decide: "
            "the same 96 kB by another way take 40 us less");
  EXPECT_EQ(reason({team(4, 40e-6), team(2, 80e-6), direct(90e-6, 32e-6)}),
            "team-shift c=4, isend takes 40 us; direct, isend would take 90 us, 2.25 times as long; the bytes decide: 96 kB "
            "instead of 104 kB take 28 us less, while 8 messages a rank instead of 26 take 22 us less");
}

TEST(Reason, TheOtherWayOfSendingIsToldOf) {
  Ranked blocking = direct(500e-6, 400e-6);
  blocking.candidate.mode = SendMode::ssend;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), shift(200e-6, 132e-6), blocking}),
            "direct, isend takes 100 us; shift, isend would take 200 us, 2 times as long; the latency of messages decides: "
            "messages in 1 step instead of 3 take 100 us less; with ssend it would take 500 us, one message at a time");
  EXPECT_EQ(reason({blocking, shift(700e-6, 132e-6), direct(900e-6, 32e-6)}),
            "direct, ssend takes 500 us; shift, isend would take 700 us, 1.4 times as long; the bytes decide: the same 104 "
            "kB by another way take 468 us less, while 26 messages a rank instead of 6 take 268 us more; with isend it "
            "would take 900 us, all messages of a step in flight at once");
  EXPECT_EQ(
      reason({direct(100e-6, 32e-6), shift(200e-6, 132e-6), blocking}, {{90e-6, 400e-6}, {500e-6, 600e-6}, {400e-6, 500e-6}}),
      "direct, isend takes 100 us; shift, isend would take 200 us, 2 times as long; the latency of messages decides: "
      "messages in 1 step instead of 3 take 100 us less; with ssend it would take 500 us, but the 95 % "
      "intervals overlap");
}

}  // namespace

}  // namespace rankwise
