// A common clock for the ranks of a communicator, and a start that all of them keep.
#pragma once

#include <mpi.h>

#include <vector>

namespace rankwise {

// Cost and resolution of MPI_Wtime on this rank, in seconds.
struct Timer {
  double cost_s = 0.0;        // median time of one call
  double resolution_s = 0.0;  // smallest step between two readings that differ
};
[[nodiscard]] Timer measure_timer();

// This rank's clock against that of rank 0: global time = MPI_Wtime() - offset_s, within error_s.
struct ClockOffset {
  double offset_s = 0.0;
  double error_s = 0.0;
};

// Collective. Rank 0 exchanges readings with every other rank in turn and keeps the quickest round trip; an offset
// smaller than its own error is taken as zero (ranks of one host share a clock), as are all where MPI calls its clock global.
[[nodiscard]] ClockOffset synchronise(MPI_Comm comm, int round_trips = 50);

// Collective. All ranks return at the same moment of the global clock, window_s after rank 0 asked for it, and get that
// moment (global time). A rank that comes late returns at once.
double start_together(MPI_Comm comm, const ClockOffset& clock, double window_s);

}  // namespace rankwise
