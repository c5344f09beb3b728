// A common clock for the ranks of a communicator, and a start that all of them keep.
#pragma once

#include <mpi.h>
#include <time.h>

#include <vector>

#include "mpi/mpi.hpp"

namespace rankwise {

// Cost and resolution of steady_s on this rank, in seconds.
struct Timer {
  double cost_s = 0.0;        // median time of one call
  double resolution_s = 0.0;  // smallest step between two readings that differ
};
[[nodiscard]] Timer measure_timer();

// This rank's clock against that of rank 0: global time = clock - offset_s, within error_s. It holds for the moment: two
// hosts' clocks drift apart by microseconds a second, so synchronise anew for what lasts longer, and compare.
struct ClockOffset {
  double offset_s = 0.0;
  double error_s = 0.0;
};

using Clock = double (*)();

// Collective. Along a binary tree (Hunold & Carpen-Amarie 2018, HCA3): a rank whose offset is known exchanges readings with
// one whose is not, who keeps the quickest round trip; half of it is the error, and errors add up along the tree. An offset
// smaller than its own error is taken as zero (ranks of one host share a clock). Simulated ranks share theirs. `clock` is
// for tests of clocks that differ.
[[nodiscard]] ClockOffset synchronise(MPI_Comm comm, int round_trips = 50, Clock clock = steady_s);

// Collective. All ranks return at the same moment of the global clock, window_s after rank 0 asked for it, and get that
// moment (global time). A rank that comes late returns at once.
double start_together(MPI_Comm comm, const ClockOffset& clock, double window_s);

// Letting time pass without holding the processor.

inline void sleep_s(double seconds) {
  timespec left{};
  left.tv_sec = static_cast<time_t>(seconds);
  left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
  nanosleep(&left, nullptr);
}

}  // namespace rankwise
