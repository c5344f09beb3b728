// How a rank waits for what other ranks of its node write into shared memory.
#pragma once

#include <mpi.h>
#include <sched.h>

#include "mpi/error.hpp"

namespace rankwise {

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

}  // namespace rankwise
