#include "measure/repetitions.hpp"

#include <algorithm>
#include <stdexcept>

#include "mpi/mpi.hpp"

namespace rankwise {

Start parse_start(const std::string& name) {
  if (name == "clock") return Start::clock;
  if (name == "barrier") return Start::barrier;
  throw std::invalid_argument("start '" + name + "' is unknown: choose clock or barrier");
}

int repetitions_within(const Repetitions& repetitions, double estimate_s) {
  return static_cast<int>(std::clamp(repetitions.budget_s / std::max(estimate_s, 1e-9), static_cast<double>(repetitions.least),
                                     static_cast<double>(repetitions.most)));
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
      const double left_s = MPI_Wtime();
      repeated.run();
      ended_s.push_back(MPI_Wtime() - left_s);
      started_s.push_back(0.0);
      repeated.check(number);
      return 0.0;
    }
    const double start_s = start_together(comm, clock, window_s);
    const double begun_s = MPI_Wtime() - clock.offset_s;
    repeated.run();
    const double end_s = MPI_Wtime() - clock.offset_s;
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

}  // namespace rankwise
