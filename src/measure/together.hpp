// What several ranks do together, timed again and again from a common start until the last rank has ended: by a synchronised
// clock, since the exit of a barrier is as skewed as what is timed is long.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/pair.hpp"
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

// A block for every rank, and room for one from every rank, whose bytes tell where they come from.
class AllToAllBlocks {
 public:
  AllToAllBlocks(int rank, int ranks, std::size_t block_bytes)
      : rank_(rank), ranks_(ranks), block_bytes_(block_bytes), out_(total()), in_(total()) {}

  [[nodiscard]] std::byte* out() { return reinterpret_cast<std::byte*>(out_.data()); }
  [[nodiscard]] std::byte* in() { return reinterpret_cast<std::byte*>(in_.data()); }
  [[nodiscard]] std::vector<std::size_t> sizes() const {
    return std::vector<std::size_t>(static_cast<std::size_t>(ranks_), block_bytes_);
  }

  void fill(unsigned number) {
    for (int peer = 0; peer < ranks_; ++peer) {
      fill_payload(out_.data() + at(peer), block_bytes_, rank_, number + static_cast<unsigned>(peer));
    }
    std::fill(in_.begin(), in_.end(), static_cast<unsigned char>(0));
  }
  // The first rank whose block did not arrive; -1 when all did.
  [[nodiscard]] int missing(unsigned number) const {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (!payload_arrived(in_.data() + at(peer), block_bytes_, peer, number + static_cast<unsigned>(rank_))) return peer;
    }
    return -1;
  }

 private:
  [[nodiscard]] std::size_t at(int peer) const { return static_cast<std::size_t>(peer) * block_bytes_; }
  [[nodiscard]] std::size_t total() const { return std::max<std::size_t>(1, at(ranks_)); }

  int rank_;
  int ranks_;
  std::size_t block_bytes_;
  std::vector<unsigned char> out_;
  std::vector<unsigned char> in_;
};

// MPI_Alltoall of all ranks, from a common start until the last rank has all its blocks.
// Collective over comm; size_bytes is one block (what one rank has for one other). Throws std::invalid_argument when a
// rank's blocks need more than 4 GiB.
void require_alltoall(MPI_Comm comm, std::size_t size_bytes);
[[nodiscard]] TimedTogether measure_alltoall(MPI_Comm comm, std::size_t size_bytes, const Sampling& sampling);

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

// How many repetitions of so long are in the budget. Where even the least take more than ten times as long it is as many as
// do, or five: a median of these is known, too.
[[nodiscard]] int repetitions_within(const Repetitions& repetitions, double estimate_s);

// Throws std::invalid_argument unless 1 <= least <= most and the times are positive.
void require_sensible(const Repetitions& repetitions);

// Collective. The window is doubled, at most to a millisecond, whenever a rank was late in the warm-up.
[[nodiscard]] Timed time_repetitions(MPI_Comm comm, const ClockOffset& clock, const Repetitions& repetitions,
                                     const Repeated& repeated);

// What a rank's processor and memory do by themselves, whatever the network does.

// A fixed piece of work in registers, timed: how fast the processor is at this moment, whatever the network does.

// Time of the loop on this rank, in seconds (some 20 us): the quickest of a few, so that a preemption does not count.
[[nodiscard]] double reference_loop_s();

// Collective. On rank 0 every rank's time, elsewhere nothing; all ranks compute at the same time.
[[nodiscard]] std::vector<double> reference_loops_s(MPI_Comm comm);

// Memory bandwidth as STREAM measures it (McCalpin 1995): a[i] = b[i] + s * c[i] over arrays beyond the caches.

// Collective: all ranks at once, each on three arrays of array_bytes. On rank 0 the bytes that all ranks together moved
// each second, of each repetition (STREAM's count: 3 * array_bytes a rank, no write-allocate); elsewhere nothing.
// Throws std::invalid_argument when the arrays hold nothing.
[[nodiscard]] std::vector<double> measure_triad(MPI_Comm comm, std::size_t array_bytes, const Sampling& sampling);

}  // namespace rankwise
