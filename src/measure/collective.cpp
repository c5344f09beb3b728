#include "measure/collective.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rankwise {

TimedTogether time_together(MPI_Comm comm, const Sampling& sampling, const std::function<void()>& work,
                            const CheckedRound& checked_round, From from) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const ClockOffset clock = synchronise(comm);
  // Long enough for the broadcast of the start to reach everybody; doubled whenever somebody was late in the warm-up.
  double window_s = 30e-6;
  bool sampled = false;
  std::vector<double> started_s;
  std::vector<double> ended_s;
  const auto one = [&] {
    MPI_Barrier(comm);
    const double start_s = start_together(comm, clock, window_s);
    const double begun_s = MPI_Wtime() - clock.offset_s;
    work();
    const double end_s = MPI_Wtime() - clock.offset_s;
    started_s.push_back(std::max(start_s, begun_s));
    ended_s.push_back(end_s);
    return std::pair{begun_s - start_s, end_s - begun_s};
  };
  const auto warm = [&](unsigned number) {
    const double before_s = MPI_Wtime();
    const bool arrived = checked_round(number);
    int dear = MPI_Wtime() - before_s >= sampling.budget_s ? 1 : 0;
    MPI_Bcast(&dear, 1, MPI_INT, 0, comm);
    if (sampled || dear == 1) return arrived;  // late ranks are little beside what takes so long
    double late_s = one().first;
    MPI_Allreduce(MPI_IN_PLACE, &late_s, 1, MPI_DOUBLE, MPI_MAX, comm);
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

}  // namespace rankwise
