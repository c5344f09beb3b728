// Point-to-point operations between ranks 0 and 1 of a communicator; one raw sample for each round.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "measure/sampling.hpp"

namespace rankwise {

// send, ssend: ping-pong with MPI_Send or MPI_Ssend; a sample is a round trip, or a few in a row where reading the clock would
// take more than a twentieth of one.
// exchange, burst: both ranks have 1 (exchange) or burst_messages (burst) messages in flight to each other at once
// (Irecv, Isend, then waiting as exchanges do: mpi/wait.hpp); a sample is the time of a few such rounds in a row, since a rank whose partner is ahead
// finds its message waiting and single rounds alternate between short and long.
enum class PairOperation { send, ssend, exchange, burst };
inline constexpr int burst_messages = 4;
[[nodiscard]] int messages_in_flight(PairOperation operation);  // in each direction

[[nodiscard]] PairOperation parse_pair_operation(const std::string& name);  // throws std::invalid_argument
[[nodiscard]] std::string to_string(PairOperation operation);

struct PairSamples : Samples {
  int rounds = 1;  // in a sample
};

// Collective over ranks 0 and 1; the times are those that rank 0 sees. Throws std::invalid_argument above 1 GiB.
[[nodiscard]] PairSamples measure_pair(MPI_Comm comm, PairOperation operation, std::size_t size_bytes,
                                       const Sampling& sampling);

// How many rounds of a duration a sample needs so that the clock's own cost is at most a twentieth of it; at most 1000.
[[nodiscard]] int rounds_for_clock(double round_s, double clock_cost_s);

}  // namespace rankwise
