#include "measure/sampling.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

// A payload in rows of consecutive bytes, each row beginning one further; 251 is no power of two, so that a shift shows.
constexpr std::size_t row_bytes = 251;

unsigned char first_of_row(int sender, unsigned round, std::size_t row) {
  return static_cast<unsigned char>(0x5A + 131 * sender + 29 * static_cast<int>(round % 256) +
                                    static_cast<int>((row / row_bytes) % 256));
}

long long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// Where a rank is, from its making to moved().
class Whereabouts {
 public:
  Whereabouts() : before_(sched_getcpu()) {}

  [[nodiscard]] bool moved() const {
    static const int home = before_;  // of the first cell
    const int after = sched_getcpu();
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    const bool bound = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) == 1;
    return after != before_ || (bound && after != home);
  }

 private:
  int before_;
};

}  // namespace

void fill_payload(unsigned char* message, std::size_t size_bytes, int sender, unsigned round) {
  for (std::size_t row = 0; row < size_bytes; row += row_bytes) {
    const unsigned char first = first_of_row(sender, round, row);
    const std::size_t bytes = std::min(row_bytes, size_bytes - row);
    for (std::size_t i = 0; i < bytes; ++i) message[row + i] = static_cast<unsigned char>(first + i);
  }
}

bool payload_arrived(const unsigned char* message, std::size_t size_bytes, int sender, unsigned round) {
  for (std::size_t row = 0; row < size_bytes; row += row_bytes) {
    const unsigned char first = first_of_row(sender, round, row);
    const std::size_t bytes = std::min(row_bytes, size_bytes - row);
    unsigned char wrong = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      wrong = static_cast<unsigned char>(wrong | (message[row + i] ^ static_cast<unsigned char>(first + i)));
    }
    if (wrong != 0) return false;
  }
  return true;
}

void require_size(std::size_t size_bytes) {
  constexpr std::size_t limit = std::size_t{1} << 30;
  if (size_bytes > limit) throw std::invalid_argument("messages above 1 GiB are not measured: choose a smaller size");
}

Samples take_samples(MPI_Comm comm, const Sampling& sampling, const Sample& sample, const CheckedRound& checked_round,
                     const Prepare& prepare) {
  Samples samples;
  // Where a single round takes the whole budget, one is warm-up enough.
  constexpr unsigned warm_up = 5;
  const double begin_s = steady_s();
  double first_round_s = 0.0;
  unsigned number = 0;
  do {
    samples.verified = checked_round(number++) && samples.verified;
    if (number == 1) first_round_s = steady_s() - begin_s;
  } while (number < warm_up && by_first(comm, steady_s() - begin_s < sampling.budget_s));
  if (prepare) prepare(first_round_s);
  std::optional<Whereabouts> whereabouts(std::in_place);
  long long before = involuntary_switches();
  double estimate_s = sample();
  const bool dear = !by_first(comm, estimate_s < sampling.budget_s);
  if (dear) {
    samples.time_s.push_back(estimate_s);
  } else {
    for (int i = 0; i < 2 && by_first(comm, estimate_s < sampling.budget_s); ++i) {
      estimate_s = std::min(estimate_s, sample());
    }
    whereabouts.emplace();
    before = involuntary_switches();
  }
  estimate_s = std::max(estimate_s, 1e-9);
  double wanted =
      std::clamp(sampling.budget_s / estimate_s, static_cast<double>(sampling.least), static_cast<double>(sampling.most));
  wanted = std::min(wanted, std::max(1.0, (sampling.until_s - steady_s()) / estimate_s));
  int count = static_cast<int>(wanted);
  MPI_Bcast(&count, 1, MPI_INT, 0, comm);

  samples.time_s.reserve(static_cast<std::size_t>(count));
  while (samples.time_s.size() < static_cast<std::size_t>(count)) samples.time_s.push_back(sample());
  const std::array<long long, 2> own{involuntary_switches() - before, whereabouts->moved() ? 1 : 0};
  std::array<long long, 2> all{};
  MPI_Reduce(own.data(), all.data(), 2, MPI_LONG_LONG, MPI_SUM, 0, comm);
  samples.involuntary_switches = all[0];
  samples.moved_ranks = all[1];

  // The last round is checked, too, unless rounds are dear.
  samples.verified = by_all(comm, (dear || checked_round(number)) && samples.verified);
  return samples;
}

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
