#include "measure/together.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "grid/names.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

TimedTogether time_together(MPI_Comm comm, const Sampling& sampling, const std::function<void()>& work,
                            const CheckedRound& checked_round, From from) {
  const int rank = rank_of(comm);
  const ClockOffset clock = synchronise(comm);
  // Long enough for the broadcast of the start to reach everybody; doubled whenever somebody was late in the warm-up.
  double window_s = 30e-6;
  bool sampled = false;
  std::vector<double> started_s;
  std::vector<double> ended_s;
  const auto one = [&] {
    MPI_Barrier(comm);
    const double start_s = start_together(comm, clock, window_s);
    const double begun_s = steady_s() - clock.offset_s;
    work();
    const double end_s = steady_s() - clock.offset_s;
    started_s.push_back(std::max(start_s, begun_s));
    ended_s.push_back(end_s);
    return std::pair{begun_s - start_s, end_s - begun_s};
  };
  const auto warm = [&](unsigned number) {
    const double before_s = steady_s();
    const bool arrived = checked_round(number);
    const bool dear = by_first(comm, steady_s() - before_s >= sampling.budget_s);
    if (sampled || dear) return arrived;  // late ranks are little against what takes so long
    const double late_s = most_of(comm, one().first);
    if (late_s > 1e-6) window_s = std::min(window_s * 2, 1e-3);
    return arrived;
  };
  TimedTogether timed;
  timed.samples = take_samples(
      comm, sampling,
      [&] {
        sampled = true;
        return one().second + window_s;
      },
      warm);
  // The last of all that were taken are the samples; the others were warm-up.
  const auto count = static_cast<std::ptrdiff_t>(timed.samples.time_s.size());
  started_s.erase(started_s.begin(), started_s.end() - count);
  ended_s.erase(ended_s.begin(), ended_s.end() - count);
  const auto over_ranks = [&](std::vector<double>& values, MPI_Op operation) {
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values.data(), values.data(), static_cast<int>(count), MPI_DOUBLE, operation, 0,
               comm);
  };
  over_ranks(started_s, from == From::first_start ? MPI_MIN : MPI_MAX);
  over_ranks(ended_s, MPI_MAX);
  for (std::size_t i = 0; i < timed.samples.time_s.size(); ++i) {
    timed.samples.time_s[i] = std::max(ended_s[i] - started_s[i], 1e-9);
  }
  const ClockOffset after = synchronise(comm);
  const double own_s = rank == 0 ? 0.0 : std::max(clock.error_s, after.error_s) + std::abs(after.offset_s - clock.offset_s);
  MPI_Reduce(&own_s, &timed.clock_error_s, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
  return timed;
}

void require_alltoall(MPI_Comm comm, std::size_t size_bytes) {
  require_size(size_bytes);
  const int ranks = size_of(comm);
  constexpr std::size_t limit = std::size_t{4} << 30;
  if (size_bytes > limit / static_cast<std::size_t>(ranks)) {
    throw std::invalid_argument("blocks of " + std::to_string(size_bytes) + " B for " + std::to_string(ranks) +
                                " ranks need more than 4 GiB: choose a smaller size");
  }
}

TimedTogether measure_alltoall(MPI_Comm comm, std::size_t size_bytes, const Sampling& sampling) {
  require_alltoall(comm, size_bytes);
  const int rank = rank_of(comm);
  const int ranks = size_of(comm);
  AllToAllBlocks blocks(rank, ranks, size_bytes);
  const auto work = [&] {
    const int count = static_cast<int>(size_bytes);
    MPI_Alltoall(blocks.out(), count, MPI_BYTE, blocks.in(), count, MPI_BYTE, comm);
  };
  const auto checked = [&](unsigned number) {
    blocks.fill(number);
    work();
    return blocks.missing(number) < 0;
  };
  return time_together(comm, sampling, work, checked);
}

Start parse_start(const std::string& name) {
  return parsed(std::array<Name<Start>, 2>{{{"clock", Start::clock}, {"barrier", Start::barrier}}}, name, "start");
}

int repetitions_within(const Repetitions& repetitions, double estimate_s) {
  const double count = repetitions.budget_s / std::max(estimate_s, 1e-9);
  const double least = std::min<double>(repetitions.least, std::max(10 * count, 5.0));
  return static_cast<int>(std::clamp(count, least, static_cast<double>(repetitions.most)));
}

void require_sensible(const Repetitions& repetitions) {
  if (repetitions.least < 1 || repetitions.most < repetitions.least || repetitions.warm_up < 0 ||
      !(repetitions.budget_s > 0.0) || !(repetitions.window_s > 0.0)) {
    throw std::invalid_argument("--budget-s and --window-s must be positive, 1 <= --least <= --most and 0 <= --warm-up");
  }
}

