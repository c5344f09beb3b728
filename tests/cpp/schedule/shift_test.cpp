#include <gtest/gtest.h>

#include <random>

#include "generated.hpp"
#include "schedule/check.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {
namespace {

ExchangeSpec shift(SendMode mode, std::vector<Index> dims, std::vector<bool> periodic, int cutoff) {
  const std::vector<int> layers(dims.size(), cutoff);
  return {"shift", mode, Grid(std::move(dims), std::move(periodic)), Window(layers)};
}

TEST(Shift, SendsTwoKMessagesAnAxisOfGrowingSize) {
  // werner2023 section 3.2: 2k messages an axis of m, (2k+1)m, (2k+1)^2 m.
  const ExchangeSpec spec = shift(SendMode::ssend, {6, 6, 6}, {true, true, true}, 2);
  const RankSchedule schedule = make_schedule(spec, 17);
  EXPECT_EQ(schedule.messages_sent(), 3 * 4);
  EXPECT_EQ(schedule.blocks_sent(), 4 * (1 + 5 + 25));
}

TEST(Shift, EvenRanksSendFirst) {
  // werner2023 Fig. 5.
  const ExchangeSpec spec = shift(SendMode::ssend, {8}, {true}, 1);
  for (Index rank = 0; rank < 8; ++rank) {
    const RankSchedule schedule = make_schedule(spec, rank);
    ASSERT_EQ(schedule.steps.size(), 4U);
    EXPECT_EQ(schedule.steps[0].ops.at(0).kind, rank % 2 == 0 ? Op::Kind::send : Op::Kind::recv) << rank;
  }
}

TEST(Shift, ARankThatIsItsOwnNeighbourCopies) {
  const RankSchedule schedule = make_schedule(shift(SendMode::isend, {1}, {true}, 3), 0);
  EXPECT_EQ(schedule.messages_sent(), 0);
}

TEST(Shift, DeliversEveryWindowOnceWithoutDeadlock) {
  std::mt19937 random(2023);
  const auto pick = [&random](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int i = 0; i < 2000; ++i) {
    const int ndim = pick(1, 3);
    std::vector<Index> dims;
    std::vector<bool> periodic;
    for (int axis = 0; axis < ndim; ++axis) {
      dims.push_back(pick(1, ndim == 1 ? 13 : 5));
      periodic.push_back(pick(0, 1) == 1);
    }
    const auto mode = static_cast<SendMode>(pick(0, 2));
    const ExchangeSpec spec = shift(mode, dims, periodic, pick(1, ndim == 1 ? 6 : 2));
    const std::vector<std::string> findings = check_schedules(spec, make_schedules(spec));
    ASSERT_TRUE(findings.empty()) << described(spec) << ": " << findings.front();
  }
}

TEST(Shift, RefusesWhatDoesNotFit) {
  EXPECT_THROW((void)Window({0}), std::invalid_argument);
  EXPECT_THROW((void)Window({}), std::invalid_argument);
  EXPECT_THROW((void)Window(std::vector<int>(3, 1 << 20)), std::invalid_argument);
  const ExchangeSpec flat{"shift", SendMode::send, Grid({4, 4}), Window({1})};
  EXPECT_THROW((void)make_schedule(flat, 0), std::invalid_argument);
  const ExchangeSpec unknown{"sideways", SendMode::send, Grid({4}), Window({1})};
  EXPECT_THROW((void)make_schedule(unknown, 0), std::invalid_argument);
  EXPECT_THROW((void)make_schedule(shift(SendMode::send, {4}, {true}, 1), 4), std::invalid_argument);
  EXPECT_THROW((void)parse_send_mode("bsend"), std::invalid_argument);
}

}  // namespace
}  // namespace rankwise
