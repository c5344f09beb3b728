// Messages between two ranks, timed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "measure/sampling.hpp"

namespace rankwise {

// Point-to-point operations between ranks 0 and 1 of a communicator; one raw sample for each round.

// send, ssend: ping-pong with MPI_Send or MPI_Ssend; a sample is a round trip, or a few in a row where reading the clock would
// take more than a twentieth of one.
// exchange, burst: both ranks have 1 (exchange) or burst_messages (burst) messages in flight to each other at once
// (Irecv, Isend, then waiting as exchanges do: mpi/mpi.hpp); a sample is the time of a few such rounds in a row, since a rank whose partner is ahead
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

// What a message costs its processor, and where sending begins to wait for the receiver: LogGP's o, and the protocol limits
// by what they mean (Hoefler et al. 2007; Kielmann et al. 2000), not by a bend in a curve.

// Collective over ranks 0 and 1. A sample is the time of one MPI_Send on rank 0 whose receive is posted.
[[nodiscard]] Samples measure_send_overhead(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling);

// Collective over ranks 0 and 1. A sample is the time of one MPI_Recv on rank 0 whose message has been there for a while.
[[nodiscard]] Samples measure_receive_overhead(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling);

// Collective over ranks 0 and 1. A sample is the time of gap_messages sends in a row until the receiver's empty answer.
inline constexpr int gap_messages = 32;
[[nodiscard]] Samples measure_gap(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling);

// The largest sizes at which a send ends while nothing receives: -1 where even an empty one waits, and largest_tried_bytes
// where none did. Exact to the byte where there is time for it.
struct ProtocolLimits {
  long long send_returns_up_to_bytes = -1;   // MPI_Send, the receiver being late and outside MPI
  long long ssend_returns_up_to_bytes = -1;  // MPI_Ssend likewise: -1, or the test itself is wrong
  long long head_to_head_up_to_bytes = -1;   // both send to each other before they receive
  long long largest_tried_bytes = 0;         // of the first
};
// Collective over ranks 0 and 1. Sizes up to largest_bytes; on slow links as far as the seconds go, for each of the limits
// to where a message takes a tenth of a second in any case.
[[nodiscard]] ProtocolLimits find_protocol_limits(MPI_Comm pair, long long largest_bytes, double seconds);

}  // namespace rankwise
