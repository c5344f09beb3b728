#include "measure/pingpong.hpp"

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

Samples measure_pair(MPI_Comm comm, PairOperation operation, std::size_t size_bytes, const Sampling& sampling) {
  require_size(size_bytes);
  Pair pair(comm, operation, size_bytes);
  return take_samples(
      comm, sampling, [&] { return pair.sample(); }, [&](unsigned number) { return pair.checked_round(number); });
}

}  // namespace rankwise
