#include "exchange/trial.hpp"

#include <gtest/gtest.h>

namespace rankwise {
namespace {

TEST(Trial, TakesTurnsForwardsAndBackwardsAndFindsTheMedian) {
  Trial trial(3, 11);
  EXPECT_EQ(trial.exchanges(), 9u);
  std::vector<std::size_t> order;
  for (int i = 0; !trial.is_over(); ++i) {
    order.push_back(trial.now());
    const double first = i < 3 ? 50.0 : 0.0;  // the first is left out
    trial.took(static_cast<double>(trial.now()) + first + (i >= 6 ? 0.5 : 0.0));
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 2, 1, 0, 0, 1, 2}));
  EXPECT_EQ(trial.medians(), (std::vector<double>{0.0, 1.0, 2.0}));
  EXPECT_DOUBLE_EQ(trial.spent_s(), 160.5);
}

TEST(Trial, NeedsTwoOfEach) {
  EXPECT_TRUE(Trial(3, 5).is_over());
  EXPECT_FALSE(Trial(3, 6).is_over());
  EXPECT_TRUE(Trial(1, 1000).is_over());
  EXPECT_TRUE(Trial(2, 0).is_over());
}

}  // namespace
}  // namespace rankwise
