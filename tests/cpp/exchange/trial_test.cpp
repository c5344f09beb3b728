#include "exchange/trial.hpp"

#include <gtest/gtest.h>

namespace rankwise {
namespace {

TEST(Trial, TakesTurnsForwardsAndBackwardsAndFindsTheMedian) {
  Trial trial(2, 17);
  EXPECT_EQ(trial.exchanges(), 16u);
  std::vector<std::size_t> order;
  for (int i = 0; !trial.is_over(); ++i) {
    order.push_back(trial.now());
    trial.took(static_cast<double>(trial.now()) + (i % 4 == 0 ? 50.0 : i > 12 ? 0.5 : 0.0));  // the first of four is left out
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(trial.medians(), (std::vector<double>{0.0, 1.0}));
  EXPECT_DOUBLE_EQ(trial.spent_s(), 8.0 + 200.0 + 1.5);
  Trial brief(3, 10);
  for (order.clear(); !brief.is_over(); brief.took(1.0)) order.push_back(brief.now());
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
}

TEST(Trial, NeedsTwoOfEach) {
  EXPECT_TRUE(Trial(3, 5).is_over());
  EXPECT_FALSE(Trial(3, 6).is_over());
  EXPECT_TRUE(Trial(1, 1000).is_over());
  EXPECT_TRUE(Trial(2, 0).is_over());
}

}  // namespace
}  // namespace rankwise
