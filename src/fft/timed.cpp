#include "fft/timed.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "mpi/mpi.hpp"

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
  const int rank = rank_of(comm);
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
  for_each_point(d, rank_of(comm), [&](Index at, Index x, Index y, Index z) {
    const std::complex<double> found = d.real ? std::complex<double>(reals[at]) : std::complex<double>(array[at]);
    const double difference = std::abs(found / scale - std::complex<double>(field_at<Real>(d, x, y, z)));
    worst = difference >= 0.0 ? std::max(worst, difference) : std::numeric_limits<double>::max();
  });
  return most_of(comm, worst);
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

namespace {

// How long others have had this process' processor: what it did not run for, where it was made to stop at all.
class Lost {
 public:
  [[nodiscard]] double until_now_s() const {
    return stops() == stops_ ? 0.0 : std::max(0.0, steady_s() - start_s_ - (processor_s() - processor_s_));
  }

 private:
  static long stops() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
  }
  long stops_ = stops();
  double processor_s_ = processor_s();
  double start_s_ = steady_s();
};

struct Turn {
  double time_s = 0.0;
  double lost_s = 0.0;  // of this rank
};

// Time of something collective from a barrier on, the maximum over ranks, on all ranks. Asking who had the processor takes the
// kernel a microsecond or two, which is no part of it.
Turn timed_turn(MPI_Comm comm, const std::function<void()>& work) {
  MPI_Barrier(comm);
  const Lost lost;
  const double start_s = steady_s();
  work();
  Turn found{steady_s() - start_s};
  found.lost_s = lost.until_now_s();
  MPI_Allreduce(MPI_IN_PLACE, &found.time_s, 1, MPI_DOUBLE, MPI_MAX, comm);
  return found;
}

// What a shortened transform comes to over all ranks, on all ranks: its phases and the imbalance.
std::pair<PhaseTimes, double> sum_up(MPI_Comm comm, const ShortenedTimes& own) {
  std::vector<double> mean = own.stage_s;
  mean.insert(mean.end(), {own.phases.compute_s, own.phases.shuffle_s, own.phases.exchange_s});
  std::vector<double> slowest = own.stage_s;
  const auto stages = static_cast<int>(slowest.size());
  const int size = size_of(comm);
  MPI_Allreduce(MPI_IN_PLACE, mean.data(), static_cast<int>(mean.size()), MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, slowest.data(), stages, MPI_DOUBLE, MPI_MAX, comm);
  for (double& time_s : mean) time_s /= size;
  PhaseTimes phases{mean[slowest.size()], mean[slowest.size() + 1], mean[slowest.size() + 2]};
  for (std::size_t stage = 0; stage + 1 < slowest.size(); ++stage) phases.exchange_s += slowest[stage] - mean[stage];
  return {phases, slowest.back() - mean[slowest.size() - 1]};
}

}  // namespace

