// How ranks of a node that read each other's memory tell each other how far they are (halo/epochs.hpp), and wait.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "halo/epochs.hpp"
#include "mpi/error.hpp"

namespace rankwise {

// What a rank shows to those that read it.
struct EpochFlags {
  alignas(64) std::atomic<std::uint64_t> ready{0};
  alignas(64) std::atomic<std::uint64_t> done{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The own flags and those of others, as Epochs asks them.
struct FlagsOfRanks {
  EpochFlags* own = nullptr;
  std::vector<const EpochFlags*> sources;
  std::vector<const EpochFlags*> readers;
  [[nodiscard]] std::uint64_t ready(std::size_t i) const { return sources[i]->ready.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t done(std::size_t i) const { return readers[i]->done.load(std::memory_order_acquire); }
  void tell_ready(std::uint64_t epoch) const { own->ready.store(epoch, std::memory_order_release); }
  void tell_done(std::uint64_t epoch) const { own->done.store(epoch, std::memory_order_release); }
};

enum class Seen { nothing, some, all };

// Calls look() until it has seen all: true. Not wait: only until it has seen nothing new. Meanwhile MPI gets on: another rank
// may be sending to this one before it comes here. Throws MpiError.
template <class Look>
bool look_until_all(MPI_Comm comm, bool wait, Look look) {
  // Never sleeps: a call takes longer than most exchanges.
  constexpr int most_pauses = 3000;
  for (int pauses = 0;;) {
    const Seen seen = look();
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

// True when all is read (read(i): source i), and all that read this rank have done so. wait: returns only then.
template <class Read>
bool advance(Epochs<FlagsOfRanks>& epochs, FlagsOfRanks& flags, MPI_Comm comm, bool wait, Read read) {
  return look_until_all(comm, wait, [&] {
    const std::size_t left = epochs.left();
    // One look at every source.
    for (std::size_t i = 0; i <= epochs.sources() && !epochs.is_over(); ++i) static_cast<void>(epochs.step(flags, read));
    return epochs.is_over() ? Seen::all : epochs.left() != left ? Seen::some : Seen::nothing;
  });
}

}  // namespace rankwise
