#include "measure/clock.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "measure/sampling.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

// Lets time go on: at most left_s of it.
void pass_time(double left_s) {
  if (is_simulated) {
    // A simulator's clock stands still while it is read.
    sleep_s(std::min(0.5, left_s) + 1e-9);
    return;
  }
  // Near the start only the clock is watched: giving up the core could cost more than what is timed, and leaves caches
  // cold. Far from it (windows grow when ranks share cores) others need the core.
  constexpr double near_s = 100e-6;
  if (left_s > near_s) sched_yield();
}

}  // namespace

Timer measure_timer() {
  constexpr int calls = 1000;
  std::vector<double> readings(calls);
  for (double& reading : readings) reading = steady_s();
  Timer timer{0.0, std::numeric_limits<double>::max()};
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const double step_s = readings[i] - readings[i - 1];
    if (step_s > 0.0) timer.resolution_s = std::min(timer.resolution_s, step_s);
  }
  constexpr int batches = 101;
  constexpr int calls_per_batch = 20;
  std::array<double, batches> costs{};
  for (double& cost_s : costs) {
    const double start_s = steady_s();
    double last_s = start_s;
    for (int i = 0; i < calls_per_batch; ++i) last_s = steady_s();
    cost_s = (last_s - start_s) / calls_per_batch;
  }
  std::nth_element(costs.begin(), costs.begin() + batches / 2, costs.end());
  timer.cost_s = costs[batches / 2];
  // A clock that stands still (a simulator's) has no step to see.
  if (timer.resolution_s == std::numeric_limits<double>::max()) timer.resolution_s = 0.0;
  return timer;
}

namespace {

// What a rank whose offset is known tells: its reading in global time, and how far that may be off.
using Reading = std::array<double, 2>;

void tell_time(MPI_Comm comm, int learner, int round_trips, Clock clock, const ClockOffset& known) {
  for (int i = 0; i < round_trips; ++i) {
    MPI_Recv(nullptr, 0, MPI_BYTE, learner, tags::clock, comm, MPI_STATUS_IGNORE);
    const Reading reading{clock() - known.offset_s, known.error_s};
    MPI_Send(reading.data(), 2, MPI_DOUBLE, learner, tags::clock, comm);
  }
}

ClockOffset learn_time(MPI_Comm comm, int teacher, int round_trips, Clock clock) {
  ClockOffset best;
  double quickest_s = std::numeric_limits<double>::max();
  for (int i = 0; i < round_trips; ++i) {
    Reading reading{};
    const double sent_s = clock();
    MPI_Send(nullptr, 0, MPI_BYTE, teacher, tags::clock, comm);
    MPI_Recv(reading.data(), 2, MPI_DOUBLE, teacher, tags::clock, comm, MPI_STATUS_IGNORE);
    const double back_s = clock();
    if (back_s - sent_s < quickest_s) {
      quickest_s = back_s - sent_s;
      best = {(sent_s + back_s) / 2 - reading[0], quickest_s / 2 + reading[1]};
    }
  }
  if (std::abs(best.offset_s) <= best.error_s) best.offset_s = 0.0;
  return best;
}

}  // namespace

ClockOffset synchronise(MPI_Comm comm, int round_trips, Clock clock) {
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  int step = 1;
  while (2 * step < size) step *= 2;
  ClockOffset own;
  if (is_simulated) return own;
  for (; step >= 1; step /= 2) {
    if (rank % (2 * step) == 0 && rank + step < size) {
      tell_time(comm, rank + step, round_trips, clock, own);
    } else if (rank % (2 * step) == step) {
      own = learn_time(comm, rank - step, round_trips, clock);
    }
  }
  return own;
}

double start_together(MPI_Comm comm, const ClockOffset& clock, double window_s) {
  double start_s = steady_s() - clock.offset_s + window_s;
  MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, comm);
  for (double left_s = start_s - (steady_s() - clock.offset_s); left_s > 0.0;
       left_s = start_s - (steady_s() - clock.offset_s)) {
    pass_time(left_s);
  }
  return start_s;
}

}  // namespace rankwise
