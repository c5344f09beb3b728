// Memory that other processes of the same node can map. It has no name in any file system: nothing is left of it when its
// process ends, however that happens.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi/mpi.hpp"

namespace rankwise {

// Under `rankwise observe` no rank reads another's memory: it would not see what passes so.
[[nodiscard]] bool is_observed();

// What another process needs to find a segment.
struct SegmentName {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t token = 0;  // unlike that of any other segment
  std::uint64_t bytes = 0;
  bool operator==(const SegmentName&) const = default;
};

class SharedSegment {
 public:
  // Zeros. Throws std::bad_alloc.
  explicit SharedSegment(std::size_t bytes);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] const SegmentName& name() const { return name_; }

 private:
  SegmentName name_;
  std::byte* data_ = nullptr;
};

// Another process's segment, to be read.
class MappedSegment {
 public:
  // Null where this process cannot (another container, say), and where is_observed().
  [[nodiscard]] static std::shared_ptr<const MappedSegment> map(const SegmentName& name);
  MappedSegment(const std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  ~MappedSegment();
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  const std::byte* data_;
  std::size_t bytes_;
};

// The segments that the program took, by their addresses.
[[nodiscard]] std::byte* allocate_shared(std::size_t bytes);  // throws std::bad_alloc
// False where the address is not one that allocate_shared gave.
bool free_shared(void* data);
// The segment that an address lies in and how far from its beginning; a descriptor of -1: none.
struct SharedPlace {
  SegmentName segment;
  std::uint64_t offset = 0;
  bool operator==(const SharedPlace&) const = default;
};
[[nodiscard]] SharedPlace place_of(const void* data);

// How a rank waits for what other ranks of its node write into shared memory.

enum class Seen { nothing, some, all };

// Calls poll() until it has seen all: true. Not wait: only until it has seen nothing new. Meanwhile MPI gets on: another rank
// may be sending to this one before it comes here. Throws MpiError.
template <class Poll>
bool poll_until_all(MPI_Comm comm, bool wait, Poll poll) {
  // Never sleeps: a call takes longer than most exchanges.
  constexpr int most_pauses = 3000;
  for (int pauses = 0;;) {
    const Seen seen = poll();
    if (seen == Seen::all) return true;
    if (seen == Seen::some) continue;
    if (wait && ++pauses < most_pauses) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
      continue;
    }
    int is_there = 0;
    mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &is_there, MPI_STATUS_IGNORE));
    if (!wait) return false;
    sched_yield();
  }
}

}  // namespace rankwise
