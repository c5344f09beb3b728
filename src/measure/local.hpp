// What a rank's processor and memory do by themselves, whatever the network does.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "measure/pair.hpp"

namespace rankwise {

// A fixed piece of work in registers, timed: how fast the processor is at this moment, whatever the network does.

// Time of the loop on this rank, in seconds (some 20 us): the quickest of a few, so that a preemption does not count.
[[nodiscard]] double reference_loop_s();

// Collective. On rank 0 every rank's time, elsewhere nothing; all ranks compute at the same time.
[[nodiscard]] std::vector<double> reference_loops_s(MPI_Comm comm);

// Memory bandwidth as STREAM measures it (McCalpin 1995): a[i] = b[i] + s * c[i] over arrays beyond the caches.

// Collective: all ranks at once, each on three arrays of array_bytes. On rank 0 the bytes that all ranks together moved
// each second, of each repetition (STREAM's count: 3 * array_bytes a rank, no write-allocate); elsewhere nothing.
// Throws std::invalid_argument when the arrays hold nothing.
[[nodiscard]] std::vector<double> measure_triad(MPI_Comm comm, std::size_t array_bytes, const Sampling& sampling);

}  // namespace rankwise
