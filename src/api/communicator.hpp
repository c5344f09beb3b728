// A private duplicate of the caller's communicator whose errors return; and one of a Cartesian communicator, with its grid.
#pragma once

#include <mpi.h>

#include "api/failure.hpp"
#include "grid/grid.hpp"

namespace rankwise::api {

class Duplicate {
 public:
  // Collective over comm, any intracommunicator. Throws Failure, alike on all ranks, where it is none. wanted: for the
  // message, what to pass.
  explicit Duplicate(MPI_Comm comm, const char* wanted = "a communicator of one group");
  ~Duplicate();
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }

  // Collective. Frees the duplicate; afterwards the object must not be used.
  void free();

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
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

// Throws Failure unless MPI is initialised and not finalised.
void require_mpi();

}  // namespace rankwise::api
