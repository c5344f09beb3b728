#include "measure/overhead.hpp"

#include <algorithm>
#include <vector>

#include "measure/pause.hpp"
#include "measure/tags.hpp"

namespace rankwise {

namespace {

constexpr int tries = 3;

class Buffers {
 public:
  Buffers(MPI_Comm comm, std::size_t size_bytes)
      : pair(comm),
        size(size_bytes),
        count(static_cast<int>(size_bytes)),
        out(std::max<std::size_t>(1, size_bytes)),
        in(std::max<std::size_t>(1, size_bytes)) {
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

void wait_s(double seconds) {
  for (const double end_s = MPI_Wtime() + seconds; MPI_Wtime() < end_s;) {
  }
}

double round_trip_s(Buffers& buffers) {
  double quickest_s = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double start_s = MPI_Wtime();
    for (const int from : {0, 1}) {
      if (buffers.rank == from) {
        MPI_Send(buffers.out.data(), buffers.count, MPI_BYTE, buffers.peer, tags::overhead, buffers.pair);
      } else {
        MPI_Recv(buffers.in.data(), buffers.count, MPI_BYTE, buffers.peer, tags::overhead, buffers.pair, MPI_STATUS_IGNORE);
      }
    }
    quickest_s = std::min(quickest_s, MPI_Wtime() - start_s);
  }
  MPI_Bcast(&quickest_s, 1, MPI_DOUBLE, 0, buffers.pair);
  return quickest_s;
}

using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

// Whether a send ends well before the receiver, which sleeps outside MPI, posts its receive.
bool returns_alone(Buffers& buffers, Send send, double late_s) {
  int alone = 0;
  for (int i = 0; i < tries; ++i) {
    MPI_Barrier(buffers.pair);
    if (buffers.rank == 0) {
      const double start_s = MPI_Wtime();
      send(buffers.out.data(), buffers.count, MPI_BYTE, 1, tags::overhead, buffers.pair);
      if (MPI_Wtime() - start_s < late_s / 2) ++alone;
    } else {
      sleep_s(late_s);
      MPI_Recv(buffers.in.data(), buffers.count, MPI_BYTE, 0, tags::overhead, buffers.pair, MPI_STATUS_IGNORE);
    }
  }
  MPI_Bcast(&alone, 1, MPI_INT, 0, buffers.pair);
  return 2 * alone > tries;
}

// Whether sends to each other both end while neither receives, though both give MPI every chance to move them.
bool passes_head_to_head(Buffers& buffers, double late_s) {
  int passed = 0;
  for (int i = 0; i < tries; ++i) {
    MPI_Barrier(buffers.pair);
    MPI_Request request;
    MPI_Isend(buffers.out.data(), buffers.count, MPI_BYTE, buffers.peer, tags::overhead, buffers.pair, &request);
    int done = 0;
    for (const double end_s = MPI_Wtime() + late_s; done == 0 && MPI_Wtime() < end_s;) {
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

// The largest size, of -1 (none) to largest_bytes, at which something holds that holds for all smaller ones.
template <typename Holds>
long long largest_where(long long largest_bytes, Holds holds) {
  if (holds(largest_bytes)) return largest_bytes;
  long long yes = -1;
  for (long long no = largest_bytes; no - yes > 1;) {
    const long long middle = yes + (no - yes) / 2;
    (holds(middle) ? yes : no) = middle;
  }
  return yes;
}

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
      const double start_s = MPI_Wtime();
      MPI_Send(buffers.out.data(), buffers.count, MPI_BYTE, 1, tags::overhead, pair);
      time_s = MPI_Wtime() - start_s;
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
      const double start_s = MPI_Wtime();
      MPI_Recv(buffers.in.data(), buffers.count, MPI_BYTE, 1, tags::overhead, pair, MPI_STATUS_IGNORE);
      time_s = MPI_Wtime() - start_s;
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
    const double start_s = MPI_Wtime();
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
    return MPI_Wtime() - start_s;
  };
  return take_samples(pair, sampling, sample, [&](unsigned number) { return buffers.checked(0, number); });
}

ProtocolLimits find_protocol_limits(MPI_Comm pair, long long largest_bytes) {
  ProtocolLimits limits;
  limits.largest_tried_bytes = largest_bytes;
  Buffers buffers(pair, static_cast<std::size_t>(largest_bytes));
  // So late that copying or carrying the message cannot be taken for waiting.
  const auto at = [&](long long size) -> double {
    buffers.count = static_cast<int>(size);
    return std::max(2e-3, 4 * round_trip_s(buffers));
  };
  limits.send_returns_up_to_bytes =
      largest_where(largest_bytes, [&](long long size) { return returns_alone(buffers, MPI_Send, at(size)); });
  limits.ssend_returns_up_to_bytes = returns_alone(buffers, MPI_Ssend, at(0)) ? 0 : -1;
  limits.head_to_head_up_to_bytes =
      largest_where(largest_bytes, [&](long long size) { return passes_head_to_head(buffers, at(size)); });
  return limits;
}

}  // namespace rankwise
