// Waiting for messages.
#pragma once

#include <mpi.h>

#include "mpi/error.hpp"
#include "mpi/simulated.hpp"

namespace rankwise {

// Waits until all requests are complete. Asks for a while by testing, and only then by waiting: MPICH's waiting calls
// take more than twice as long as its testing calls until they notice a small message. Throws MpiError.
inline void wait_all(int count, MPI_Request* requests) {
  // Some tens of microseconds: long enough for small messages, and little for a rank that should give up its core. In a
  // simulator every test takes simulated time.
  constexpr int most_tests = is_simulated ? 0 : 64;
  for (int i = 0; i < most_tests; ++i) {
    int done = 0;
    mpi(MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE));
    if (done != 0) return;
  }
  mpi(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

}  // namespace rankwise
