#include "measure/pair.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "grid/names.hpp"
#include "measure/sampling.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

constexpr int alternating_rounds = 4;
constexpr std::array<Name<PairOperation>, 4> operations{{{"send", PairOperation::send},
                                                         {"ssend", PairOperation::ssend},
                                                         {"exchange", PairOperation::exchange},
                                                         {"burst", PairOperation::burst}}};

// The memory of two ranks for messages to each other.
class Buffers {
 public:
  // messages: so many come at once.
  Buffers(MPI_Comm comm, std::size_t size_bytes, std::size_t messages = 1)
      : pair(comm),
        size(size_bytes),
        count(static_cast<int>(size_bytes)),
        out(std::max<std::size_t>(1, size_bytes)),
        in(std::max<std::size_t>(1, size_bytes * messages)) {
    MPI_Comm_rank(pair, &rank);
    peer = 1 - rank;
  }

  // One message from a rank to the other, checked by the receiver.
  bool checked(int from, unsigned number) {
    if (rank == from) {
      fill_payload(out.data(), size, rank, number);
      MPI_Send(out.data(), count, MPI_BYTE, peer, tags::overhead, pair);
      return true;
    }
    std::fill(in.begin(), in.end(), static_cast<unsigned char>(0));
    MPI_Recv(in.data(), count, MPI_BYTE, peer, tags::overhead, pair, MPI_STATUS_IGNORE);
    return payload_arrived(in.data(), size, peer, number);
  }

  void call() const { MPI_Send(nullptr, 0, MPI_BYTE, peer, tags::call, pair); }
  void hear() const { MPI_Recv(nullptr, 0, MPI_BYTE, peer, tags::call, pair, MPI_STATUS_IGNORE); }

  MPI_Comm pair;
  std::size_t size;
  int count;
  std::vector<unsigned char> out;
  std::vector<unsigned char> in;
  int rank = 0;
  int peer = 1;
};

class Pair : private Buffers {
 public:
  Pair(MPI_Comm comm, PairOperation operation, std::size_t size_bytes)
      : Buffers(comm, size_bytes, static_cast<std::size_t>(messages_in_flight(operation))),
        operation_(operation),
        messages_(messages_in_flight(operation)) {}

  // One sample; returns its time as this rank sees it.
  double sample() {
    const double start_s = steady_s();
    for (int i = 0; i < rounds_; ++i) round();
    return steady_s() - start_s;
  }

  // Agrees on the rounds of a sample, one where rounds are dear; else the quickest of a few tells how long a round is.
  void set_rounds(double first_round_s) {
    constexpr double dear_s = 0.1;
    constexpr std::size_t large_bytes = 16384;
    double quickest_s = 1e9;
    rounds_ = 1;
    if (!by_first(pair, first_round_s < dear_s || size < large_bytes)) return;
    int samples = 0;
    do {
      quickest_s = std::min(quickest_s, sample());
    } while (by_first(pair, ++samples < 5 && quickest_s < 1e-3));
    if (operation_ == PairOperation::exchange || operation_ == PairOperation::burst) {
      rounds_ = alternating_rounds;
    } else {
      static const double clock_cost_s = measure_timer().cost_s;
      rounds_ = rounds_for_clock(quickest_s, clock_cost_s);
    }
    MPI_Bcast(&rounds_, 1, MPI_INT, 0, pair);
  }

  [[nodiscard]] int rounds() const { return rounds_; }

  void round() {
    switch (operation_) {
      case PairOperation::send: ping_pong(MPI_Send); break;
      case PairOperation::ssend: ping_pong(MPI_Ssend); break;
      case PairOperation::exchange:
      case PairOperation::burst: both_ways(); break;
    }
  }

  bool checked_round(unsigned number) {
    fill_payload(out.data(), size, rank, number);
    std::fill(in.begin(), in.end(), static_cast<unsigned char>(0));
    round();
    for (int m = 0; m < messages_; ++m) {
      if (!payload_arrived(in.data() + static_cast<std::size_t>(m) * size, size, peer, number)) return false;
    }
    return true;
  }

 private:
  template <typename Send>
  void ping_pong(Send send) {
    if (rank == 0) send(out.data(), count, MPI_BYTE, peer, tags::pingpong, pair);
    MPI_Recv(in.data(), count, MPI_BYTE, peer, tags::pingpong, pair, MPI_STATUS_IGNORE);
    if (rank == 1) send(out.data(), count, MPI_BYTE, peer, tags::pingpong, pair);
  }

  void both_ways() {
    std::array<MPI_Request, 2 * burst_messages> requests;
    for (int m = 0; m < messages_; ++m) {
      MPI_Irecv(in.data() + static_cast<std::size_t>(m) * size, count, MPI_BYTE, peer, tags::pingpong, pair,
                &requests[static_cast<std::size_t>(m)]);
    }
    for (int m = 0; m < messages_; ++m) {
      MPI_Isend(out.data(), count, MPI_BYTE, peer, tags::pingpong, pair, &requests[static_cast<std::size_t>(messages_ + m)]);
    }
    wait_all(2 * messages_, requests.data());
  }

