// Real ranks under a real launcher: every schedule delivers every byte. Started by CTest with the number of ranks.
#include <gtest/gtest.h>
#include <mpi.h>

#include "exchange/timed.hpp"

namespace rankwise {
namespace {

int ranks() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void expect_verified(const ExchangeSpec& spec, std::size_t block_bytes) {
  const Repetitions few{0.01, 3, 3};
  const TimedExchange timed = run_timed(MPI_COMM_WORLD, spec, block_bytes, ClockOffset{}, few);
  EXPECT_TRUE(timed.verified) << timed.mismatch;
}

TEST(Executor, DeliversARing) {
  for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend}) {
    for (const int k : {1, 2, 4}) {
      for (const std::size_t block_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1001}, std::size_t{70000}}) {
        expect_verified({"shift", mode, Grid({ranks()}, {true}), Window({k})}, block_bytes);
        expect_verified({"shift", mode, Grid({ranks()}, {false}), Window({k})}, block_bytes);
      }
    }
  }
}

TEST(Executor, DeliversGridsOfTwoAndThreeDimensions) {
  for (const SendMode mode : {SendMode::ssend, SendMode::isend}) {
    expect_verified({"shift", mode, Grid({ranks(), 1}, {true, true}), Window({1, 2})}, 65);
    expect_verified({"shift", mode, Grid({1, ranks(), 1}, {false, true, true}), Window({1, 1, 1})}, 65);
    if (ranks() % 2 == 0) {
      expect_verified({"shift", mode, Grid({2, ranks() / 2}, {true, false}), Window({2, 1})}, 65);
    }
  }
}

TEST(Executor, RefusesAGridOfAnotherSizeOnAllRanks) {
  EXPECT_THROW(expect_verified({"shift", SendMode::isend, Grid({ranks() + 1}, {true}), Window({1})}, 8),
               std::invalid_argument);
}

TEST(Clock, RanksOfOneHostShareIt) {
  const ClockOffset clock = synchronise(MPI_COMM_WORLD, 10);
  EXPECT_EQ(clock.offset_s, 0.0);
  const double before_s = MPI_Wtime();
  const double start_s = start_together(MPI_COMM_WORLD, clock, 1e-3);
  EXPECT_GE(MPI_Wtime(), start_s);
  EXPECT_GT(start_s, before_s - 1.0);
}

}  // namespace
}  // namespace rankwise

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // One rank's story is enough, unless another one fails.
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
