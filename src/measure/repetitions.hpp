// Times something collective again and again, each time from a common start to the last rank's end.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/clock.hpp"

namespace rankwise {

// clock: all ranks begin at one moment of the common clock. barrier: each begins when it leaves a barrier, and its own
// time counts (as in Hunold et al. 2020, section VI-B); the ranks leave at different times, which is in the result.
enum class Start { clock, barrier };
[[nodiscard]] Start parse_start(const std::string& name);  // throws std::invalid_argument

struct Repetitions {
  double budget_s = 0.2;  // to spend on all of them, within these counts
  int least = 30;
  int most = 2000;
  int warm_up = 5;          // at least one is done where the count is to be estimated (least < most)
  double window_s = 30e-6;  // from the call for a start to the start: long enough for all ranks to hear of it
  Start start = Start::clock;
};

// What a repetition does on this rank. Its number counts the warm-up, too, and is the same on all ranks.
struct Repeated {
  std::function<void(std::uint64_t number)> prepare;  // not timed
  std::function<void()> run;
  std::function<void(std::uint64_t number)> check;  // not timed
};

struct Timed {
  std::vector<double> time_s;  // rank 0 only: each repetition, from when the last rank began until the last one ended,
                               // or (barrier) of the rank that took longest
  int late = 0;                // rank 0 only: repetitions in which a rank missed the common start
};

// How many repetitions of so long are in the budget.
[[nodiscard]] int repetitions_within(const Repetitions& repetitions, double estimate_s);

// Throws std::invalid_argument unless 1 <= least <= most and the times are positive.
void require_sensible(const Repetitions& repetitions);

// Collective. The window is doubled, at most to a millisecond, whenever a rank was late in the warm-up.
[[nodiscard]] Timed time_repetitions(MPI_Comm comm, const ClockOffset& clock, const Repetitions& repetitions,
                                     const Repeated& repeated);

}  // namespace rankwise
