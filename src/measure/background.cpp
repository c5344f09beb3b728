#include "measure/background.hpp"

#include <array>
#include <cstddef>
#include <vector>

#include "measure/sampling.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

enum Order : int { begin, end, leave };

// Waits without holding the processor: a rank that polls inside MPI would be a load by itself.
void doze_until_message(MPI_Comm comm, int source, int tag) {
  for (int there = 0; there == 0;) {
    MPI_Iprobe(source, tag, comm, &there, MPI_STATUS_IGNORE);
    if (there == 0) sleep_s(500e-6);
  }
}

// One pair's traffic: windows of messages both ways at once.
class Traffic {
 public:
  explicit Traffic(MPI_Comm pair) : pair_(pair), out_(message_bytes, 0x3C), in_(messages * message_bytes) {
    const int rank = rank_of(pair);
    peer_ = 1 - rank;
  }

  void window() {
    std::array<MPI_Request, 2 * messages> requests;
    for (std::size_t m = 0; m < messages; ++m) {
      MPI_Irecv(in_.data() + m * message_bytes, message_bytes, MPI_BYTE, peer_, tags::payload, pair_, &requests[m]);
    }
    for (std::size_t m = 0; m < messages; ++m) {
      MPI_Isend(out_.data(), message_bytes, MPI_BYTE, peer_, tags::payload, pair_, &requests[messages + m]);
    }
    MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE);
  }

  static constexpr double window_bytes() { return 2.0 * messages * message_bytes; }

 private:
  static constexpr std::size_t messages = 8;
  static constexpr std::size_t message_bytes = 32 * 1024;
  MPI_Comm pair_;
  std::vector<unsigned char> out_;
  std::vector<unsigned char> in_;
  int peer_ = 1;
};

// The lower rank of a pair leads: it hears the orders, counts, and tells its partner after each window whether to go on.
void lead(MPI_Comm world, MPI_Comm pair, const LoadLimits& limits) {
  Traffic traffic(pair);
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
      bytes += Traffic::window_bytes();
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
  Traffic traffic(pair);
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
