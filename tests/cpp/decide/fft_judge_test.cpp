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
    return fft_exchanges_s({grid, pairwise ? FftMessages::pairwise : FftMessages::at_once}, bytes, Placement::blocked(ranks, ranks), machine);
  };
  for (const bool pairwise : {false, true}) {
    EXPECT_EQ(time_s({1, 1}, pairwise, 16384.0), 0.0);
    EXPECT_GT(time_s({2, 1}, pairwise, 16384.0), 0.0);
    EXPECT_GT(time_s({2, 1}, pairwise, 65536.0), time_s({2, 1}, pairwise, 16384.0));
    EXPECT_GT(time_s({2, 2}, pairwise, 16384.0), 1.5 * time_s({2, 1}, pairwise, 16384.0));  // one exchange more
  }
  EXPECT_GT(time_s({4, 1}, true, 16384.0), time_s({4, 1}, false, 16384.0));  // three steps in place of one
}

TEST(FftJudge, SlicesHideWorkBetweenNodesOnly) {
  const Machine machine = default_machine();
  const auto time_s = [&](Index chunks, Index per_node, double local_s) {
    return fft_s({{4, 1}, FftMessages::at_once, chunks}, 4e6, local_s, Placement::blocked(4, per_node), machine);
  };
  EXPECT_LT(time_s(8, 1, 2e-3), time_s(1, 1, 2e-3));
  EXPECT_GE(time_s(8, 4, 2e-3), time_s(1, 4, 2e-3));
  EXPECT_GE(time_s(8, 1, 0.0), time_s(1, 1, 0.0));  // more messages, nothing to hide
}

TEST(FftJudge, BatchesSaveMessagesAndHideBetweenNodes) {
  const Machine machine = default_machine();
  FftExchanges way{.grid = {2, 1}, .batch = 5};
  const auto time_s = [&](Index together, Index in_flight, Index per_node, double local_s) {
    way.together = together;
    way.in_flight = in_flight;
    return fft_s(way, 16384.0, local_s, Placement::blocked(2, per_node), machine);
  };
  const double one_s = time_s(1, 1, 2, 0.0) / 5;
  const double two_s = fft_exchanges_s({.grid = {2, 1}}, 32768.0, Placement::blocked(2, 2), machine);
  EXPECT_NEAR(time_s(2, 1, 2, 0.0), 2 * two_s + one_s, 1e-12);  // two groups of two, one left over
  EXPECT_LT(two_s, 2 * one_s);
  EXPECT_LT(time_s(5, 1, 2, 1e-4), time_s(1, 1, 2, 1e-4));
  EXPECT_EQ(time_s(8, 1, 2, 1e-4), time_s(5, 1, 2, 1e-4));
  EXPECT_EQ(time_s(1, 2, 2, 1e-4), time_s(1, 1, 2, 1e-4));  // on one node nothing is hidden
  // Between nodes all but one of five: the smaller of the two, here the local work.
  EXPECT_NEAR(time_s(1, 1, 1, 1e-7) - time_s(1, 2, 1, 1e-7), 4e-7, 1e-12);
  way.passes = 2;
  EXPECT_NEAR(time_s(1, 1, 2, 0.0), 10 * one_s, 1e-12);
}

TEST(FftJudge, ByNodeSavesMessagesWhereTheyAreShort) {
  const Machine machine = default_machine();
  const auto time_s = [&](FftMessages messages, double bytes) {
    return fft_exchanges_s({{16, 1}, messages}, bytes, Placement::blocked(16, 8), machine);
  };
  EXPECT_LT(time_s(FftMessages::by_node, 512.0), time_s(FftMessages::pairwise, 512.0));
  EXPECT_GT(time_s(FftMessages::by_node, 4e6), time_s(FftMessages::at_once, 4e6));
}

}  // namespace
}  // namespace rankwise
