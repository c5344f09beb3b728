#include "measure/stream.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "measure/tags.hpp"

namespace rankwise {

Streamer::Streamer(MPI_Comm comm, int window, std::size_t size_bytes) : comm_(comm), window_(window), size_(size_bytes) {
  MPI_Comm_rank(comm, &rank_);
}

void Streamer::aim(int peer, bool sends, bool receives) {
  peer_ = peer;
  sends_ = sends;
  receives_ = receives;
  const auto window = static_cast<std::size_t>(window_);
  if (sends_ && out_.empty()) out_.resize(std::max<std::size_t>(1, size_));
  if (receives_ && in_.size() < size_ * window) in_.resize(size_ * window);
  requests_.resize(2 * window);
}

void Streamer::set_window(int messages) {
  window_ = messages;
  aim(peer_, sends_, receives_);
}

double Streamer::window(bool on_call) {
  const int count = static_cast<int>(size_);
  std::size_t posted = 0;
  for (int m = 0; receives_ && m < window_; ++m) {
    MPI_Irecv(in_.data() + static_cast<std::size_t>(m) * size_, count, MPI_BYTE, peer_, tags::stream, comm_,
              &requests_[posted++]);
  }
  if (on_call && receives_) MPI_Send(nullptr, 0, MPI_BYTE, peer_, tags::ready, comm_);
  if (on_call && sends_) MPI_Recv(nullptr, 0, MPI_BYTE, peer_, tags::ready, comm_, MPI_STATUS_IGNORE);
  const double start_s = MPI_Wtime();
  for (int m = 0; sends_ && m < window_; ++m) {
    MPI_Isend(out_.data(), count, MPI_BYTE, peer_, tags::stream, comm_, &requests_[posted++]);
  }
  MPI_Waitall(static_cast<int>(posted), requests_.data(), MPI_STATUSES_IGNORE);
  // One way, the sender knows of the last arrival only by an answer.
  if (receives_ && !sends_) MPI_Send(nullptr, 0, MPI_BYTE, peer_, tags::answer, comm_);
  if (sends_ && !receives_) MPI_Recv(nullptr, 0, MPI_BYTE, peer_, tags::answer, comm_, MPI_STATUS_IGNORE);
  return MPI_Wtime() - start_s;
}

bool Streamer::checked_window(unsigned number, bool on_call) {
  if (sends_) fill_payload(out_.data(), size_, rank_, number);
  std::fill(in_.begin(), in_.end(), static_cast<unsigned char>(0));
  window(on_call);
  for (int m = 0; receives_ && m < window_; ++m) {
    if (!payload_arrived(in_.data() + static_cast<std::size_t>(m) * size_, size_, peer_, number)) return false;
  }
  return true;
}

void require_stream(const Halves& halves, const Stream& stream, std::size_t size_bytes) {
  require_size(size_bytes);
  constexpr std::size_t limit = std::size_t{4} << 30;
  if (size_bytes > limit / static_cast<std::size_t>(stream.window)) {
    throw std::invalid_argument("a window of " + std::to_string(stream.window) + " messages of " + std::to_string(size_bytes) +
                                " B needs more than 4 GiB: choose a smaller size");
  }
  if (stream.pairs > halves.pairs()) {
    throw std::invalid_argument(std::to_string(stream.pairs) + " pairs need " + std::to_string(2 * stream.pairs) + " ranks");
  }
}

TimedTogether measure_stream(MPI_Comm world, const Halves& halves, const Stream& stream, std::size_t size_bytes,
                             const Sampling& sampling) {
  require_stream(halves, stream, size_bytes);
  Streamer streamer(halves.comm(), stream.window, size_bytes);
  int rank = 0;
  MPI_Comm_rank(halves.comm(), &rank);
  const bool streams = halves.pair() < stream.pairs;
  streamer.aim(1 - rank, streams && (rank == 0 || stream.bidirectional), streams && (rank == 1 || stream.bidirectional));
  return time_together(
      world, sampling, [&] { streamer.window(); }, [&](unsigned number) { return streamer.checked_window(number); },
      From::first_start);
}

}  // namespace rankwise