  PairOperation operation_;
  int messages_;
  int rounds_ = 1;
};

}  // namespace

PairOperation parse_pair_operation(const std::string& name) { return parsed(operations, name, "operation"); }
std::string to_string(PairOperation operation) { return named(operations, operation); }

int messages_in_flight(PairOperation operation) { return operation == PairOperation::burst ? burst_messages : 1; }

int rounds_for_clock(double round_s, double clock_cost_s) {
  constexpr double share = 0.05;
  return static_cast<int>(std::clamp(std::ceil(clock_cost_s / (share * std::max(round_s, 1e-9))), 1.0, 1000.0));
}

PairSamples measure_pair(MPI_Comm comm, PairOperation operation, std::size_t size_bytes, const Sampling& sampling) {
  require_size(size_bytes);
  Pair pair(comm, operation, size_bytes);
  const Samples samples = take_samples(
      comm, sampling, [&] { return pair.sample(); }, [&](unsigned number) { return pair.checked_round(number); },
      [&](double first_round_s) { pair.set_rounds(first_round_s); });
  return {samples, pair.rounds()};
}

namespace {

void wait_s(double seconds) {
  for (const double end_s = steady_s() + seconds; steady_s() < end_s;) {
  }
}

double round_trip_s(Buffers& buffers, int rounds = 5) {
  double quickest_s = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double start_s = steady_s();
    for (const int from : {0, 1}) {
      if (buffers.rank == from) {
        MPI_Send(buffers.out.data(), buffers.count, MPI_BYTE, buffers.peer, tags::overhead, buffers.pair);
      } else {
        MPI_Recv(buffers.in.data(), buffers.count, MPI_BYTE, buffers.peer, tags::overhead, buffers.pair, MPI_STATUS_IGNORE);
      }
    }
    quickest_s = std::min(quickest_s, steady_s() - start_s);
  }
  MPI_Bcast(&quickest_s, 1, MPI_DOUBLE, 0, buffers.pair);
  return quickest_s;
}

using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

// How late the other side is, and how often a size is tried.
struct Trial {
  double late_s;
  int tries;
};

// Whether a send ends well before the receiver, which sleeps outside MPI, posts its receive.
bool returns_alone(Buffers& buffers, Send send, const Trial& trial) {
  const auto [late_s, tries] = trial;
  int alone = 0;
  for (int i = 0; i < tries; ++i) {
    MPI_Barrier(buffers.pair);
    if (buffers.rank == 0) {
      const double start_s = steady_s();
      send(buffers.out.data(), buffers.count, MPI_BYTE, 1, tags::overhead, buffers.pair);
      if (steady_s() - start_s < late_s / 2) ++alone;
    } else {
      sleep_s(late_s);
      MPI_Recv(buffers.in.data(), buffers.count, MPI_BYTE, 0, tags::overhead, buffers.pair, MPI_STATUS_IGNORE);
    }
  }
  MPI_Bcast(&alone, 1, MPI_INT, 0, buffers.pair);
  return 2 * alone > tries;
}

// Whether sends to each other both end while neither receives, though both give MPI every chance to move them.
bool passes_head_to_head(Buffers& buffers, const Trial& trial) {
  const auto [late_s, tries] = trial;
  int passed = 0;
  for (int i = 0; i < tries; ++i) {
    MPI_Barrier(buffers.pair);
    MPI_Request request;
    MPI_Isend(buffers.out.data(), buffers.count, MPI_BYTE, buffers.peer, tags::overhead, buffers.pair, &request);
    int done = 0;
    for (const double end_s = steady_s() + late_s; done == 0 && steady_s() < end_s;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    // Nobody receives before both have seen how it went.
    MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_MIN, buffers.pair);
    MPI_Recv(buffers.in.data(), buffers.count, MPI_BYTE, buffers.peer, tags::overhead, buffers.pair, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    passed += done;
  }
  return 2 * passed > tries;
}

// Searches sizes for protocol limits: all where messages are quick, else as many as there is time for.
class Search {
 public:
  Search(Buffers& buffers, long long largest_bytes, double seconds)
      : buffers_(buffers), largest_bytes_(largest_bytes), end_s_(steady_s() + seconds) {}

  // So late that copying or carrying messages of a size cannot be taken for waiting.
  Trial trial(long long size) {
    buffers_.count = static_cast<int>(size);
    if (between_) return trial_;
    constexpr double long_s = 0.1;  // which no chance delay of a rank comes near
    const bool is_long = trial_.late_s > long_s;
    trial_.late_s = std::max(2e-3, 4 * round_trip_s(buffers_, is_long ? 2 : 5));
    trial_.tries = trial_.late_s > long_s ? 1 : 3;
    tried_bytes_ = std::max(tried_bytes_, size);
    return trial_;
  }

  // The largest size, from -1 (none) on, at which something holds that holds for all smaller ones. likely: what it may be.
  template <typename Holds>
  long long largest_where(long long likely, Holds holds) {
    trial_.late_s = 0.0;
    between_ = false;
    long long yes = -1;
    long long no = largest_bytes_ + 1;
    const auto look_at = [&](long long size) { (holds(size) ? yes : no) = size; };
    look_at(likely);
    if (yes < likely) look_at(0);
    for (long long size = yes + 1; yes >= 0 && size < no && is_time(true); size = std::min(2 * size, largest_bytes_)) {
      look_at(size);
      if (yes == largest_bytes_) break;
    }
    between_ = no <= largest_bytes_;  // none is longer than the last one
    while (yes >= 0 && between_ && no - yes > 1 && is_time(no - yes > yes / 16)) look_at(yes + (no - yes) / 2);
    return yes;
  }

  [[nodiscard]] long long tried_bytes() const { return tried_bytes_; }

 private:
  // must: what is sought to a sixteenth is sought beyond the time, too, while messages take less than some tenths of a second.
  [[nodiscard]] bool is_time(bool must) const {
    constexpr double dear_s = 1.0;
    return by_first(buffers_.pair, steady_s() < end_s_ || (must && trial_.late_s < dear_s));
  }

  Buffers& buffers_;
  long long largest_bytes_;
  double end_s_;
  Trial trial_{0.0, 3};
  bool between_ = false;  // a size that holds and one that does not
  long long tried_bytes_ = 0;
};

}  // namespace

