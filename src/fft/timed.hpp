// 3-D transforms as they are timed and checked.
#pragma once

#include <mpi.h>

#include <complex>
#include <cstddef>
#include <vector>

#include "exchange/timed.hpp"
#include "fft/decomposition.hpp"
#include "fft/transform.hpp"

namespace rankwise {

// A field of random numbers that every rank can tell anywhere, and the checks of a transform that follow from it.

// Writes a rank's part of the field, in natural order (padding of real lines: zeros). Values lie within -1..1.
template <typename Real>
void fill_field(const Decomposition& decomposition, Index rank, std::complex<Real>* array);

// What the spectrum of the field must be, checked against the definition of the discrete Fourier transform: at one wave
// number of each of up to eight ranks the sum over all points, and over all wave numbers Parseval's theorem.
// Errors are relative to the root mean square of the spectrum.
struct SpectrumError {
  double at_points = 0.0;  // the largest
  double parseval = 0.0;
};

// Collective. `box` is what this rank's array of the spectrum covers.
template <typename Real>
[[nodiscard]] SpectrumError check_spectrum(MPI_Comm comm, const Decomposition& decomposition, const Box& box,
                                           const std::complex<Real>* array);

// Collective. The largest difference from `scale` times the field in natural order, relative to scale.
template <typename Real>
[[nodiscard]] double check_field(MPI_Comm comm, const Decomposition& decomposition, double scale,
                                 const std::complex<Real>* array);

// The largest relative error that rounding may leave in a transform of so many points.
template <typename Real>
[[nodiscard]] double error_bound(const Decomposition& decomposition);

// Runs one 3-D transform again and again, times its phases on every rank, and checks its results.

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
