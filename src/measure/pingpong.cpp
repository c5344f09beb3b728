#include "measure/pingpong.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "measure/clock.hpp"
#include "measure/tags.hpp"
#include "mpi/wait.hpp"

namespace rankwise {

namespace {

constexpr int alternating_rounds = 4;
constexpr std::array<std::pair<const char*, PairOperation>, 4> operations{{{"send", PairOperation::send},
                                                                           {"ssend", PairOperation::ssend},
                                                                           {"exchange", PairOperation::exchange},
                                                                           {"burst", PairOperation::burst}}};

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
    for (int i = 0; i < rounds_; ++i) round();
    return MPI_Wtime() - start_s;
  }

  // Agrees on the rounds of a sample, one where rounds are dear; else the quickest of a few tells how long a round is.
  void set_rounds(double first_round_s) {
    constexpr double dear_s = 0.1;
    constexpr std::size_t large_bytes = 16384;
    double quickest_s = 1e9;
    rounds_ = 1;
    int more = first_round_s < dear_s || size_ < large_bytes ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, comm_);
    if (more == 0) return;
    for (int i = 0; more != 0; ++i) {
      quickest_s = std::min(quickest_s, sample());
      more = i < 4 && quickest_s < 1e-3 ? 1 : 0;
      MPI_Bcast(&more, 1, MPI_INT, 0, comm_);
    }
    if (operation_ == PairOperation::exchange || operation_ == PairOperation::burst) {
      rounds_ = alternating_rounds;
    } else {
      static const double clock_cost_s = measure_timer().cost_s;
      rounds_ = rounds_for_clock(quickest_s, clock_cost_s);
    }
    MPI_Bcast(&rounds_, 1, MPI_INT, 0, comm_);
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
    fill_payload(out_.data(), size_, rank_, number);
    std::fill(in_.begin(), in_.end(), static_cast<unsigned char>(0));
    round();
    for (int m = 0; m < messages_; ++m) {
      if (!payload_arrived(in_.data() + static_cast<std::size_t>(m) * size_, size_, peer_, number)) return false;
    }
    return true;
  }

 private:
  template <typename Send>
  void ping_pong(Send send) {
    const int count = static_cast<int>(size_);
    if (rank_ == 0) send(out_.data(), count, MPI_BYTE, peer_, tags::pingpong, comm_);
    MPI_Recv(in_.data(), count, MPI_BYTE, peer_, tags::pingpong, comm_, MPI_STATUS_IGNORE);
    if (rank_ == 1) send(out_.data(), count, MPI_BYTE, peer_, tags::pingpong, comm_);
  }

  void both_ways() {
    const int count = static_cast<int>(size_);
    std::array<MPI_Request, 2 * burst_messages> requests;
    for (int m = 0; m < messages_; ++m) {
      MPI_Irecv(in_.data() + static_cast<std::size_t>(m) * size_, count, MPI_BYTE, peer_, tags::pingpong, comm_,
                &requests[static_cast<std::size_t>(m)]);
    }
    for (int m = 0; m < messages_; ++m) {
      MPI_Isend(out_.data(), count, MPI_BYTE, peer_, tags::pingpong, comm_, &requests[static_cast<std::size_t>(messages_ + m)]);
    }
    wait_all(2 * messages_, requests.data());
  }

  MPI_Comm comm_;
  PairOperation operation_;
  std::size_t size_;
  int messages_;
  std::vector<unsigned char> out_;
  std::vector<unsigned char> in_;
  int rank_ = 0;
  int peer_ = 1;
  int rounds_ = 1;
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

}  // namespace rankwise
