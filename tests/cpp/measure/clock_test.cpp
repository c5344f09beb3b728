#include "measure/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../world.hpp"

namespace rankwise {
namespace {

using rankwise_test::world_rank;

// Ranks of one host share a clock: here each has one of its own, seconds away from the others' and of another speed.
double skewed_clock() { return steady_s() * (1 + 1e-6 * world_rank()) + 3.7 * world_rank(); }

TEST(Clock, SkewedClocksAreBroughtTogetherWithinTheReportedError) {
  const ClockOffset found = synchronise(MPI_COMM_WORLD, 50, skewed_clock);
  if (world_rank() > 0) {
    const double true_offset_s = 3.7 * world_rank() + 1e-6 * world_rank() * steady_s();
    // The other speed moves the offset by 1 us a second and rank, and far less than a second passes.
    EXPECT_LE(std::abs(found.offset_s - true_offset_s), found.error_s + 1e-6 * world_rank());
  }
  if (world_rank() == 0) {
    EXPECT_EQ(found.error_s, 0.0);
  } else {
    EXPECT_GT(found.error_s, 0.0);
    EXPECT_LT(found.error_s, 1.0);  // three levels of a tree: far below what the clocks were apart
  }
}

TEST(Clock, RanksOfOneHostAreSeenToShareTheirs) { EXPECT_EQ(synchronise(MPI_COMM_WORLD).offset_s, 0.0); }

TEST(Clock, AllStartAtTheSameMoment) {
  const ClockOffset clock = synchronise(MPI_COMM_WORLD);
  const double start_s = start_together(MPI_COMM_WORLD, clock, 1e-3);
  EXPECT_GE(steady_s() - clock.offset_s, start_s);
  double earliest_s = 0.0;
  double latest_s = 0.0;
  MPI_Allreduce(&start_s, &earliest_s, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&start_s, &latest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(earliest_s, latest_s);
}

}  // namespace
}  // namespace rankwise
