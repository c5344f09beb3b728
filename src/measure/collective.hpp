// What several ranks do together, timed from a common start until the last rank has ended: by a synchronised clock, since
// the exit of a barrier is as skewed as what is timed is long.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>

#include "measure/clock.hpp"
#include "measure/sampling.hpp"

namespace rankwise {

struct TimedTogether {
  Samples samples;             // on rank 0
  double clock_error_s = 0.0;  // of the worst rank; on rank 0
};

// When a sample begins if not all ranks keep the common start: what ranks do to each other begins with the last one, what
// some carry while others are late, as streams do, with the first.
enum class From { last_start, first_start };

// Collective over comm: samples of `work`, each until the last rank ended. A rank that has no part in the work returns from it at once. The clock is synchronised before and looked at
// again afterwards; ranks of one host share theirs, and its error is then that of not having seen any difference.
[[nodiscard]] TimedTogether time_together(MPI_Comm comm, const Sampling& sampling, const std::function<void()>& work,
                                          const CheckedRound& checked_round, From from = From::last_start);

// MPI_Alltoall of all ranks, from a common start until the last rank has all its blocks.

// Collective over comm; size_bytes is one block (what one rank has for one other). Throws std::invalid_argument when a
// rank's blocks need more than 4 GiB.
void require_alltoall(MPI_Comm comm, std::size_t size_bytes);
[[nodiscard]] TimedTogether measure_alltoall(MPI_Comm comm, std::size_t size_bytes, const Sampling& sampling);

}  // namespace rankwise
