// The checker must find what is broken on purpose, and name it.
#include "schedule/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rankwise {
namespace {

ExchangeSpec ring(SendMode mode, Index ranks) { return {"shift", mode, Grid({ranks}, {true}), Window({1})}; }

bool any_contains(const std::vector<std::string>& findings, const std::string& text) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const std::string& finding) { return finding.find(text) != std::string::npos; });
}

TEST(Check, NamesTheBlockThatADroppedMessageLeavesOut) {
  const ExchangeSpec spec = ring(SendMode::isend, 4);
  std::vector<RankSchedule> schedules = make_schedules(spec);
  // Rank 1 never sends up, rank 2 never receives it.
  const auto drop = [](Step& step, Op::Kind kind, Index peer, int tag) {
    std::erase_if(step.ops, [&](const Op& op) { return op.kind == kind && op.peer == peer && op.tag == tag; });
  };
  drop(schedules[1].steps[0], Op::Kind::send, 2, 0);
  drop(schedules[2].steps[0], Op::Kind::recv, 1, 0);
  const auto findings = check_schedules(spec, schedules);
  EXPECT_TRUE(any_contains(findings, "rank 2, slot 0 misses the block of rank 1")) << findings.size();
}

TEST(Check, NamesWhoWaitsForWhomWhenAllSendFirst) {
  const ExchangeSpec spec = ring(SendMode::ssend, 4);
  std::vector<RankSchedule> schedules = make_schedules(spec);
  for (RankSchedule& schedule : schedules) {
    std::stable_sort(schedule.steps.begin(), schedule.steps.end(), [](const Step& a, const Step& b) {
      return a.ops[0].kind == Op::Kind::send && b.ops[0].kind == Op::Kind::recv;
    });
  }
  const auto findings = check_schedules(spec, schedules);
  EXPECT_TRUE(any_contains(findings,
                           "deadlock: rank 0 waits to send to rank 1 in step 0, rank 1 waits to send to "
                           "rank 2 in step 0"))
      << findings.front();
}

TEST(Check, NamesARankThatWaitsForOneThatHasFinished) {
  const ExchangeSpec spec = ring(SendMode::ssend, 2);
  std::vector<RankSchedule> schedules = make_schedules(spec);
  schedules[1].steps.clear();
  EXPECT_TRUE(any_contains(check_schedules(spec, schedules), "no partner: rank 0 waits to send to rank 1"));
}

TEST(Check, NamesASlotThatArrivesTwice) {
  const ExchangeSpec spec = ring(SendMode::isend, 3);
  std::vector<RankSchedule> schedules = make_schedules(spec);
  for (Op& op : schedules[0].steps[0].ops) {
    if (op.kind == Op::Kind::recv) op.slots = {{0, 1}};
  }
  EXPECT_TRUE(any_contains(check_schedules(spec, schedules), "receives slot 0 a second time"));
}

TEST(Check, NamesASlotThatIsSentBeforeItHasArrived) {
  const ExchangeSpec spec{"shift", SendMode::isend, Grid({5}, {true}), Window({2})};
  std::vector<RankSchedule> schedules = make_schedules(spec);
  for (RankSchedule& schedule : schedules) std::swap(schedule.steps[0], schedule.steps[1]);
  EXPECT_TRUE(any_contains(check_schedules(spec, schedules), "sends a slot that it has not received"));
}

TEST(Check, NamesWhoWaitsForWhomWhenOneRankSwapsItsOrder) {
  const ExchangeSpec spec = ring(SendMode::ssend, 6);
  std::vector<RankSchedule> schedules = make_schedules(spec);
  // Down first, while all others go up first.
  std::vector<Step>& steps = schedules[3].steps;
  std::rotate(steps.begin(), steps.begin() + 2, steps.end());
  EXPECT_TRUE(any_contains(check_schedules(spec, schedules),
                           "deadlock: rank 3 waits to receive from rank 4 in step 0, rank 4 waits to receive from "
                           "rank 3 in step 1"));
}

TEST(Check, NamesAForwardingThatDoesNotWaitForItsBlock) {
  const ExchangeSpec spec{"shift", SendMode::isend_self, Grid({7}, {true}), Window({2})};
  std::vector<RankSchedule> schedules = make_schedules(spec);
  for (Op& op : schedules[2].steps[0].ops) op.after.clear();
  EXPECT_TRUE(any_contains(check_schedules(spec, schedules), "rank 2 in step 0 receives into place"));
}

ExchangeSpec teams(Index ranks, Index replication) {
  return make_spec("team-shift", SendMode::isend, {ranks}, {true}, {2}, Shell::full, replication);
}

TEST(Check, NamesBoxesThatNeverMeet) {
  const ExchangeSpec spec = teams(8, 2);
  std::vector<RankSchedule> schedules = make_schedules(spec);
  for (Step& step : schedules[5].steps) {
    std::erase_if(step.ops, [](const Op& op) { return op.kind == Op::Kind::visit; });
  }
  EXPECT_TRUE(any_contains(check_schedules(spec, schedules), "meet 0 times, not once"));
}

