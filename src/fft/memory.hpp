// Whether the ranks of a transform get the memory that it needs.
#pragma once

#include <mpi.h>

#include "fft/decomposition.hpp"

namespace rankwise {

// Bytes of the largest rank's array and of the buffers that a transform needs on all ranks of this node together.
// Collective. Throws std::invalid_argument, on all ranks alike, when the node has less memory than that available.
void require_memory(MPI_Comm comm, const Decomposition& decomposition, std::size_t value_bytes);

// Collective, among ranks of one node: whether so many bytes of each leave at least half of the memory that is available.
[[nodiscard]] bool is_little(MPI_Comm comm, std::size_t bytes);

// Collective: whether all ranks could do something.
[[nodiscard]] bool by_all(MPI_Comm comm, bool done);

}  // namespace rankwise
