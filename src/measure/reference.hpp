// A fixed piece of work in registers, timed: how fast the processor is at this moment, whatever the network does.
#pragma once

#include <mpi.h>

#include <vector>

namespace rankwise {

// Time of the loop on this rank, in seconds (some 20 us): the quickest of a few, so that a preemption does not count.
[[nodiscard]] double reference_loop_s();

// Collective. On rank 0 every rank's time, elsewhere nothing; all ranks compute at the same time.
[[nodiscard]] std::vector<double> reference_loops_s(MPI_Comm comm);

}  // namespace rankwise
