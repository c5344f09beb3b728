#include "fft/field.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace rankwise {

namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
double random_at(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<double>(static_cast<std::int64_t>(z ^ (z >> 31U))) * 0x1p-63;
}

template <typename Real>
std::complex<Real> field_at(const Decomposition& d, Index x, Index y, Index z) {
  const auto index = static_cast<std::uint64_t>((x * d.n[1] + y) * d.n[2] + z);
  if (d.real) return {static_cast<Real>(random_at(2 * index)), Real{0}};
  return {static_cast<Real>(random_at(2 * index)), static_cast<Real>(random_at(2 * index + 1))};
}

// Calls visit(value's index in the array in units of its own kind, x, y, z) for the points in natural order.
template <typename Visit>
void for_each_point(const Decomposition& d, Index rank, Visit visit) {
  const Box box = d.natural(rank);
  const Index line = d.real ? 2 * d.complex_points() : d.n[2];
  for (Index x = 0; x < box[0].count; ++x) {
    for (Index y = 0; y < box[1].count; ++y) {
      for (Index z = 0; z < d.n[2]; ++z) {
        visit((x * box[1].count + y) * line + z, box[0].first + x, box[1].first + y, z);
      }
    }
  }
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

using Phases = std::vector<std::complex<double>>;

// exp(-2 pi i k j / n) of all j.
Phases wave(Index n, Index k) {
  Phases phases;
  for (Index j = 0; j < n; ++j) {
    phases.push_back(std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n)));
  }
  return phases;
}

}  // namespace

template <typename Real>
void fill_field(const Decomposition& d, Index rank, std::complex<Real>* array) {
  auto* const reals = reinterpret_cast<Real*>(array);
  if (d.real) std::fill_n(reals, 2 * volume(d.natural(rank)), Real{0});
  for_each_point(d, rank, [&](Index at, Index x, Index y, Index z) {
    if (d.real) {
      reals[at] = field_at<Real>(d, x, y, z).real();
    } else {
      array[at] = field_at<Real>(d, x, y, z);
    }
  });
}

template <typename Real>
SpectrumError check_spectrum(MPI_Comm comm, const Decomposition& d, const Box& box, const std::complex<Real>* array) {
  const int rank = rank_in(comm);
  const double points = static_cast<double>(d.n[0]) * static_cast<double>(d.n[1]) * static_cast<double>(d.n[2]);
  double energy[2] = {0.0, 0.0};  // of the field and of the spectrum
  // Line by line, so that rounding grows with the lines and the points of a line, not with all points.
  double of_line = 0.0;
  for_each_point(d, rank, [&](Index, Index x, Index y, Index z) {
    of_line += std::norm(field_at<double>(d, x, y, z));
    if (z + 1 < d.n[2]) return;
    energy[0] += of_line;
    of_line = 0.0;
  });
  for (Index line = 0; line < box[0].count * box[1].count; ++line) {
    of_line = 0.0;
    for (Index i = 0; i < box[2].count; ++i) {
      // Of a real field's spectrum half is not stored: it is the conjugate of the rest.
      const Index kz = box[2].first + i;
      const bool twice = d.real && kz != 0 && 2 * kz != d.n[2];
      of_line += (twice ? 2.0 : 1.0) * std::norm(std::complex<double>(array[line * box[2].count + i]));
    }
    energy[1] += of_line;
  }
  MPI_Allreduce(MPI_IN_PLACE, energy, 2, MPI_DOUBLE, MPI_SUM, comm);
  SpectrumError error;
  error.parseval = std::abs(energy[1] / (points * energy[0]) - 1.0);
  const double scale = std::sqrt(energy[0]);

  for (Index owner = 0; owner < std::min<Index>(8, d.ranks()); ++owner) {
    const bool mine = owner == rank && volume(box) > 0;  // of an empty box, the sum at 0, 0, 0 is compared with nothing
    Index k[3] = {0, 0, 0};
    std::complex<double> found;
    if (mine) {
      // A place in the box that is on no edge and differs from rank to rank.
      Index at = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const Index inside = (2 * box[axis].count / 3 + owner) % box[axis].count;
        k[axis] = box[axis].first + inside;
        at = at * box[axis].count + inside;
      }
      found = array[at];
    }
    MPI_Bcast(k, 3, MPI_INT64_T, static_cast<int>(owner), comm);
    const Phases wave0 = wave(d.n[0], k[0]);
    const Phases wave1 = wave(d.n[1], k[1]);
    const Phases wave2 = wave(d.n[2], k[2]);
    std::complex<double> sum, line;
    for_each_point(d, rank, [&](Index, Index x, Index y, Index z) {
      line += field_at<double>(d, x, y, z) * wave2[static_cast<std::size_t>(z)];
      if (z + 1 < d.n[2]) return;
      sum += line * wave0[static_cast<std::size_t>(x)] * wave1[static_cast<std::size_t>(y)];
      line = 0.0;
    });
    MPI_Allreduce(MPI_IN_PLACE, &sum, 2, MPI_DOUBLE, MPI_SUM, comm);
    double difference = mine ? std::abs(found - sum) / scale : 0.0;
    MPI_Bcast(&difference, 1, MPI_DOUBLE, static_cast<int>(owner), comm);
    // A not-a-number must not look like no error.
    error.at_points = difference >= 0.0 ? std::max(error.at_points, difference) : std::numeric_limits<double>::max();
  }
  if (!(error.parseval >= 0.0)) error.parseval = std::numeric_limits<double>::max();
  return error;
}

template <typename Real>
double check_field(MPI_Comm comm, const Decomposition& d, double scale, const std::complex<Real>* array) {
  const auto* const reals = reinterpret_cast<const Real*>(array);
  double worst = 0.0;
  for_each_point(d, rank_in(comm), [&](Index at, Index x, Index y, Index z) {
    const std::complex<double> found = d.real ? std::complex<double>(reals[at]) : std::complex<double>(array[at]);
    const double difference = std::abs(found / scale - std::complex<double>(field_at<Real>(d, x, y, z)));
    worst = difference >= 0.0 ? std::max(worst, difference) : std::numeric_limits<double>::max();
  });
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, comm);
  return worst;
}

template <typename Real>
double error_bound(const Decomposition& d) {
  // Besides, Parseval's sums over lines lose digits with the square root of their number. The error of an FFT grows like the logarithm of its length; primes go through Bluestein's or Rader's method, which
  // cost some digits more. A wrong value differs by about 1.
  const double points = static_cast<double>(d.n[0]) * static_cast<double>(d.n[1]) * static_cast<double>(d.n[2]);
  return 40.0 * std::numeric_limits<Real>::epsilon() * std::max(1.0, std::log2(points));
}

template void fill_field(const Decomposition&, Index, std::complex<double>*);
template void fill_field(const Decomposition&, Index, std::complex<float>*);
template SpectrumError check_spectrum(MPI_Comm, const Decomposition&, const Box&, const std::complex<double>*);
template SpectrumError check_spectrum(MPI_Comm, const Decomposition&, const Box&, const std::complex<float>*);
template double check_field(MPI_Comm, const Decomposition&, double, const std::complex<double>*);
template double check_field(MPI_Comm, const Decomposition&, double, const std::complex<float>*);
template double error_bound<double>(const Decomposition&);
template double error_bound<float>(const Decomposition&);

}  // namespace rankwise
