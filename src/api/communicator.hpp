// A private duplicate of the caller's communicator whose errors return, and its Cartesian topology.
#pragma once

#include <mpi.h>

#include "api/failure.hpp"
#include "grid/grid.hpp"

namespace rankwise::api {

class Communicator {
 public:
  // Collective over cart. Throws Failure, alike on all ranks, where cart has no Cartesian topology.
  explicit Communicator(MPI_Comm cart);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const Grid& grid() const { return grid_; }

  // Collective. Frees the duplicate; afterwards the object must not be used.
  void free();

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  Grid grid_{{1}};
};

// Throws Failure unless MPI is initialised and not finalised.
void require_mpi();

}  // namespace rankwise::api
