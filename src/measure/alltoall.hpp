// MPI_Alltoall of all ranks, from a common start until the last rank has all its blocks.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "measure/collective.hpp"

namespace rankwise {

// Collective over comm; size_bytes is one block (what one rank has for one other). Throws std::invalid_argument when a
// rank's blocks need more than 4 GiB.
void require_alltoall(MPI_Comm comm, std::size_t size_bytes);
[[nodiscard]] TimedTogether measure_alltoall(MPI_Comm comm, std::size_t size_bytes, const Sampling& sampling);

}  // namespace rankwise
