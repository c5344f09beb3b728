// Runs one exchange again and again, times each from a common start to the last rank's end, and checks every byte.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "measure/repetitions.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

struct TimedExchange {
  std::vector<double> time_s;      // rank 0 only: each repetition, the maximum over ranks
  int late = 0;                    // rank 0 only: repetitions in which a rank missed the common start
  bool verified = true;            // on all ranks alike: every slot of every rank held the right bytes, every time
  std::string mismatch;            // on the rank that saw one: the first slot that did not
  Index messages_per_rank = 0;     // the most that any rank sends in a repetition
  Index bytes_per_rank = 0;
};

// Throws std::invalid_argument, on all ranks alike and before anything is sent, when the number of ranks is not the
// communicator's, the window has more than 2^26 slots, or blocks of one size need more memory than any rank should take.
void require_runnable(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes);

// Collective. Rank r of comm takes the part of rank r of the grid with a block of block_bytes, which may differ from
// rank to rank. A repetition is the import (the visits), and the way back where includes_reduce says so; all that
// arrives is kept and compared with what its origin sent, sums with what all contributors put in. Throws as
// require_runnable does, whichever rank has too large a block.
[[nodiscard]] TimedExchange run_timed(MPI_Comm comm, const ExchangeSpec& spec, std::size_t block_bytes,
                                      const ClockOffset& clock, const Repetitions& repetitions);

}  // namespace rankwise
