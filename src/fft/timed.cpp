#include "fft/timed.hpp"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "fft/field.hpp"

namespace rankwise {

namespace {

// How long others have had this process' processor: what it did not run for, where it was made to stop at all.
class Lost {
 public:
  [[nodiscard]] double until_now_s() const {
    return stops() == stops_ ? 0.0 : std::max(0.0, MPI_Wtime() - start_s_ - (processor_s() - processor_s_));
  }

 private:
  static double processor_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  static long stops() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
  }
  long stops_ = stops();
  double processor_s_ = processor_s();
  double start_s_ = MPI_Wtime();
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
  const double start_s = MPI_Wtime();
  work();
  Turn found{MPI_Wtime() - start_s};
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
  int size = 1;
  MPI_Comm_size(comm, &size);
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
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const Decomposition& d = spec.decomposition;
  TimedFft result;
  double plan_s = MPI_Wtime();
  Fft3d<Real> fft(comm, spec, library);
  plan_s = MPI_Wtime() - plan_s;
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

  // The array is filled anew each time: a transform that is repeated on its own result overflows.
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
