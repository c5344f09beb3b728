// Runs one exchange again and again, times each from a common start to the last rank's end, and checks every byte.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "measure/clock.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

struct TimedExchange {
  std::vector<double> time_s;      // rank 0 only: each repetition, the maximum over ranks
  int late = 0;                    // rank 0 only: repetitions in which a rank missed the common start
  bool verified = true;            // on all ranks alike: every slot of every rank held its origin's bytes, every time
  std::string mismatch;            // on the rank that saw one: the first slot that did not
  Index messages_per_rank = 0;     // the most that any rank sends in a repetition
  Index bytes_per_rank = 0;
};

struct Repetitions {
  double budget_s = 0.2;
  int least = 30;
  int most = 2000;
};

// Throws std::invalid_argument, on all ranks alike and before anything is sent, when the grid's size is not the
// communicator's or the window needs more memory than any rank should take.
void require_runnable(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes);

// Collective. Rank r of comm takes the part of rank r of the grid. Throws as require_runnable does.
[[nodiscard]] TimedExchange run_timed(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes,
                                      const ClockOffset& clock, const Repetitions& repetitions);

}  // namespace rankwise
