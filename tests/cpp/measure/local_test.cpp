#include "measure/together.hpp"

#include <gtest/gtest.h>

#include "../world.hpp"

namespace rankwise {
namespace {

using rankwise_test::world_rank;
using rankwise_test::world_size;

TEST(Reference, EveryRanksLoopIsTimedAndNotOptimisedAway) {
  const std::vector<double> times_s = reference_loops_s(MPI_COMM_WORLD);
  ASSERT_EQ(times_s.size(), world_rank() == 0 ? static_cast<std::size_t>(world_size()) : 0U);
  for (const double time_s : times_s) {
    EXPECT_GT(time_s, 2e-6);  // 20000 dependent multiplications take longer on any processor
    EXPECT_LT(time_s, 0.1);
  }
}

}  // namespace
}  // namespace rankwise
