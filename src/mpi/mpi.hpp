// What all parts that call MPI share: its errors, waiting, and whether the ranks are simulated.
#pragma once

#include <mpi.h>
#include <time.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

// A communicator that is freed with the object, unless MPI is over by then.
class OwnedComm {
 public:
  OwnedComm() = default;
  explicit OwnedComm(MPI_Comm comm) : comm_(comm) {}
  ~OwnedComm();
  OwnedComm(OwnedComm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  OwnedComm& operator=(OwnedComm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  // For a call that makes the communicator.
  MPI_Comm* operator&() { return &comm_; }
  [[nodiscard]] MPI_Comm get() const { return comm_; }
  explicit operator bool() const { return comm_ != MPI_COMM_NULL; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Collective: the ranks of this rank's node, in rank order. ranks_per_node: so many ranks after each other stand for a node; 0:
// nodes as MPI tells them. Throws MpiError.
[[nodiscard]] OwnedComm comm_of_node(MPI_Comm comm, int ranks_per_node = 0);

// Collective: rank 0's text on all ranks. Throws MpiError.
void share_text(MPI_Comm comm, std::string& text);

// Collective: whether something holds on all ranks, or on rank 0, and the most of any rank. All throw MpiError.
[[nodiscard]] bool by_all(MPI_Comm comm, bool holds);
[[nodiscard]] bool by_first(MPI_Comm comm, bool holds);
[[nodiscard]] double most_of(MPI_Comm comm, double value);

// Collective: the texts of all ranks on rank 0, elsewhere nothing. Throws MpiError.
[[nodiscard]] inline std::vector<std::string> gathered_texts(MPI_Comm comm, const std::string& own) {
  constexpr int tag = 8;
  if (rank_of(comm) > 0) {
    mpi(MPI_Send(own.data(), static_cast<int>(own.size()), MPI_CHAR, 0, tag, comm));
    return {};
  }
  std::vector<std::string> texts{own};
  for (int from = 1; from < size_of(comm); ++from) {
    MPI_Status status;
    int length = 0;
    mpi(MPI_Probe(from, tag, comm, &status));
    mpi(MPI_Get_count(&status, MPI_CHAR, &length));
    std::string& text = texts.emplace_back(static_cast<std::size_t>(length), ' ');
    mpi(MPI_Recv(text.data(), length, MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE));
  }
  return texts;
}

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
