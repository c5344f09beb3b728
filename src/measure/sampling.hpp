// How one cell (an operation at a message size) is sampled, whatever the operation: warm-up with checked bytes, a number
// of samples that all ranks agree on, and what happened to the ranks meanwhile.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace rankwise {

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
constexpr int payload = 83;
constexpr int go_on = 84;

}  // namespace rankwise::tags
