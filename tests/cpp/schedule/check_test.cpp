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
  EXPECT_TRUE(any_contains(findings, "deadlock: rank 0 waits to send to rank 1 in step 0, rank 1 waits to send to "
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

}  // namespace
}  // namespace rankwise
