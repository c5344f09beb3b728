// Runs the tests on all ranks of MPI_COMM_WORLD. Rank 0 tells the story; the others tell only what fails on them.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

namespace {

class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override { test_ = &test; }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s.%s failed at %s:%d\n%s\n", rank_, test_->test_suite_name(), test_->name(),
                 result.file_name() == nullptr ? "?" : result.file_name(), result.line_number(), result.message());
  }
  int rank_;
  const testing::TestInfo* test_ = nullptr;  // the library holds a lock while it tells a failure: it cannot be asked then
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly(rank));
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
