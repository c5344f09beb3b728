// Whether the ranks of a transform get the memory that it needs.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace rankwise {

// Collective. Throws std::invalid_argument, on all ranks alike, when some node has less memory available than its ranks need
// together, of which each needs so many bytes.
void require_memory(MPI_Comm comm, double bytes);

// Collective: whether so many bytes of each rank leave at least half of the memory that is available on every node.
[[nodiscard]] bool is_little(MPI_Comm comm, std::size_t bytes);

// Collective: whether all ranks could do something.
[[nodiscard]] bool by_all(MPI_Comm comm, bool done);

}  // namespace rankwise
