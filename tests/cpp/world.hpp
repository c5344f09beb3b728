// This rank, and how many there are, in tests that CTest starts under a launcher.
#pragma once

#include <mpi.h>

namespace rankwise_test {

inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace rankwise_test
