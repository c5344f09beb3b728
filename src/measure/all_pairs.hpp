// Which node or cable is slow: streams between all pairs of ranks, in rounds of disjoint pairs that stream at once.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "measure/stream.hpp"

namespace rankwise {

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

}  // namespace rankwise
