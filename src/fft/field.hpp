// A field of random numbers that every rank can tell anywhere, and the checks of a transform that follow from it.
#pragma once

#include <mpi.h>

#include <complex>

#include "fft/decomposition.hpp"

namespace rankwise {

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

}  // namespace rankwise
