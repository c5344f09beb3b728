#include "decide/fft_judge.hpp"

#include <gtest/gtest.h>

#include "profile/profile.hpp"

namespace rankwise {
namespace {

using Grids = std::vector<std::array<Index, 2>>;

TEST(FftJudge, GridsLeaveNobodyIdle) {
  EXPECT_EQ(fft_grids({16, 16, 16}, 16, 4), (Grids{{4, 1}, {2, 2}, {1, 4}}));
  EXPECT_EQ(fft_grids({16, 2, 16}, 9, 4), (Grids{{2, 2}}));
  EXPECT_EQ(fft_grids({1, 1, 5}, 3, 6), Grids{});
  EXPECT_EQ(fft_grids({16, 16, 4}, 3, 4), (Grids{{4, 1}, {2, 2}}));
}

TEST(FftJudge, TakesTimeForEveryExchange) {
  const Machine machine = default_machine();
  const auto time_s = [&](std::array<Index, 2> grid, bool pairwise, double bytes) {
    const Index ranks = grid[0] * grid[1];
    return fft_exchanges_s({grid, pairwise}, bytes, Placement::blocked(ranks, ranks), machine);
  };
  for (const bool pairwise : {false, true}) {
    EXPECT_EQ(time_s({1, 1}, pairwise, 16384.0), 0.0);
    EXPECT_GT(time_s({2, 1}, pairwise, 16384.0), 0.0);
    EXPECT_GT(time_s({2, 1}, pairwise, 65536.0), time_s({2, 1}, pairwise, 16384.0));
    EXPECT_GT(time_s({2, 2}, pairwise, 16384.0), 1.5 * time_s({2, 1}, pairwise, 16384.0));  // one exchange more
  }
  EXPECT_GT(time_s({4, 1}, true, 16384.0), time_s({4, 1}, false, 16384.0));  // three steps in place of one
}

}  // namespace
}  // namespace rankwise
