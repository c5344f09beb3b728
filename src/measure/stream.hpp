// Streaming: a window of messages in flight from one rank to another, or both ways, over one pair of ranks or several.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "measure/collective.hpp"
#include "measure/halves.hpp"

namespace rankwise {

struct Stream {
  int window = 64;             // messages in flight, in each direction
  bool bidirectional = false;  // both ranks of a pair stream to each other
  int pairs = 1;               // pairs that stream at once; the others wait
};

// One end of a stream: sends windows of messages to another rank of comm, receives them from there, or both. Not copied.
class Streamer {
 public:
  Streamer(MPI_Comm comm, int window, std::size_t size_bytes);

  // Who is at the other end, and which ways messages go; ranks that do neither have nothing to do in a window.
  void aim(int peer, bool sends, bool receives);
  void set_window(int messages);

  // A window: from the first message until it is known that the last one arrived, in seconds by this rank's clock. `on_call`
  // (one way only): the sender begins when the receiver has told that it is ready, so that neither's coming late is in it.
  double window(bool on_call = false);
  // The same with new bytes; true when what arrived here is what was sent.
  bool checked_window(unsigned number, bool on_call = false);

 private:
  MPI_Comm comm_;
  int window_;
  std::size_t size_;
  int rank_ = 0;
  int peer_ = 0;
  bool sends_ = false;
  bool receives_ = false;
  std::vector<unsigned char> out_;
  std::vector<unsigned char> in_;
  std::vector<MPI_Request> requests_;
};

// Throws std::invalid_argument when a window needs more than 4 GiB or there are fewer pairs of ranks.
void require_stream(const Halves& halves, const Stream& stream, std::size_t size_bytes);

// Collective over the world that `halves` was made of. A sample is one window, from the first rank's start
// until the last one has what it waits for: the receiver's empty answer, or both windows. So no rate exceeds the link's. The samples are on rank 0.
[[nodiscard]] TimedTogether measure_stream(MPI_Comm world, const Halves& halves, const Stream& stream, std::size_t size_bytes,
                                           const Sampling& sampling);

}  // namespace rankwise
