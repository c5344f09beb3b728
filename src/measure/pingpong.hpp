// Point-to-point kernels between ranks 0 and 1 of a communicator; one raw sample for each round.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace rankwise {

// send, ssend: ping-pong with MPI_Send or MPI_Ssend; a sample is a round trip.
// exchange, burst: both ranks have 1 (exchange) or burst_messages (burst) messages in flight to each other at once
// (Irecv, Isend, Waitall); a sample is the time of a few such rounds in a row, since a rank whose partner is ahead
// finds its message waiting and single rounds alternate between short and long.
enum class PairOperation { send, ssend, exchange, burst };
inline constexpr int burst_messages = 4;
[[nodiscard]] int messages_in_flight(PairOperation operation);   // in each direction
[[nodiscard]] int rounds_per_sample(PairOperation operation);

[[nodiscard]] PairOperation parse_pair_operation(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(PairOperation operation);

// How long to sample one size: until budget_s is (as estimated by the warm-up) spent, within these counts.
struct Sampling {
  double budget_s = 0.05;
  int least = 20;
  int most = 2000;
};

struct PairSamples {
  std::vector<double> time_s;             // on rank 0 only; raw, the timer's cost included
  bool verified = true;                   // every byte of the warm-up and of the last round was what was sent
  long long involuntary_switches = 0;     // both ranks together, while sampling
};

// Collective over ranks 0 and 1. Throws std::invalid_argument on a negative size.
[[nodiscard]] PairSamples measure_pair(MPI_Comm comm, PairOperation operation, std::size_t size_bytes,
                                       const Sampling& sampling);

}  // namespace rankwise
