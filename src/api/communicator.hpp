// The caller's communicators: a private duplicate whose errors return, one of a Cartesian communicator with its grid, and what
// is done to one in a call.
#pragma once

#include <mpi.h>

#include <string>

#include "api/failure.hpp"
#include "grid/grid.hpp"
#include "mpi/mpi.hpp"

namespace rankwise::api {

class Duplicate {
 public:
  // Collective over comm, any intracommunicator. Throws Failure, alike on all ranks, where it is none. wanted: for the
  // message, what to pass.
  explicit Duplicate(MPI_Comm comm, const char* wanted = "a communicator of one group");

  [[nodiscard]] MPI_Comm get() const { return comm_.get(); }
  [[nodiscard]] int rank() const { return rank_; }

  // Collective. Frees the duplicate; afterwards the object must not be used.
  void free();

 private:
  OwnedComm comm_;
  int rank_ = 0;
};

class Communicator {
 public:
  // Collective over cart. Throws Failure, alike on all ranks, where cart has no Cartesian topology.
  explicit Communicator(MPI_Comm cart);

  [[nodiscard]] MPI_Comm get() const { return duplicate_.get(); }
  [[nodiscard]] int rank() const { return duplicate_.rank(); }
  [[nodiscard]] const Grid& grid() const { return grid_; }
  void free() { duplicate_.free(); }

 private:
  Duplicate duplicate_;
  Grid grid_;
};

// While it lives, errors on the caller's communicator and those made of it return.
class ErrorsReturn {
 public:
  explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
    RANKWISE_CHECKED(MPI_Comm_get_errhandler, comm, &callers_);
    RANKWISE_CHECKED(MPI_Comm_set_errhandler, comm, MPI_ERRORS_RETURN);
  }
  ~ErrorsReturn() {
    MPI_Comm_set_errhandler(comm_, callers_);
    MPI_Errhandler_free(&callers_);
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
  // A communicator that goes to the caller handles errors as the one that it was made of.
  void hand_over(MPI_Comm made) const { RANKWISE_CHECKED(MPI_Comm_set_errhandler, made, callers_); }

 private:
  MPI_Comm comm_;
  MPI_Errhandler callers_ = MPI_ERRHANDLER_NULL;
};

// A grid for readers: "4x3 (open)".
[[nodiscard]] std::string text_of(const Grid& grid);

// Throws Failure unless MPI is initialised and not finalised.
void require_mpi();
// The same, and unless the communicator is one of a single group.
void require_intra(MPI_Comm comm, const char* wanted = "one of the ranks to be arranged");

}  // namespace rankwise::api
