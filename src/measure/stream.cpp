#include "measure/stream.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/sampling.hpp"
#include "mpi/mpi.hpp"

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
  const double start_s = steady_s();
  for (int m = 0; sends_ && m < window_; ++m) {
    MPI_Isend(out_.data(), count, MPI_BYTE, peer_, tags::stream, comm_, &requests_[posted++]);
  }
  MPI_Waitall(static_cast<int>(posted), requests_.data(), MPI_STATUSES_IGNORE);
  // One way, the sender knows of the last arrival only by an answer.
  if (receives_ && !sends_) MPI_Send(nullptr, 0, MPI_BYTE, peer_, tags::answer, comm_);
  if (sends_ && !receives_) MPI_Recv(nullptr, 0, MPI_BYTE, peer_, tags::answer, comm_, MPI_STATUS_IGNORE);
  return steady_s() - start_s;
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
  const int rank = rank_of(halves.comm());
  const bool streams = halves.pair() < stream.pairs;
  streamer.aim(1 - rank, streams && (rank == 0 || stream.bidirectional), streams && (rank == 1 || stream.bidirectional));
  return time_together(
      world, sampling, [&] { streamer.window(); }, [&](unsigned number) { return streamer.checked_window(number); },
      From::first_start);
}

long long circle_rounds(int ranks) { return ranks + ranks % 2 - 1; }

std::vector<int> circle_partners(const std::vector<long long>& order, long long round) {
  const int ranks = static_cast<int>(order.size());
  const long long rounds = circle_rounds(ranks);
  std::vector<long long> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < ranks; ++i) {
    if (sorted[static_cast<std::size_t>(i)] != i) {
      throw std::invalid_argument("--order must hold each rank from 0 to " + std::to_string(ranks - 1) + " once");
    }
  }
  if (round < 0 || round >= rounds) {
    throw std::invalid_argument("round " + std::to_string(round) + " is none of 0 to " + std::to_string(rounds - 1));
  }
  std::vector<int> partner(order.size(), nobody);
  for (long long i = 0; i < rounds; ++i) {
    const long long meets = (round - i + rounds) % rounds;
    const long long j = meets == i ? rounds : meets;
    if (i >= ranks || j >= ranks) continue;
    const auto a = order[static_cast<std::size_t>(i)];
    const auto b = order[static_cast<std::size_t>(j)];
    partner[static_cast<std::size_t>(a)] = static_cast<int>(b);
    partner[static_cast<std::size_t>(b)] = static_cast<int>(a);
  }
  return partner;
}

PairStreams::PairStreams(MPI_Comm comm, std::vector<StreamShape> shapes) : comm_(comm), shapes_(std::move(shapes)) {
  MPI_Comm_rank(comm, &rank_);
  for (const StreamShape& shape : shapes_) streamers_.emplace_back(comm, std::max(1, shape.messages), shape.size_bytes);
}

void PairStreams::find_shapes(int partner, double stream_s) {
  const std::vector<StreamShape> given = shapes_;
  for (StreamShape& shape : shapes_) shape.messages = shape.repeats = 1;
  const std::vector<double> own_s = round(partner);
  const int ranks = size_of(comm_);
  for (std::size_t which = 0; which < shapes_.size(); ++which) {
    std::vector<double> times_s(static_cast<std::size_t>(ranks));
    MPI_Allgather(&own_s[which], 1, MPI_DOUBLE, times_s.data(), 1, MPI_DOUBLE, comm_);
    times_s.erase(std::remove(times_s.begin(), times_s.end(), 0.0), times_s.end());
    const auto middle = times_s.begin() + static_cast<std::ptrdiff_t>(times_s.size() / 2);
    if (!times_s.empty()) std::nth_element(times_s.begin(), middle, times_s.end());
    const double one_s = times_s.empty() ? stream_s : std::max(*middle, 1e-9);
    StreamShape& shape = shapes_[which];
    constexpr std::size_t small_bytes = 8192;
    const double most = shape.size_bytes <= small_bytes ? 20 : 10;
    shape.messages =
        given[which].messages > 0 ? given[which].messages : static_cast<int>(std::clamp(stream_s / one_s, 1.0, most));
    shape.repeats = given[which].repeats > 0 ? given[which].repeats
                                             : static_cast<int>(std::clamp(stream_s / one_s / shape.messages, 1.0, 5.0));
  }
}

std::vector<double> PairStreams::round(int partner) {
  std::vector<double> times_s;
  for (std::size_t which = 0; which < shapes_.size(); ++which) stream(which, partner, times_s);
  return times_s;
}

void PairStreams::stream(std::size_t which, int partner, std::vector<double>& times_s) {
  const auto repeats = static_cast<std::size_t>(shapes_[which].repeats);
  const std::size_t first = times_s.size();
  times_s.resize(first + repeats, 0.0);
  Streamer& streamer = streamers_[which];
  for (const bool upward : {true, false}) {
    MPI_Barrier(comm_);
    if (partner == nobody) continue;
    const bool sends = (rank_ < partner) == upward;
    streamer.aim(partner, sends, !sends);
    // A message that is checked, which also sets up what the library needs between the two.
    streamer.set_window(1);
    verified_ = streamer.checked_window(number_ + (upward ? 0U : 1U), true) && verified_;
    streamer.set_window(shapes_[which].messages);
    for (std::size_t i = 0; i < repeats; ++i) {
      const double time_s = streamer.window(true);
      if (sends) times_s[first + i] = std::max(time_s, 1e-9);
    }
  }
  number_ += 2;
}

