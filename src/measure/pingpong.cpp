#include "measure/pingpong.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace rankwise {

namespace {

constexpr int tag = 72;
constexpr std::array<std::pair<const char*, PairOperation>, 4> operations{{{"send", PairOperation::send},
                                                                          {"ssend", PairOperation::ssend},
                                                                          {"exchange", PairOperation::exchange},
                                                                          {"burst", PairOperation::burst}}};

// A byte that depends on who sent it, in which round, and where in the message it stands.
unsigned char expected_byte(int sender, unsigned round, std::size_t i) {
  return static_cast<unsigned char>(0x5A + 131 * sender + 29 * static_cast<int>(round % 256) +
                                    static_cast<int>(i % 251) + static_cast<int>((i / 251) % 256));
}

long long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

class Pair {
 public:
  Pair(MPI_Comm comm, PairOperation operation, std::size_t size_bytes)
      : comm_(comm),
        operation_(operation),
        size_(size_bytes),
        messages_(messages_in_flight(operation)),
        out_(std::max<std::size_t>(1, size_bytes)),
        in_(std::max<std::size_t>(1, size_bytes * static_cast<std::size_t>(messages_))) {
    MPI_Comm_rank(comm, &rank_);
    peer_ = 1 - rank_;
  }

  // One sample; returns its time as this rank sees it.
  double sample() {
    const double start_s = MPI_Wtime();
    for (int i = 0; i < rounds_per_sample(operation_); ++i) round();
    return MPI_Wtime() - start_s;
  }

  void round() {
    switch (operation_) {
      case PairOperation::send:
        ping_pong(MPI_Send);
        break;
      case PairOperation::ssend:
        ping_pong(MPI_Ssend);
        break;
      case PairOperation::exchange:
      case PairOperation::burst:
        both_ways();
        break;
    }
  }

  void fill(unsigned number) {
    for (std::size_t i = 0; i < size_; ++i) out_[i] = expected_byte(rank_, number, i);
    std::fill(in_.begin(), in_.end(), static_cast<unsigned char>(0));
  }

  [[nodiscard]] bool arrived(unsigned number) const {
    for (int m = 0; m < messages_; ++m) {
      const unsigned char* message = in_.data() + static_cast<std::size_t>(m) * size_;
      for (std::size_t i = 0; i < size_; ++i) {
        if (message[i] != expected_byte(peer_, number, i)) return false;
      }
    }
    return true;
  }

 private:
  template <typename Send>
  void ping_pong(Send send) {
    const int count = static_cast<int>(size_);
    if (rank_ == 0) send(out_.data(), count, MPI_BYTE, peer_, tag, comm_);
    MPI_Recv(in_.data(), count, MPI_BYTE, peer_, tag, comm_, MPI_STATUS_IGNORE);
    if (rank_ == 1) send(out_.data(), count, MPI_BYTE, peer_, tag, comm_);
  }

  void both_ways() {
    const int count = static_cast<int>(size_);
    std::array<MPI_Request, 2 * burst_messages> requests;
    for (int m = 0; m < messages_; ++m) {
      MPI_Irecv(in_.data() + static_cast<std::size_t>(m) * size_, count, MPI_BYTE, peer_, tag, comm_,
                &requests[static_cast<std::size_t>(m)]);
    }
    for (int m = 0; m < messages_; ++m) {
      MPI_Isend(out_.data(), count, MPI_BYTE, peer_, tag, comm_, &requests[static_cast<std::size_t>(messages_ + m)]);
    }
    MPI_Waitall(2 * messages_, requests.data(), MPI_STATUSES_IGNORE);
  }

  MPI_Comm comm_;
  PairOperation operation_;
  std::size_t size_;
  int messages_;
  std::vector<unsigned char> out_;
  std::vector<unsigned char> in_;
  int rank_ = 0;
  int peer_ = 1;
};

}  // namespace

PairOperation parse_pair_operation(const std::string& name) {
  for (const auto& [id, operation] : operations) {
    if (name == id) return operation;
  }
  throw std::invalid_argument("operation '" + name + "' is unknown: choose send, ssend, exchange or burst");
}

std::string to_string(PairOperation operation) {
  for (const auto& [id, value] : operations) {
    if (operation == value) return id;
  }
  return "?";
}

int messages_in_flight(PairOperation operation) { return operation == PairOperation::burst ? burst_messages : 1; }

int rounds_per_sample(PairOperation operation) {
  return operation == PairOperation::exchange || operation == PairOperation::burst ? 4 : 1;
}

PairSamples measure_pair(MPI_Comm comm, PairOperation operation, std::size_t size_bytes, const Sampling& sampling) {
  constexpr std::size_t limit = std::size_t{1} << 30;
  if (size_bytes > limit) throw std::invalid_argument("messages above 1 GiB are not measured: choose a smaller size");
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  Pair pair(comm, operation, size_bytes);
  PairSamples samples;

  constexpr unsigned warm_up = 5;
  for (unsigned number = 0; number < warm_up; ++number) {
    pair.fill(number);
    pair.round();
    samples.verified = samples.verified && pair.arrived(number);
  }
  double estimate_s = pair.sample();
  for (int i = 0; i < 2; ++i) estimate_s = std::min(estimate_s, pair.sample());
  int count = static_cast<int>(std::clamp(sampling.budget_s / std::max(estimate_s, 1e-9),
                                          static_cast<double>(sampling.least), static_cast<double>(sampling.most)));
  MPI_Bcast(&count, 1, MPI_INT, 0, comm);

  samples.time_s.resize(static_cast<std::size_t>(count));
  const long long before = involuntary_switches();
  for (double& time_s : samples.time_s) time_s = pair.sample();
  const long long own = involuntary_switches() - before;
  MPI_Reduce(&own, &samples.involuntary_switches, 1, MPI_LONG_LONG, MPI_SUM, 0, comm);

  pair.fill(warm_up);
  pair.round();
  int good = samples.verified && pair.arrived(warm_up) ? 1 : 0;
  int both = 0;
  MPI_Allreduce(&good, &both, 1, MPI_INT, MPI_MIN, comm);
  samples.verified = both == 1;
  if (rank != 0) samples.time_s.clear();
  return samples;
}

}  // namespace rankwise
