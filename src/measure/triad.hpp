// Memory bandwidth as STREAM measures it (McCalpin 1995): a[i] = b[i] + s * c[i] over arrays beyond the caches.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "measure/pingpong.hpp"

namespace rankwise {

// Collective: all ranks at once, each on three arrays of array_bytes. On rank 0 the bytes that all ranks together moved
// each second, of each repetition (STREAM's count: 3 * array_bytes a rank, no write-allocate); elsewhere nothing.
// Throws std::invalid_argument when the arrays hold nothing.
[[nodiscard]] std::vector<double> measure_triad(MPI_Comm comm, std::size_t array_bytes, const Sampling& sampling);

}  // namespace rankwise
