// Properties that hold for every algorithm, over thousands of generated exchanges.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "../rounds.hpp"
#include "generated.hpp"
#include "schedule/check.hpp"

namespace rankwise {
namespace {

class Family : public testing::TestWithParam<std::string> {};

TEST_P(Family, DeliversEverythingOnceThereAndBackWithoutDeadlock) {
  Generator generate(2023);
  for (int i = 0; i < rankwise_test::rounds(1500, 10); ++i) {
    const ExchangeSpec spec = generate.spec(GetParam());
    const std::vector<std::string> findings = check_exchange(spec);
    ASSERT_TRUE(findings.empty()) << described(spec) << ": " << findings.front();
  }
}

TEST_P(Family, FinishesWithBufferedSendsToo) {
  Generator generate(7);
  for (int i = 0; i < rankwise_test::rounds(300, 10); ++i) {
    const ExchangeSpec spec = generate.spec(GetParam());
    ASSERT_TRUE(replay(make_schedules(spec), /*eager=*/true).waiting.empty()) << described(spec);
  }
}

// How often each operation of a rank occurs, but for what its slots are called.
std::map<std::tuple<std::size_t, Op::Kind, Index, Index, bool>, Index> tallied(const RankSchedule& schedule) {
  std::map<std::tuple<std::size_t, Op::Kind, Index, Index, bool>, Index> tally;
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const Op& op : schedule.steps[step].ops) tally[{step, op.kind, op.peer, op.blocks(), op.adds}] += op.times;
  }
  return tally;
}

TEST_P(Family, HasAsManyMessagesWhereThoseAlikeAreOne) {
  Generator generate(37);
  for (int i = 0; i < rankwise_test::rounds(300, 10); ++i) {
    const ExchangeSpec spec = generate.spec(GetParam());
    for (Index rank = 0; rank < spec.ranks(); ++rank) {
      ASSERT_EQ(tallied(make_alike(spec, rank)), tallied(make_schedule(spec, rank))) << described(spec);
      ASSERT_EQ(tallied(make_alike_reduce(spec, rank)), tallied(make_reduce(spec, rank))) << described(spec);
    }
  }
}

// Removes the n-th message: its send and its receive.
bool drop_message(std::vector<RankSchedule>& schedules, std::size_t n) {
  const Trace trace = replay(schedules, /*eager=*/false);
  std::vector<std::pair<Trace::Id, Trace::Id>> messages;
  for (const Trace::Event& event : trace.events) {
    if (event.kind == Trace::Kind::matched) messages.emplace_back(event.a, event.b);
  }
  if (messages.empty()) return false;
  const auto [send, recv] = messages[n % messages.size()];
  for (const Trace::Id id : {send, recv}) {
    const Trace::OpAt& at = trace.ops[id];
    Op& op = schedules[at.rank].steps[at.step].ops[static_cast<std::size_t>(id - at.first)];
    // The place in the step stays, for others may come after it.
    op = {Op::Kind::copy, at.rank, 0, {}, {}, op.after};
  }
  return true;
}

TEST_P(Family, NoticesEveryDroppedMessage) {
  Generator generate(11);
  int dropped = 0;
  for (int i = 0; i < rankwise_test::rounds(300, 10); ++i) {
    const ExchangeSpec spec = generate.spec(GetParam());
    std::vector<RankSchedule> schedules = make_schedules(spec);
    std::vector<RankSchedule> reduces = make_reduces(spec);
    const auto n = static_cast<std::size_t>(generate.pick(0, 1000));
    if (drop_message(schedules, n)) {
      ++dropped;
      ASSERT_FALSE(check_schedules(spec, schedules).empty()) << described(spec) << " message " << n;
    }
    if (drop_message(reduces, n)) {
      ASSERT_FALSE(check_reduces(spec, reduces).empty()) << described(spec) << " message " << n << " of the way back";
    }
  }
  EXPECT_GT(dropped, rankwise_test::rounds(300, 10) / 3);
}

TEST_P(Family, SendsAndReceivesAsManyBlocks) {
  Generator generate(13);
  for (int i = 0; i < rankwise_test::rounds(300, 10); ++i) {
    const ExchangeSpec spec = generate.spec(GetParam());
    Index sent = 0;
    Index received = 0;
    for (const RankSchedule& schedule : make_schedules(spec)) {
      for (const Op& op : schedule.ops()) {
        if (op.kind == Op::Kind::send) sent += op.blocks();
        if (op.kind == Op::Kind::recv) received += op.blocks();
        if (op.kind == Op::Kind::send || op.kind == Op::Kind::recv) {
          ASSERT_NE(op.blocks(), 0) << described(spec);
        }
      }
    }
    ASSERT_EQ(sent, received) << described(spec);
  }
}

// Where an odd ring's seam is blocked by its neighbours, a rank may stand ready to receive one step early.
TEST_P(Family, KeepsTheStepsOfAllRanksAligned) {
  Generator generate(17);
  for (int i = 0; i < 300; ++i) {
    const ExchangeSpec spec = generate.spec(GetParam());
    const std::size_t early = exchange_algorithm(GetParam()).takes_turns && is_blocking(spec.mode) ? 1 : 0;
    for (const std::vector<RankSchedule>& schedules : {make_schedules(spec), make_reduces(spec)}) {
      for (const RankSchedule& schedule : schedules) {
        ASSERT_EQ(schedule.steps.size(), schedules.front().steps.size()) << described(spec);
      }
      const Trace trace = replay(schedules, /*eager=*/false);
      for (const Trace::Event& event : trace.events) {
        if (event.kind != Trace::Kind::matched) continue;
        const auto sent = trace.ops[event.a].step;
        const auto received = trace.ops[event.b].step;
        ASSERT_LE(std::max(sent, received) - std::min(sent, received), early) << described(spec);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Family, testing::ValuesIn(algorithm_ids()), [](const auto& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Combinations, RefusesWhatMakesNoSense) {
  EXPECT_EQ(why_not("shift", SendMode::isend_self, Shell::eighth), "");
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::persistent, SendMode::isend_self}) {
    EXPECT_NE(why_not("neighbor-alltoall", mode, Shell::full), "");
  }
  EXPECT_NE(why_not("direct", SendMode::isend_self, Shell::full), "");
  EXPECT_NE(why_not("team-shift", SendMode::isend, Shell::eighth), "");
  EXPECT_THROW((void)why_not("sideways", SendMode::isend, Shell::full), std::invalid_argument);
  EXPECT_THROW((void)make_spec("shift", SendMode::isend, {4}, {true}, {1}, Shell::full, 2), std::invalid_argument);
  EXPECT_THROW((void)make_spec("team-shift", SendMode::isend, {4}, {true}, {1}, Shell::full, 0), std::invalid_argument);
  EXPECT_THROW((void)make_spec("team-shift", SendMode::isend, {2, 3}, {true, true}, {1, 1}, Shell::full, 5),
               std::invalid_argument);
  EXPECT_THROW(
      (void)make_spec("team-shift", SendMode::isend, {1 << 20}, {true}, {1}, Shell::full, 1 << 20, TeamBoxes::replicated),
      std::invalid_argument);
  EXPECT_THROW((void)parse_shell("half"), std::invalid_argument);
  EXPECT_THROW((void)parse_team_boxes("shared"), std::invalid_argument);
}

}  // namespace
}  // namespace rankwise
