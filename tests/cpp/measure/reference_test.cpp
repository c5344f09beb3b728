#include "measure/reference.hpp"

#include <gtest/gtest.h>

namespace rankwise {
namespace {

TEST(Reference, EveryRanksLoopIsTimedAndNotOptimisedAway) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::vector<double> times_s = reference_loops_s(MPI_COMM_WORLD);
  ASSERT_EQ(times_s.size(), rank == 0 ? static_cast<std::size_t>(size) : 0U);
  for (const double time_s : times_s) {
    EXPECT_GT(time_s, 2e-6);  // 20000 dependent multiplications take longer on any processor
    EXPECT_LT(time_s, 0.1);
  }
}

}  // namespace
}  // namespace rankwise
