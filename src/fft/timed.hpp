// Runs one 3-D transform again and again, times its phases on every rank, and checks its results.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "exchange/timed.hpp"
#include "fft/transform.hpp"

namespace rankwise {

struct TimedFft {
  // All but `verified` and the errors on rank 0 only.
  std::vector<double> time_s;                   // each repetition, the maximum over ranks
  std::vector<std::vector<PhaseTimes>> phases;  // of each rank, each repetition
  std::vector<double> alltoall_s;               // the exchanges alone, each the maximum over ranks
  std::vector<double> fft_s;                    // the local FFTs alone, nothing moved, likewise
  // Taking turns with the repetitions, where asked for: shortened transforms. Compute and shuffle are means over ranks, exchange
  // with what the ranks wait for the slowest one's stage before it, imbalance what they wait in the end.
  std::vector<PhaseTimes> shortened;
  std::vector<double> imbalance_s;
  // Of each repetition, and of each shortened transform, the time for which another program had the processor of a rank: the
  // maximum over ranks, on all ranks.
  std::vector<double> lost_s, shortened_lost_s;
  double plan_s = 0.0;
  std::size_t array_bytes = 0;   // of the rank that has most
  std::size_t memory_bytes = 0;  // with the buffers
  double spectrum_error = 0.0, parseval_error = 0.0, round_trip_error = 0.0, error_bound = 0.0;
  bool verified = false;
};

// Collective. Before the first repetition and after the last the field's spectrum is checked, and the way back. A
// repetition is one transform in the given direction, from a barrier until the last rank has finished. Throws as Fft3d.
template <typename Real>
[[nodiscard]] TimedFft time_fft3d(MPI_Comm comm, const FftSpec& spec, Direction direction, const FftLibrary& library,
                                  const Repetitions& repetitions, bool turns = false);

// What ranks alone take for their stages of a shortened transform of a grid (FftSpec::alone), all at once: means over ranks and
// the most that a rank takes beyond them, on all ranks; array and values are as they come.
struct TimedStages {
  std::vector<PhaseTimes> phases;
  std::vector<double> imbalance_s, lost_s;
};
template <typename Real>
[[nodiscard]] TimedStages time_stages(MPI_Comm comm, const FftSpec& spec, Direction direction, const FftLibrary& library,
                                      const Repetitions& repetitions);

}  // namespace rankwise
