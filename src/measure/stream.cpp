#include "measure/stream.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "measure/tags.hpp"

namespace rankwise {

namespace {


class Streamer {
 public:
  Streamer(MPI_Comm pair, bool streams, const Stream& stream, std::size_t size_bytes)
      : pair_(pair), stream_(stream), size_(size_bytes) {
    MPI_Comm_rank(pair, &rank_);
    sends_ = streams && (rank_ == 0 || stream.bidirectional);
    receives_ = streams && (rank_ == 1 || stream.bidirectional);
    const auto window = static_cast<std::size_t>(stream.window);
    if (sends_) out_.resize(std::max<std::size_t>(1, size_bytes));
    if (receives_) in_.resize(std::max<std::size_t>(1, size_bytes * window));
    requests_.resize(2 * window);
  }

  void window() {
    const int count = static_cast<int>(size_);
    const int peer = 1 - rank_;
    std::size_t posted = 0;
    for (int m = 0; receives_ && m < stream_.window; ++m) {
      MPI_Irecv(in_.data() + static_cast<std::size_t>(m) * size_, count, MPI_BYTE, peer, tags::stream, pair_,
                &requests_[posted++]);
    }
    for (int m = 0; sends_ && m < stream_.window; ++m) {
      MPI_Isend(out_.data(), count, MPI_BYTE, peer, tags::stream, pair_, &requests_[posted++]);
    }
    MPI_Waitall(static_cast<int>(posted), requests_.data(), MPI_STATUSES_IGNORE);
    // One way, the sender knows of the last arrival only by an answer.
    if (receives_ && !sends_) MPI_Send(nullptr, 0, MPI_BYTE, peer, tags::answer, pair_);
    if (sends_ && !receives_) MPI_Recv(nullptr, 0, MPI_BYTE, peer, tags::answer, pair_, MPI_STATUS_IGNORE);
  }

  bool checked_window(unsigned number) {
    if (sends_) fill_payload(out_.data(), size_, rank_, number);
    std::fill(in_.begin(), in_.end(), static_cast<unsigned char>(0));
    window();
    for (int m = 0; receives_ && m < stream_.window; ++m) {
      const unsigned char* message = in_.data() + static_cast<std::size_t>(m) * size_;
      if (!payload_arrived(message, size_, 1 - rank_, number)) return false;
    }
    return true;
  }

 private:
  MPI_Comm pair_;
  Stream stream_;
  std::size_t size_;
  int rank_ = 0;
  bool sends_ = false;
  bool receives_ = false;
  std::vector<unsigned char> out_;
  std::vector<unsigned char> in_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

void require_stream(const Halves& halves, const Stream& stream, std::size_t size_bytes) {
  require_size(size_bytes);
  constexpr std::size_t limit = std::size_t{4} << 30;
  if (size_bytes > limit / static_cast<std::size_t>(stream.window)) {
    throw std::invalid_argument("a window of " + std::to_string(stream.window) + " messages of " +
                                std::to_string(size_bytes) + " B needs more than 4 GiB: choose a smaller size");
  }
  if (stream.pairs > halves.pairs()) {
    throw std::invalid_argument(std::to_string(stream.pairs) + " pairs need " + std::to_string(2 * stream.pairs) + " ranks");
  }
}

TimedTogether measure_stream(MPI_Comm world, const Halves& halves, const Stream& stream, std::size_t size_bytes,
                             const Sampling& sampling) {
  require_stream(halves, stream, size_bytes);
  Streamer streamer(halves.comm(), halves.pair() < stream.pairs, stream, size_bytes);
  return time_together(
      world, sampling, [&] { streamer.window(); }, [&](unsigned number) { return streamer.checked_window(number); },
      From::first_start);
}

}  // namespace rankwise
