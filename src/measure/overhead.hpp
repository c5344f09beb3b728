// What a message costs its processor, and where sending begins to wait for the receiver: LogGP's o, and the protocol limits
// by what they mean (Hoefler et al. 2007; Kielmann et al. 2000), not by a bend in a curve.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "measure/sampling.hpp"

namespace rankwise {

// Collective over ranks 0 and 1. A sample is the time of one MPI_Send on rank 0 whose receive is posted.
[[nodiscard]] Samples measure_send_overhead(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling);

// Collective over ranks 0 and 1. A sample is the time of one MPI_Recv on rank 0 whose message has been there for a while.
[[nodiscard]] Samples measure_receive_overhead(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling);

// Collective over ranks 0 and 1. A sample is the time of gap_messages sends in a row until the receiver's empty answer.
inline constexpr int gap_messages = 32;
[[nodiscard]] Samples measure_gap(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling);

// The largest sizes, exact to the byte, at which a send ends while nothing receives: -1 where even an empty one waits, and
// largest_tried_bytes where none did.
struct ProtocolLimits {
  long long send_returns_up_to_bytes = -1;   // MPI_Send, the receiver being late and outside MPI
  long long ssend_returns_up_to_bytes = -1;  // MPI_Ssend likewise: -1, or the test itself is wrong
  long long head_to_head_up_to_bytes = -1;   // both send to each other before they receive
  long long largest_tried_bytes = 0;
};
[[nodiscard]] ProtocolLimits find_protocol_limits(MPI_Comm pair, long long largest_bytes);

}  // namespace rankwise
