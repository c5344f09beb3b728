#include "exchange/trial.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace rankwise {
namespace {

// Lets a trial run; each way takes what `time` says, the first exchange of a row twice as long. The ways in their turns.
std::vector<std::size_t> run(Trial& trial, const std::function<double(std::size_t)>& time) {
  std::vector<std::size_t> order;
  while (!trial.is_over()) {
    if (trial.is_round_over()) {
      trial.compare(trial.measured_s());
      continue;
    }
    const std::size_t variant = trial.now();
    const bool first = order.empty() || order.back() != variant;
    order.push_back(variant);
    trial.took(time(variant) * (first ? 2.0 : 1.0));
  }
  return order;
}

TEST(Trial, TakesTurnsForwardsAndBackwardsAndDropsTheSlow) {
  Trial trial(3, 4000);
  const std::vector<std::size_t> order = run(trial, [](std::size_t variant) {
    return variant == 0 ? 1.2 : variant == 1 ? 1.0 : 1.6;
  });
  const std::vector<std::size_t> first{0, 0, 1, 1, 2, 2, 1, 1, 1, 0, 0, 0};
  ASSERT_GE(order.size(), first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), order.begin()));
  EXPECT_EQ(std::count(order.begin(), order.end(), 2), 2);
  EXPECT_EQ(trial.best(), 1u);
  EXPECT_EQ(trial.medians(), (std::vector<double>{1.2, 1.0, 1.6}));
  EXPECT_EQ(trial.exchanges(), order.size());
}

TEST(Trial, LosesAHundredthAtMost) {
  for (const double slower : {1.0, 1.02, 1.04, 1.1, 1.3, 2.0, 4.0}) {
    Trial trial(4, 4000);
    static_cast<void>(run(trial, [&](std::size_t variant) { return variant == 2 ? 1.0 : slower; }));
    EXPECT_LE(trial.loss_s(), 40.0) << slower;
    EXPECT_TRUE(slower == 1.0 || trial.best() == 2) << slower;
  }
}

TEST(Trial, MeetingsCostToo) {
  Trial trial(2, 4000);
  std::size_t rounds = 0;
  while (!trial.is_over()) {
    while (!trial.is_round_over()) trial.took(1.0);
    trial.compare(trial.measured_s());
    trial.met(30.0);
    ++rounds;
  }
  EXPECT_EQ(rounds, 2u);  // another would pass the 40 that 4000 exchanges allow
}

TEST(Trial, OneThatIsSlowOnceStays) {
  Trial trial(2, 100000);
  std::size_t exchange = 0;
  // Something else takes the processor in the third and fourth rounds.
  static_cast<void>(run(trial, [&](std::size_t variant) {
    const bool disturbed = ++exchange > 16 && exchange < 35;
    return variant == 0 ? (disturbed ? 9.0 : 1.0) : 1.2;
  }));
  EXPECT_EQ(trial.best(), 0u);
}

TEST(Trial, WhatIsDisturbedAtFirstIsNotGivenUp) {
  Trial trial(3, 4000);
  std::size_t exchange = 0;
  static_cast<void>(run(trial, [&](std::size_t variant) { return variant == 2 ? (++exchange <= 2 ? 5000.0 : 0.5) : 1.0; }));
  EXPECT_EQ(trial.best(), 2u);
  EXPECT_LE(trial.loss_s(), 40.0);
}

TEST(Trial, IsLeftOutWhereThereIsLittleToDo) {
  EXPECT_TRUE(Trial(3, 400).is_over());
  EXPECT_FALSE(Trial(3, 450).is_over());
  EXPECT_TRUE(Trial(1, 100000).is_over());
  EXPECT_TRUE(Trial(2, 0).is_over());
}

}  // namespace
}  // namespace rankwise
