#include "schedule/programs.hpp"

#include <gtest/gtest.h>

#include "schedule/check.hpp"

namespace rankwise {
namespace {

std::vector<RankSchedule> of_all(const Ingredient& one, Index ranks) {
  std::vector<RankSchedule> schedules;
  for (Index rank = 0; rank < ranks; ++rank) schedules.push_back(make_ingredient(one, rank));
  return schedules;
}

TEST(Ingredient, FinishesWhetherOrNotSendsWait) {
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::isend_self, SendMode::persistent}) {
    for (const int hops : {1, 3}) {
      for (const int width : {1, 2, 4}) {
        const Ingredient step{Ingredient::Kind::step, mode, hops, width, 0, 2};
        EXPECT_TRUE(replay(of_all(step, 3), false).waiting.empty()) << to_string(mode) << hops << width;
        EXPECT_EQ(make_ingredient(step, 2).messages_sent(), hops * width);
        EXPECT_EQ(make_ingredient(step, 1).messages_sent(), 0);
      }
      if (!is_blocking(mode)) continue;
      const Ingredient chain{Ingredient::Kind::chain, mode, hops, 1, 1, 0};
      EXPECT_TRUE(replay(of_all(chain, 2), false).waiting.empty());
      EXPECT_EQ(make_ingredient(chain, 0).messages_sent(), hops);
    }
  }
}

TEST(Ingredient, KnowsWhoseBlocksComeBack) {
  EXPECT_EQ(ingredient_origins({Ingredient::Kind::step, SendMode::isend, 3, 2}, 0), (std::vector<Index>{0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(ingredient_origins({Ingredient::Kind::chain, SendMode::send, 2, 1}, 1), (std::vector<Index>{1, 0, 0}));
  EXPECT_EQ(ingredient_origins({Ingredient::Kind::copy, SendMode::isend, 1, 2}, 1), (std::vector<Index>{1, 1, 1}));
  EXPECT_EQ(ingredient_origins({Ingredient::Kind::step, SendMode::isend, 1, 1}, 2), (std::vector<Index>{-1, -1}));
}

}  // namespace
}  // namespace rankwise
