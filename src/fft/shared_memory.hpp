// Memory that the ranks of a node read of each other, so that what moves between them is copied once.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rankwise {

class SharedMemory {
 public:
  // Collective. So many bytes, zeros, on this rank; null on all ranks where these do not all reach each other's memory, or where
  // any asks for more than most_bytes: beyond that large pages are worth more, which shared memory seldom has.
  [[nodiscard]] static std::unique_ptr<SharedMemory> among(MPI_Comm comm, std::size_t bytes);
  static constexpr std::size_t most_bytes = std::size_t{8} << 20;

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::byte* own() const { return ranks_[static_cast<std::size_t>(rank_)]; }
  // Some of the ranks that meet again and again, all of them in the same order of meetings.
  class Party {
   public:
    // part: ranks of the communicator that shares the memory.
    Party(SharedMemory& memory, MPI_Comm part);
    // What they have here, in their order.
    [[nodiscard]] std::byte* memory_of(std::size_t rank) const { return memory_->ranks_[ranks_[rank]]; }
    // Says that this rank has come to the next meeting. What it wrote before can be read by those that see it there.
    void arrive();
    // Whether all of them have come to this rank's last meeting.
    [[nodiscard]] bool is_complete() const;
    // Waits for that; meanwhile MPI gets on, and so do other processes on this core. Throws MpiError.
    void wait() const;

   private:
    SharedMemory* memory_;
    MPI_Comm part_;
    std::vector<std::size_t> ranks_;
  };

 private:
  // In a line of cache of its own.
  struct alignas(64) Meetings {
    std::atomic<std::uint64_t> count;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  SharedMemory(MPI_Comm comm, std::byte* all, std::size_t bytes, std::vector<std::byte*> ranks, int rank)
      : comm_(comm), all_(all), bytes_(bytes), ranks_(std::move(ranks)), rank_(rank) {}
  // Of a rank, behind the first line.
  [[nodiscard]] Meetings& meetings(std::size_t rank) const { return reinterpret_cast<Meetings*>(all_)[1 + rank]; }

  MPI_Comm comm_;
  std::byte* all_;
  std::size_t bytes_;
  std::vector<std::byte*> ranks_;
  int rank_;
};

}  // namespace rankwise