Samples measure_send_overhead(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling) {
  require_size(size_bytes);
  Buffers buffers(pair, size_bytes);
  // The receiver calls when it is about to post its receive; after a while it has.
  const double settled_s = round_trip_s(buffers);
  const auto sample = [&] {
    double time_s = 0.0;
    if (buffers.rank == 0) {
      buffers.hear();
      wait_s(settled_s);
      const double start_s = steady_s();
      MPI_Send(buffers.out.data(), buffers.count, MPI_BYTE, 1, tags::overhead, pair);
      time_s = steady_s() - start_s;
    } else {
      MPI_Request request;
      MPI_Irecv(buffers.in.data(), buffers.count, MPI_BYTE, 0, tags::overhead, pair, &request);
      buffers.call();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return time_s;
  };
  return take_samples(pair, sampling, sample, [&](unsigned number) { return buffers.checked(0, number); });
}

Samples measure_receive_overhead(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling) {
  require_size(size_bytes);
  Buffers buffers(pair, size_bytes);
  const double there_s = 3 * round_trip_s(buffers) + 2e-6;
  const auto sample = [&] {
    double time_s = 0.0;
    if (buffers.rank == 0) {
      buffers.call();
      wait_s(there_s);
      const double start_s = steady_s();
      MPI_Recv(buffers.in.data(), buffers.count, MPI_BYTE, 1, tags::overhead, pair, MPI_STATUS_IGNORE);
      time_s = steady_s() - start_s;
    } else {
      buffers.hear();
      MPI_Send(buffers.out.data(), buffers.count, MPI_BYTE, 0, tags::overhead, pair);
    }
    return time_s;
  };
  return take_samples(pair, sampling, sample, [&](unsigned number) { return buffers.checked(1, number); });
}

Samples measure_gap(MPI_Comm pair, std::size_t size_bytes, const Sampling& sampling) {
  require_size(size_bytes);
  Buffers buffers(pair, size_bytes);
  const auto sample = [&] {
    const double start_s = steady_s();
    for (int i = 0; i < gap_messages; ++i) {
      if (buffers.rank == 0) {
        MPI_Send(buffers.out.data(), buffers.count, MPI_BYTE, 1, tags::overhead, pair);
      } else {
        MPI_Recv(buffers.in.data(), buffers.count, MPI_BYTE, 0, tags::overhead, pair, MPI_STATUS_IGNORE);
      }
    }
    if (buffers.rank == 0) {
      buffers.hear();
    } else {
      buffers.call();
    }
    return steady_s() - start_s;
  };
  return take_samples(pair, sampling, sample, [&](unsigned number) { return buffers.checked(0, number); });
}

ProtocolLimits find_protocol_limits(MPI_Comm pair, long long largest_bytes, double seconds) {
  Buffers buffers(pair, static_cast<std::size_t>(largest_bytes));
  Search search(buffers, largest_bytes, seconds);
  const auto returns = [&](long long size) { return returns_alone(buffers, MPI_Send, search.trial(size)); };
  const auto passes = [&](long long size) { return passes_head_to_head(buffers, search.trial(size)); };
  ProtocolLimits limits;
  limits.send_returns_up_to_bytes = search.largest_where(0, returns);
  limits.largest_tried_bytes = search.tried_bytes();
  limits.head_to_head_up_to_bytes = search.largest_where(std::max(0LL, limits.send_returns_up_to_bytes), passes);
  buffers.count = 0;
  limits.ssend_returns_up_to_bytes = returns_alone(buffers, MPI_Ssend, {2e-3, 3}) ? 0 : -1;
  return limits;
}

}  // namespace rankwise
