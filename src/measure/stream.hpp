// Streaming: a window of messages in flight from one rank to another, or both ways, over one pair of ranks or several.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "measure/collective.hpp"
#include "measure/halves.hpp"

namespace rankwise {

struct Stream {
  int window = 64;             // messages in flight, in each direction
  bool bidirectional = false;  // both ranks of a pair stream to each other
  int pairs = 1;               // pairs that stream at once; the others wait
};

// Throws std::invalid_argument when a window needs more than 4 GiB or there are fewer pairs of ranks.
void require_stream(const Halves& halves, const Stream& stream, std::size_t size_bytes);

// Collective over the world that `halves` was made of. A sample is one window, from the first rank's start
// until the last one has what it waits for: the receiver's empty answer, or both windows. So no rate exceeds the link's. The samples are on rank 0.
[[nodiscard]] TimedTogether measure_stream(MPI_Comm world, const Halves& halves, const Stream& stream, std::size_t size_bytes,
                                           const Sampling& sampling);

}  // namespace rankwise
