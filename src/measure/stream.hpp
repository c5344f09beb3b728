// Streams of messages: over one pair of ranks, several, or all.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/together.hpp"

namespace rankwise {

// A world of ranks seen as two halves that talk to each other: rank i of the lower half and rank i + size / 2 are pair i.
// Launchers fill one node after the other, so that between two nodes every pair crosses.

class Halves {
 public:
  // Collective. Throws std::invalid_argument, on all ranks alike, for an odd number of ranks.
  explicit Halves(MPI_Comm world) {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
    if (size_ % 2 != 0) throw std::invalid_argument("an even number of ranks is needed, not " + std::to_string(size_));
    MPI_Comm_split(world, pair(), rank_, &comm_);
  }

  [[nodiscard]] int pairs() const { return size_ / 2; }
  [[nodiscard]] int pair() const { return rank_ % pairs(); }
  [[nodiscard]] MPI_Comm comm() const { return comm_.get(); }  // of this rank's pair: the lower half's rank is its rank 0

 private:
  OwnedComm comm_;
  int rank_ = 0;
  int size_ = 0;
};

// Streaming: a window of messages in flight from one rank to another, or both ways, over one pair of ranks or several.

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
  // (one way only): the sender begins when the receiver has sent that it is ready, so that neither's coming late is in it.
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

// Which node or cable is slow: streams between all pairs of ranks, in rounds of disjoint pairs that stream at once.

constexpr int nobody = -1;

// Each rank's partner in a round of the circle method: with m ranks (one more, whose partner has a bye, where they are odd) the
// places i and j of `order` meet in round (i + j) mod (m - 1), and the last place meets the one that would meet itself.
// Throws std::invalid_argument unless `order` holds each rank once and 0 <= round < circle_rounds(ranks).
[[nodiscard]] std::vector<int> circle_partners(const std::vector<long long>& order, long long round);
[[nodiscard]] long long circle_rounds(int ranks);

// How messages of one size are streamed: a window of so many, timed so often.
struct StreamShape {
  std::size_t size_bytes = 0;
  int messages = 0;  // 0: found out, as `repeats`, by how long one takes
  int repeats = 0;
};

// Streams of a rank to and from whomever it is paired with, with buffers that stay.
class PairStreams {
 public:
  PairStreams(MPI_Comm comm, std::vector<StreamShape> shapes);

  // Collective: finds messages and repeats where they are not given, such that timing one direction takes about stream_s
  // between most pairs: at most 20 messages up to 8 KiB, 10 above, and 5 repeats.
  void find_shapes(int partner, double stream_s);

  // Collective. First one rank of each pair sends, then the other, at each size; nobody: this rank is silent. Returns this
  // rank's times as a sender, the repeats of one size after those of another; 0 without a partner.
  [[nodiscard]] std::vector<double> round(int partner);

  [[nodiscard]] const std::vector<StreamShape>& shapes() const { return shapes_; }
  [[nodiscard]] bool verified() const { return verified_; }  // every byte that was checked here so far was right

 private:
  void stream(std::size_t which, int partner, std::vector<double>& times_s);

  MPI_Comm comm_;
  int rank_ = 0;
  std::vector<StreamShape> shapes_;
  std::vector<Streamer> streamers_;
  unsigned number_ = 0;
  bool verified_ = true;
};

// Pairs of ranks that keep a link busy while another pair measures (werner2023 section 6.2.2 asks what alpha and beta
// are then). While they are not wanted they sleep, so that free samples are not theirs.

// Waits for a message without holding the processor: a rank that polls inside MPI would be a load by itself.
void doze_until_message(MPI_Comm comm, int source, int tag);

// What the load may cost, of each pair and over the whole launch: a pair that has reached a limit stops.
struct LoadLimits {
  double seconds = 60.0;
  double bytes = 64e9;
};

struct Load {
  double bytes_per_s = 0.0;   // of all pairs and both directions together while the load was on
  long long ended_early = 0;  // pairs that reached a limit
};

// For the ranks of pair 0: turns the load of the other pairs on and off. Only rank 0 of the world gives orders.
class BackgroundLoad {
 public:
  BackgroundLoad(MPI_Comm world, const Halves& halves) : world_(world), pairs_(halves.pairs() - 1) {}

  [[nodiscard]] int pairs() const { return pairs_; }
  void start() const;  // returns when every pair has the link busy
  [[nodiscard]] Load stop() const;
  void dismiss() const;  // the last order

 private:
  MPI_Comm world_;
  int pairs_;
};

// For all other pairs: obeys until dismissed. Each pair streams windows of messages both ways.
void serve_background(MPI_Comm world, const Halves& halves, const LoadLimits& limits);

}  // namespace rankwise
