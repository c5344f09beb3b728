// Memory that other processes map: found by what its owner tells, without a name that could be left behind.
#include "exchange/shared_memory.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "../world.hpp"

namespace rankwise {
namespace {

using rankwise_test::world_rank;
using rankwise_test::world_size;

TEST(SharedMemory, OtherRanksSeeWhatIsWritten) {
  std::byte* own = allocate_shared(5000);
  std::memset(own, world_rank() + 1, 5000);
  SharedPlace place = place_of(own + 4999);
  EXPECT_EQ(place.offset, 4999u);
  EXPECT_LT(place_of(own + 5000).segment.descriptor, 0);
  const int next = (world_rank() + 1) % world_size();
  const int before = (world_rank() + world_size() - 1) % world_size();
  SharedPlace theirs;
  MPI_Sendrecv(&place, sizeof place, MPI_BYTE, next, 0, &theirs, sizeof theirs, MPI_BYTE, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  auto mapped = MappedSegment::map(theirs.segment);
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(mapped->data()[theirs.offset], static_cast<std::byte>(before + 1));
  SegmentName wrong = theirs.segment;
  ++wrong.token;
  EXPECT_EQ(MappedSegment::map(wrong), nullptr);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(free_shared(own));
  EXPECT_FALSE(free_shared(own));
  EXPECT_EQ(mapped->data()[0], static_cast<std::byte>(before + 1));  // as long as anybody reads it
}

// A process that is killed while it holds some.
TEST(SharedMemory, NothingIsLeftOfAProcessThatIsKilled) {
  if (world_rank() != 0) return;
  const auto names = [] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      count += entry.path().filename().string().find("rankwise") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  const int before = names();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const SegmentName name = place_of(allocate_shared(1 << 16)).segment;
    if (write(ends[1], &name, sizeof name) != static_cast<ssize_t>(sizeof name)) _exit(1);
    pause();
    _exit(1);
  }
  SegmentName name;
  ASSERT_EQ(read(ends[0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
  EXPECT_NE(MappedSegment::map(name), nullptr);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(MappedSegment::map(name), nullptr);
  EXPECT_EQ(names(), before);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace rankwise
