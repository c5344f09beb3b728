// The pairwise transpose: every block from its sender to its receiver once, and the two ends of a step agree.
#include "schedule/programs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cost/walk.hpp"

namespace rankwise {
namespace {

std::vector<RankSchedule> make_transposes(Index ranks) {
  std::vector<RankSchedule> schedules;
  for (Index rank = 0; rank < ranks; ++rank) schedules.push_back(make_transpose(ranks, rank));
  return schedules;
}

TEST(Transpose, MovesEveryBlockOnceAndStepsMatch) {
  for (Index ranks = 1; ranks <= 9; ++ranks) {
    const std::vector<RankSchedule> schedules = make_transposes(ranks);
    for (Index rank = 0; rank < ranks; ++rank) {
      std::set<Index> sent, received;
      const RankSchedule& schedule = schedules[static_cast<std::size_t>(rank)];
      EXPECT_EQ(schedule.slots, 2 * ranks);
      for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
        for (const Op& op : schedule.steps[s].ops) {
          if (op.kind == Op::Kind::send) {
            EXPECT_EQ(op.slots, (std::vector<SlotRange>{{op.peer, 1}}));
            EXPECT_TRUE(sent.insert(op.peer).second);
            // The peer receives from us in the same step.
            const auto& theirs = schedules[static_cast<std::size_t>(op.peer)].steps[s].ops;
            EXPECT_TRUE(std::any_of(theirs.begin(), theirs.end(), [&](const Op& other) {
              return other.kind == Op::Kind::recv && other.peer == rank &&
                     other.slots == std::vector<SlotRange>{{ranks + rank, 1}};
            }));
          } else if (op.kind == Op::Kind::recv) {
            EXPECT_TRUE(received.insert(op.peer).second);
          } else {
            EXPECT_EQ(op.slots, (std::vector<SlotRange>{{ranks + rank, 1}}));
            EXPECT_EQ(op.source, (std::vector<SlotRange>{{rank, 1}}));
          }
        }
      }
      EXPECT_EQ(sent.size(), static_cast<std::size_t>(ranks - 1));
      EXPECT_EQ(sent, received);
    }
  }
  EXPECT_THROW((void)make_transpose(4, 4), std::invalid_argument);
}

// P - 1 steps of one message each way: (P - 1) E(m).
TEST(Transpose, CostsItsSteps) {
  const TimeCurve message({{0, 1e-6, 1e-9}});
  const TimeCurve both({{0, 2e-6, 2e-9}});
  Machine machine;
  machine.links[static_cast<std::size_t>(LinkClass::other_node)] = LinkCost{message, message, both, message, 0.0};
  const Placement placement = Placement::blocked(5, 1);
  EXPECT_NEAR(Walk(SendMode::isend, make_transposes(5)).cost_by_steps(1000, placement, machine).time_s(), 4 * (2e-6 + 2e-6),
              1e-12);
}

}  // namespace
}  // namespace rankwise