void doze_until_message(MPI_Comm comm, int source, int tag) {
  for (int there = 0; there == 0;) {
    MPI_Iprobe(source, tag, comm, &there, MPI_STATUS_IGNORE);
    if (there == 0) sleep_s(500e-6);
  }
}

namespace {

enum Order : int { begin, end, leave };

// One pair's traffic: windows of messages both ways at once.
constexpr int traffic_messages = 8;
constexpr std::size_t traffic_message_bytes = 32 * 1024;

Streamer traffic_of(MPI_Comm pair) {
  Streamer traffic(pair, traffic_messages, traffic_message_bytes);
  traffic.aim(1 - rank_of(pair), true, true);
  return traffic;
}

// The lower rank of a pair leads: it hears the orders, counts, and tells its partner after each window whether to go on.
void lead(MPI_Comm world, MPI_Comm pair, const LoadLimits& limits) {
  Streamer traffic = traffic_of(pair);
  double spent_s = 0.0;
  double spent_bytes = 0.0;
  for (;;) {
    doze_until_message(world, 0, tags::order);
    int order = leave;
    MPI_Recv(&order, 1, MPI_INT, 0, tags::order, world, MPI_STATUS_IGNORE);
    int go_on = order == begin && spent_s < limits.seconds && spent_bytes < limits.bytes ? 1 : 0;
    if (order == leave) go_on = -1;
    MPI_Send(&go_on, 1, MPI_INT, 1, tags::go_on, pair);
    if (order == leave) return;
    const double begin_s = steady_s();
    double bytes = 0.0;
    int ended = 0;
    if (go_on == 0) MPI_Send(nullptr, 0, MPI_BYTE, 0, tags::report, world);
    while (go_on == 1) {
      traffic.window();
      if (bytes == 0.0) MPI_Send(nullptr, 0, MPI_BYTE, 0, tags::report, world);
      bytes += 2.0 * traffic_messages * traffic_message_bytes;
      MPI_Iprobe(0, tags::order, world, &ended, MPI_STATUS_IGNORE);
      const double now_s = steady_s();
      if (ended != 0 || spent_s + now_s - begin_s >= limits.seconds || spent_bytes + bytes >= limits.bytes) go_on = 0;
      MPI_Send(&go_on, 1, MPI_INT, 1, tags::go_on, pair);
    }
    const double seconds = steady_s() - begin_s;
    spent_s += seconds;
    spent_bytes += bytes;
    doze_until_message(world, 0, tags::order);
    MPI_Recv(&order, 1, MPI_INT, 0, tags::order, world, MPI_STATUS_IGNORE);
    const std::array<double, 2> report{seconds > 0.0 ? bytes / seconds : 0.0, ended != 0 ? 0.0 : 1.0};
    MPI_Send(report.data(), 2, MPI_DOUBLE, 0, tags::report, world);
  }
}

void follow(MPI_Comm pair) {
  Streamer traffic = traffic_of(pair);
  for (;;) {
    doze_until_message(pair, 0, tags::go_on);
    int go_on = 0;
    MPI_Recv(&go_on, 1, MPI_INT, 0, tags::go_on, pair, MPI_STATUS_IGNORE);
    if (go_on == -1) return;
    while (go_on == 1) {
      traffic.window();
      MPI_Recv(&go_on, 1, MPI_INT, 0, tags::go_on, pair, MPI_STATUS_IGNORE);
    }
  }
}

void order_all(MPI_Comm world, int pairs, int order) {
  // The leader of pair i is rank i.
  for (int leader = 1; leader <= pairs; ++leader) MPI_Send(&order, 1, MPI_INT, leader, tags::order, world);
}

}  // namespace

void BackgroundLoad::start() const {
  order_all(world_, pairs_, begin);
  for (int leader = 1; leader <= pairs_; ++leader) {
    MPI_Recv(nullptr, 0, MPI_BYTE, leader, tags::report, world_, MPI_STATUS_IGNORE);
  }
}

Load BackgroundLoad::stop() const {
  order_all(world_, pairs_, end);
  Load load;
  for (int leader = 1; leader <= pairs_; ++leader) {
    std::array<double, 2> report{};
    MPI_Recv(report.data(), 2, MPI_DOUBLE, leader, tags::report, world_, MPI_STATUS_IGNORE);
    load.bytes_per_s += report[0];
    if (report[1] > 0.0) ++load.ended_early;
  }
  return load;
}

void BackgroundLoad::dismiss() const { order_all(world_, pairs_, leave); }

void serve_background(MPI_Comm world, const Halves& halves, const LoadLimits& limits) {
  const int rank = rank_of(halves.comm());
  if (rank == 0) {
    lead(world, halves.comm(), limits);
  } else {
    follow(halves.comm());
  }
}

}  // namespace rankwise
