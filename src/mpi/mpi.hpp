// What all parts that call MPI share: its errors, waiting, and whether the ranks are simulated.
#pragma once

#include <mpi.h>
#include <time.h>

#include <stdexcept>
#include <string>

namespace rankwise {

// An MPI call failed (only where the communicator's error handler returns).

class MpiError : public std::runtime_error {
 public:
  explicit MpiError(int code);
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

// Throws MpiError unless the code of an MPI call says success.
void mpi(int code);

// Both throw MpiError.
[[nodiscard]] int rank_of(MPI_Comm comm);
[[nodiscard]] int size_of(MPI_Comm comm);

// Collective: rank 0's text on all ranks. Throws MpiError.
void share_text(MPI_Comm comm, std::string& text);

// Collective: whether something holds on all ranks, and the most of any rank. Both throw MpiError.
[[nodiscard]] bool by_all(MPI_Comm comm, bool holds);
[[nodiscard]] double most_of(MPI_Comm comm, double value);

// Whether the kernels are built for ranks that exist in a simulator only (SimGrid's SMPI). What is asked of MPI is the same
// there; what is asked of the system, and of the clock, has no answer.

#ifdef SMPI_H
inline constexpr bool is_simulated = true;
#else
inline constexpr bool is_simulated = false;
#endif

// Seconds by a clock that nobody sets: MPI_Wtime is the time of day in MPICH. Simulated ranks have MPI's alone.
[[nodiscard]] inline double steady_s() {
  if constexpr (is_simulated) return MPI_Wtime();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Waiting for messages.

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
