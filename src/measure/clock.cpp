#include "measure/clock.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace rankwise {

namespace {

// Whether MPI says that all ranks read one clock.
bool clock_is_global() {
  int* is_global = nullptr;
  int is_known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &is_global, &is_known);
  return is_known != 0 && *is_global != 0;
}

// Lets time go on: at most left_s of it.
void pass_time(double left_s) {
#ifdef SMPI_H
  // A simulator's clock stands still while it is read.
  const auto left_ns = static_cast<long>(std::min(0.5, left_s) * 1e9) + 1;
  const timespec pause{0, left_ns};
  nanosleep(&pause, nullptr);
#else
  // Near the start only the clock is watched: giving up the core could cost more than what is timed, and leaves caches
  // cold. Far from it (windows grow when ranks share cores) others need the core.
  constexpr double near_s = 100e-6;
  if (left_s > near_s) sched_yield();
#endif
}

}  // namespace

Timer measure_timer() {
  constexpr int calls = 1000;
  std::vector<double> readings(calls);
  for (double& reading : readings) reading = MPI_Wtime();
  Timer timer{0.0, std::numeric_limits<double>::max()};
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const double step_s = readings[i] - readings[i - 1];
    if (step_s > 0.0) timer.resolution_s = std::min(timer.resolution_s, step_s);
  }
  constexpr int batches = 101;
  constexpr int calls_per_batch = 20;
  std::array<double, batches> costs{};
  for (double& cost_s : costs) {
    const double start_s = MPI_Wtime();
    double last_s = start_s;
    for (int i = 0; i < calls_per_batch; ++i) last_s = MPI_Wtime();
    cost_s = (last_s - start_s) / calls_per_batch;
  }
  std::nth_element(costs.begin(), costs.begin() + batches / 2, costs.end());
  timer.cost_s = costs[batches / 2];
  // A clock that stands still (a simulator's) has no step to see.
  if (timer.resolution_s == std::numeric_limits<double>::max()) timer.resolution_s = 0.0;
  return timer;
}

ClockOffset synchronise(MPI_Comm comm, int round_trips) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  constexpr int tag = 71;
  ClockOffset best;
  if (clock_is_global()) return best;
  for (int peer = 1; peer < size; ++peer) {
    if (rank == 0) {
      for (int i = 0; i < round_trips; ++i) {
        double ignored = 0.0;
        MPI_Recv(&ignored, 1, MPI_DOUBLE, peer, tag, comm, MPI_STATUS_IGNORE);
        const double now_s = MPI_Wtime();
        MPI_Send(&now_s, 1, MPI_DOUBLE, peer, tag, comm);
      }
    } else if (rank == peer) {
      double quickest_s = std::numeric_limits<double>::max();
      for (int i = 0; i < round_trips; ++i) {
        double root_s = 0.0;
        const double sent_s = MPI_Wtime();
        MPI_Send(&sent_s, 1, MPI_DOUBLE, 0, tag, comm);
        MPI_Recv(&root_s, 1, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE);
        const double back_s = MPI_Wtime();
        if (back_s - sent_s < quickest_s) {
          quickest_s = back_s - sent_s;
          best = {(sent_s + back_s) / 2 - root_s, quickest_s / 2};
        }
      }
      if (std::abs(best.offset_s) <= best.error_s) best.offset_s = 0.0;
    }
  }
  return best;
}

double start_together(MPI_Comm comm, const ClockOffset& clock, double window_s) {
  double start_s = MPI_Wtime() - clock.offset_s + window_s;
  MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, comm);
  for (double left_s = start_s - (MPI_Wtime() - clock.offset_s); left_s > 0.0;
       left_s = start_s - (MPI_Wtime() - clock.offset_s)) {
    pass_time(left_s);
  }
  return start_s;
}

}  // namespace rankwise
