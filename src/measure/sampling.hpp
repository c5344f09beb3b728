// How one cell (an operation at a message size) is sampled, whatever the operation: warm-up with checked bytes, a number
// of samples that all ranks agree on, and what happened to the ranks meanwhile.
#pragma once

#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "mpi/mpi.hpp"

namespace rankwise {

// A common clock for the ranks of a communicator, and a start that all of them keep.

// Cost and resolution of steady_s on this rank, in seconds.
struct Timer {
  double cost_s = 0.0;        // median time of one call
  double resolution_s = 0.0;  // smallest step between two readings that differ
};
[[nodiscard]] Timer measure_timer();

// This rank's clock against that of rank 0: global time = clock - offset_s, within error_s. It holds for the moment: two
// hosts' clocks drift apart by microseconds a second, so synchronise again for what lasts longer, and compare.
struct ClockOffset {
  double offset_s = 0.0;
  double error_s = 0.0;
};

using Clock = double (*)();

// Collective. Along a binary tree (Hunold & Carpen-Amarie 2018, HCA3): a rank whose offset is known exchanges readings with
// one whose is not, who keeps the quickest round trip; half of it is the error, and errors add up along the tree. An offset
// smaller than its own error is taken as zero (ranks of one host share a clock). Simulated ranks share theirs. `clock` is
// for tests of clocks that differ.
[[nodiscard]] ClockOffset synchronise(MPI_Comm comm, int round_trips = 50, Clock clock = steady_s);

// Collective. All ranks return at the same moment of the global clock, window_s after rank 0 asked for it, and get that
// moment (global time). A rank that comes late returns at once.
double start_together(MPI_Comm comm, const ClockOffset& clock, double window_s);

// The processor time of this process: other programs on the same processor do not count.
inline double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// What some work takes of the processor: the median of nine batches, each of at least `batch_s`.
template <typename Work>
double median_of_batches_s(double batch_s, Work work) {
  const auto batch = [&work](int times) {
    const double start_s = processor_s();
    for (int i = 0; i < times; ++i) work();
    return (processor_s() - start_s) / times;
  };
  int times = 1;
  while (batch(times) * times < batch_s) times *= 2;
  std::array<double, 9> times_s{};
  for (double& time_s : times_s) time_s = batch(times);
  std::nth_element(times_s.begin(), times_s.begin() + 4, times_s.end());
  return times_s[4];
}

// Lets time pass without holding the processor.
inline void sleep_s(double seconds) {
  timespec left{};
  left.tv_sec = static_cast<time_t>(seconds);
  left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
  nanosleep(&left, nullptr);
}

// How long to sample one cell: until budget_s is (as estimated by the warm-up) spent, within these counts; and not
// beyond until_s (steady_s of rank 0), where even fewer than `least` samples, but at least one, are taken.
struct Sampling {
  double budget_s = 0.05;
  int least = 20;
  int most = 2000;
  double until_s = std::numeric_limits<double>::infinity();
};

struct Samples {
  std::vector<double> time_s;          // of this rank; raw, the timer's cost included
  bool verified = true;                // every byte of the rounds that were checked was what was sent; on all ranks
  long long involuntary_switches = 0;  // of all ranks together, while sampling; on rank 0
  long long moved_ranks = 0;           // ranks that were on another processor afterwards, or off the one they are bound to
};

// One sample: its time as this rank sees it, in seconds.
using Sample = std::function<double()>;
// One round whose payload depends on its number; true when what arrived here is what was sent.
using CheckedRound = std::function<bool(unsigned number)>;

// What is to be settled between the warm-up and the samples; its argument is how long the first checked round took here.
using Prepare = std::function<void(double first_round_s)>;

// Collective over comm. Where one sample takes the whole budget it is the first that counts, and the only round that is
// checked is the first one: on a slow link each round is dear.
[[nodiscard]] Samples take_samples(MPI_Comm comm, const Sampling& sampling, const Sample& sample,
                                   const CheckedRound& checked_round, const Prepare& prepare = {});

// A payload that depends on who sent it, in which round, and where in the message a byte stands.
void fill_payload(unsigned char* message, std::size_t size_bytes, int sender, unsigned round);
[[nodiscard]] bool payload_arrived(const unsigned char* message, std::size_t size_bytes, int sender, unsigned round);

// Throws std::invalid_argument above 1 GiB: counts and buffers would not hold it.
void require_size(std::size_t size_bytes);

}  // namespace rankwise

namespace rankwise::tags {

// The tags of all messages that measurements send, in one place so that no two are alike.

constexpr int clock = 71;
constexpr int pingpong = 72;
constexpr int stream = 73;
constexpr int answer = 74;
constexpr int overhead = 75;
constexpr int call = 76;
constexpr int ready = 77;
constexpr int order = 81;
constexpr int report = 82;
constexpr int go_on = 84;

}  // namespace rankwise::tags