Timed time_repetitions(MPI_Comm comm, const ClockOffset& clock, const Repetitions& repetitions, const Repeated& repeated) {
  const int rank = rank_of(comm);
  double window_s = repetitions.window_s;
  std::vector<double> started_s;
  std::vector<double> ended_s;
  const auto repeat = [&](std::uint64_t number) {
    repeated.prepare(number);
    // Preparing and checking take their time on each rank: meet first, so that the window is only the broadcast's.
    MPI_Barrier(comm);
    if (repetitions.start == Start::barrier) {
      const double left_s = steady_s();
      repeated.run();
      ended_s.push_back(steady_s() - left_s);
      started_s.push_back(0.0);
      repeated.check(number);
      return 0.0;
    }
    const double start_s = start_together(comm, clock, window_s);
    const double begun_s = steady_s() - clock.offset_s;
    repeated.run();
    const double end_s = steady_s() - clock.offset_s;
    started_s.push_back(std::max(start_s, begun_s));
    ended_s.push_back(end_s);
    repeated.check(number);
    return begun_s - start_s;
  };

  constexpr double widest_s = 1e-3;
  const bool estimates = repetitions.least < repetitions.most;
  const auto warm_up = static_cast<std::uint64_t>(std::max(estimates ? 1 : 0, repetitions.warm_up));
  for (std::uint64_t number = 0; number < warm_up; ++number) {
    const double late_s = most_of(comm, repeat(number));
    if (late_s > 1e-6) window_s = std::max(window_s, std::min(window_s * 2, widest_s));
  }
  int count = repetitions.least;
  if (estimates) {
    count = repetitions_within(repetitions, ended_s.back() - started_s.back() + window_s);
    MPI_Bcast(&count, 1, MPI_INT, 0, comm);
  }
  started_s.clear();
  ended_s.clear();
  std::vector<double> late_s;
  for (int i = 0; i < count; ++i) late_s.push_back(repeat(warm_up + static_cast<std::uint64_t>(i)));

  // A repetition lasts from when the last rank began (normally the common start) until the last rank ended.
  const auto over_ranks = [&](std::vector<double>& values) {
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values.data(), values.data(), count, MPI_DOUBLE, MPI_MAX, 0, comm);
  };
  over_ranks(started_s);
  over_ranks(ended_s);
  over_ranks(late_s);
  Timed timed;
  if (rank == 0) {
    for (std::size_t i = 0; i < started_s.size(); ++i) {
      timed.time_s.push_back(ended_s[i] - started_s[i]);
      timed.late += late_s[i] > 1e-6 ? 1 : 0;
    }
  }
  return timed;
}

double reference_loop_s() {
  // Each step needs the one before: neither the compiler nor the processor can shorten or overlap them. The work must
  // never change, or profiles of before and after could not be compared.
  constexpr int steps = 20000;
  constexpr int repetitions = 3;
  static volatile std::uint64_t sink = 1;
  double quickest_s = std::numeric_limits<double>::max();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::uint64_t state = sink | 1U;
    const double start_s = steady_s();
    for (int i = 0; i < steps; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
    sink = state;
    quickest_s = std::min(quickest_s, steady_s() - start_s);
  }
  return quickest_s;
}

std::vector<double> reference_loops_s(MPI_Comm comm) {
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  MPI_Barrier(comm);
  const double own_s = reference_loop_s();
  std::vector<double> all_s(rank == 0 ? static_cast<std::size_t>(size) : 0);
  MPI_Gather(&own_s, 1, MPI_DOUBLE, all_s.data(), 1, MPI_DOUBLE, 0, comm);
  return all_s;
}

std::vector<double> measure_triad(MPI_Comm comm, std::size_t array_bytes, const Sampling& sampling) {
  const std::size_t n = array_bytes / sizeof(double);
  if (n == 0) throw std::invalid_argument("the arrays of a triad hold nothing: give them some MiB");
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  std::vector<double> a(n, 0.0), b(n, 1.0), c(n, 2.0);
  std::vector<double> rates;
  double spent_s = 0.0;
  constexpr int warm_up = 1;
  int done = 0;
  // The factor changes so that no repetition can be left out.
  for (double factor = 1.0; done < sampling.most + warm_up; factor += 1.0) {
    MPI_Barrier(comm);
    const double start_s = steady_s();
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + factor * c[i];
    const double time_s = most_of(comm, steady_s() - start_s);
    if (a[n / 2] != 1.0 + 2.0 * factor) throw std::runtime_error("the triad computed something else");
    if (++done <= warm_up) continue;
    spent_s += time_s;
    if (rank == 0) rates.push_back(3.0 * static_cast<double>(n * sizeof(double)) * size / time_s);
    if (spent_s > sampling.budget_s && done - warm_up >= sampling.least) break;
  }
  return rates;
}

}  // namespace rankwise