template <typename Real>
TimedFft time_fft3d(MPI_Comm comm, const FftSpec& spec, Direction direction, const FftLibrary& library,
                    const Repetitions& repetitions, bool turns) {
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  const Decomposition& d = spec.decomposition;
  TimedFft result;
  double plan_s = steady_s();
  Fft3d<Real> fft(comm, spec, library);
  plan_s = steady_s() - plan_s;
  MPI_Allreduce(&plan_s, &result.plan_s, 1, MPI_DOUBLE, MPI_MAX, comm);

  const double points = static_cast<double>(d.n[0]) * static_cast<double>(d.n[1]) * static_cast<double>(d.n[2]);
  result.error_bound = error_bound<Real>(d);
  const auto check_both_ways = [&] {
    fill_field(d, rank, fft.data());
    fft.run(Direction::forward);
    const SpectrumError error = check_spectrum(comm, d, fft.output_box(), fft.data());
    fft.run(Direction::backward);
    result.spectrum_error = std::max(result.spectrum_error, error.at_points);
    result.parseval_error = std::max(result.parseval_error, error.parseval);
    result.round_trip_error = std::max(result.round_trip_error, check_field(comm, d, points, fft.data()));
  };
  check_both_ways();

  // The array is filled again each time: a transform that is repeated on its own result overflows.
  double lost_s = 0.0;
  const auto repeat = [&] {
    fill_field(d, rank, fft.data());
    if (direction == Direction::backward) fft.run(Direction::forward);
    const Turn found = timed_turn(comm, [&] { fft.run(direction); });
    lost_s = found.lost_s;
    return found.time_s;
  };
  double estimate_s = repeat();
  for (int i = 1; i < repetitions.warm_up; ++i) estimate_s = repeat();
  const auto shortened = [&] {
    fill_field(d, rank, fft.data());
    MPI_Barrier(comm);
    const Lost lost;
    const ShortenedTimes own = fft.run_shortened(direction);
    result.shortened_lost_s.push_back(lost.until_now_s());
    const auto [phases, imbalance_s] = sum_up(comm, own);
    result.shortened.push_back(phases);
    result.imbalance_s.push_back(imbalance_s);
  };
  // A turn is a transform that is not recorded, one that is, and a shortened one.
  const int count = repetitions_within(repetitions, turns ? 3.0 * estimate_s : estimate_s);
  std::vector<PhaseTimes> own;
  for (int i = 0; i < count; ++i) {
    if (turns) static_cast<void>(repeat());
    if (turns && i % 2 == 0) shortened();
    const double time_s = repeat();
    result.lost_s.push_back(lost_s);
    own.push_back(fft.phases());
    if (rank == 0) result.time_s.push_back(time_s);
    if (turns && i % 2 == 1) shortened();
  }
  for (std::vector<double>* lost : {&result.lost_s, &result.shortened_lost_s}) {
    MPI_Allreduce(MPI_IN_PLACE, lost->data(), static_cast<int>(lost->size()), MPI_DOUBLE, MPI_MAX, comm);
  }
  constexpr int phases = 3;
  static_assert(sizeof(PhaseTimes) == phases * sizeof(double));
  std::vector<PhaseTimes> all(rank == 0 ? own.size() * static_cast<std::size_t>(size) : 0);
  MPI_Gather(own.data(), count * phases, MPI_DOUBLE, all.data(), count * phases, MPI_DOUBLE, 0, comm);
  for (auto from = all.begin(); from != all.end(); from += count) result.phases.emplace_back(from, from + count);

  for (int i = 0; i < count; ++i) {
    const double exchanges_s = timed_turn(comm, [&] { fft.run_exchanges(); }).time_s;
    if (rank == 0) result.alltoall_s.push_back(exchanges_s);
  }
  std::fill_n(fft.data(), fft.array_bytes() / sizeof(std::complex<Real>), std::complex<Real>{});
  for (int i = 0; i < count; ++i) {
    const double transforms_s = timed_turn(comm, [&] { fft.run_transforms(direction); }).time_s;
    if (rank == 0) result.fft_s.push_back(transforms_s);
  }
  check_both_ways();

  std::array<unsigned long long, 2> bytes{fft.array_bytes(), fft.memory_bytes()};
  MPI_Allreduce(MPI_IN_PLACE, bytes.data(), 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, comm);
  result.array_bytes = bytes[0];
  result.memory_bytes = bytes[1];
  result.verified = std::max({result.spectrum_error, result.parseval_error, result.round_trip_error}) <= result.error_bound;
  return result;
}

template <typename Real>
TimedStages time_stages(MPI_Comm comm, const FftSpec& spec, Direction direction, const FftLibrary& library,
                        const Repetitions& repetitions) {
  Fft3d<Real> fft(comm, spec, library);
  TimedStages result;
  const auto repeat = [&] {
    std::fill_n(fft.data(), fft.array_bytes() / sizeof(std::complex<Real>), std::complex<Real>{});
    ShortenedTimes own;
    const Turn found = timed_turn(comm, [&] { own = fft.run_shortened(direction); });
    result.lost_s.push_back(found.lost_s);
    const auto [phases, imbalance_s] = sum_up(comm, own);
    result.phases.push_back(phases);
    result.imbalance_s.push_back(imbalance_s);
    return found.time_s;
  };
  static_cast<void>(repeat());
  const int count = repetitions_within(repetitions, repeat());
  result = {};
  for (int i = 0; i < count; ++i) static_cast<void>(repeat());
  MPI_Allreduce(MPI_IN_PLACE, result.lost_s.data(), count, MPI_DOUBLE, MPI_MAX, comm);
  return result;
}

template TimedStages time_stages<double>(MPI_Comm, const FftSpec&, Direction, const FftLibrary&, const Repetitions&);
template TimedStages time_stages<float>(MPI_Comm, const FftSpec&, Direction, const FftLibrary&, const Repetitions&);
template TimedFft time_fft3d<double>(MPI_Comm, const FftSpec&, Direction, const FftLibrary&, const Repetitions&, bool);
template TimedFft time_fft3d<float>(MPI_Comm, const FftSpec&, Direction, const FftLibrary&, const Repetitions&, bool);

}  // namespace rankwise