TEST(Check, NamesBoxesThatMeetTwice) {
  const ExchangeSpec spec = teams(8, 2);
  std::vector<RankSchedule> schedules = make_schedules(spec);
  for (Step& step : schedules[0].steps) {
    for (std::size_t i = 0; i < step.ops.size(); ++i) {
      if (step.ops[i].kind != Op::Kind::visit) continue;
      step.ops.push_back(Op(step.ops[i]));
      break;
    }
  }
  EXPECT_TRUE(any_contains(check_schedules(spec, schedules), "meet 2 times, not once"));
}

TEST(Check, NamesAVisitOfABlockThatHasMadeRoomForAnother) {
  const ExchangeSpec spec = teams(12, 1);
  std::vector<RankSchedule> schedules = make_schedules(spec);
  // The visit of the first step takes place at the very end.
  std::vector<Step>& steps = schedules[4].steps;
  for (Step& step : steps) {
    const auto visit = std::find_if(step.ops.begin(), step.ops.end(), [](const Op& op) { return op.kind == Op::Kind::visit; });
    if (visit == step.ops.end()) continue;
    const Op late = *visit;
    step.ops.erase(visit);
    steps.push_back({{late}});
    break;
  }
  EXPECT_TRUE(any_contains(check_schedules(spec, schedules), "visits a slot that it has not received"));
}

TEST(Check, NamesAContributionThatIsLostOrAddedTwice) {
  const ExchangeSpec spec = make_spec("direct", SendMode::isend, {6}, {true}, {1}, Shell::eighth);
  std::vector<RankSchedule> schedules = make_reduces(spec);
  const auto of_kind = [](Op::Kind kind) { return [kind](const Op& op) { return op.kind == kind; }; };
  std::vector<RankSchedule> lost = schedules;
  std::erase_if(lost[2].steps[0].ops, of_kind(Op::Kind::send));
  std::erase_if(lost[3].steps[0].ops, of_kind(Op::Kind::recv));
  EXPECT_TRUE(any_contains(check_reduces(spec, lost), "rank 3 misses the contribution of rank 2, slot 1"));
  std::vector<RankSchedule> twice = schedules;
  for (const Index rank : {Index{2}, Index{3}}) {
    std::vector<Step>& steps = twice[static_cast<std::size_t>(rank)].steps;
    Step again = steps[0];
    std::erase_if(again.ops, of_kind(rank == 2 ? Op::Kind::recv : Op::Kind::send));
    steps.push_back(again);
  }
  EXPECT_TRUE(any_contains(check_reduces(spec, twice), "rank 3 gets the contribution of rank 2, slot 1 2 times"));
}

// All that is found, each in one line.
std::string all(const std::vector<std::string>& findings) {
  std::string text;
  for (const std::string& finding : findings) text += finding + ". ";
  return text;
}

TEST(Check, NamesAMessageOfAnotherSizeAndWhatItLeavesOut) {
  const ExchangeSpec spec = make_spec("shift", SendMode::isend, {3, 3}, {true, true}, {1, 1});
  std::vector<RankSchedule> schedules = make_schedules(spec);
  // Rank 5 sends two of its three blocks down to rank 2, in the second step.
  schedules[5].steps[1].ops[3].slots = {{3, 2}};
  EXPECT_EQ(all(check_schedules(spec, schedules)),
            "rank 2 in step 1 expects 3 blocks from rank 5, which sends 2. rank 2, slot 8 gets the block of rank 0, not that "
            "of rank 3. ");
}

TEST(Check, NamesAContributionThatIsAnotherRanks) {
  const ExchangeSpec spec = make_spec("direct", SendMode::isend, {6}, {true}, {1}, Shell::eighth);
  std::vector<RankSchedule> schedules = make_reduces(spec);
  for (Op& op : schedules[2].steps[0].ops) {
    if (op.kind == Op::Kind::send) op.slots = {{0, 1}};
  }
  EXPECT_EQ(all(check_reduces(spec, schedules)),
            "rank 2 in step 0 receives into place 0 while it is in use. rank 3 misses the contribution of rank 2, slot 1. "
            "rank 3 gets the contribution of rank 1, slot 1, which is not its own. rank 3 gets the contribution of rank 2, "
            "slot 0, which is not its own. ");
}

TEST(Check, NamesTheFirstOperationThatWaitsAndTenFindingsAtMost) {
  const auto op = [](Op::Kind kind, Index peer) { return Op{kind, peer, 0, {{0, 1}}, {}, {}}; };
  // Rank 0 has heard of rank 1, and never will of rank 2.
  std::vector<RankSchedule> schedules(3);
  for (RankSchedule& schedule : schedules) schedule.slots = 1;
  schedules[0].steps = {{{op(Op::Kind::recv, 1), op(Op::Kind::recv, 2)}}};
  schedules[1].steps = {{{op(Op::Kind::send, 0)}}};
  const Trace trace = replay(schedules, /*eager=*/false);
  ASSERT_EQ(trace.waiting.size(), 1U);
  EXPECT_EQ(trace.waiting[0].peer, 2);
  const ExchangeSpec spec = ring(SendMode::isend, 12);
  RankSchedule idle;
  idle.slots = 3;
  EXPECT_EQ(check_schedules(spec, std::vector<RankSchedule>(12, idle)).size(), 10U);
}

}  // namespace
}  // namespace rankwise
