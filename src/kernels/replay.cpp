// The step of an observed program, carried out again, and the gathering of rows of memory by itself.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "halo/copy.hpp"
#include "kernels/interface.hpp"
#include "measure/sampling.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

// Messages whose bytes are rows of memory: as a halo's are, gathered before they are sent.

constexpr std::size_t row_gap_bytes = 256;

std::size_t rows_of(std::size_t bytes, std::size_t row_bytes) { return (bytes + row_bytes - 1) / row_bytes; }
// How much memory a message's rows take, and the message itself, filled up to whole rows.
std::size_t rows_memory(std::size_t bytes, std::size_t row_bytes) {
  return rows_of(bytes, row_bytes) * (row_bytes + row_gap_bytes);
}
std::size_t rows_message(std::size_t bytes, std::size_t row_bytes) { return rows_of(bytes, row_bytes) * row_bytes; }

BoxCopy rows_into_message(std::size_t bytes, std::size_t row_bytes) {
  BoxCells extent{};
  BoxSteps from{};
  BoxSteps into{};
  extent[0] = static_cast<Index>(rows_of(bytes, row_bytes));
  from[0] = static_cast<Bytes>(row_bytes + row_gap_bytes);
  into[0] = static_cast<Bytes>(row_bytes);
  return BoxCopy::of_box(1, extent, row_bytes, from, into);
}

// Half of there and back.
double copy_s(std::size_t bytes, std::size_t row_bytes, double batch_s) {
  const BoxCopy pack = rows_into_message(bytes, row_bytes);
  const BoxCopy unpack = pack.reversed();
  std::vector<std::byte> memory(rows_memory(bytes, row_bytes), std::byte{1});
  std::vector<std::byte> message(rows_message(bytes, row_bytes), std::byte{2});
  return median_of_batches_s(batch_s,
                             [&] {
                               run(pack, message.data(), memory.data());
                               run(unpack, memory.data(), message.data());
                             }) /
         2;
}

}  // namespace

void run_pack(Arguments& arguments) {
  const std::vector<long long> sizes = arguments.integers("sizes", "1024,4096,16384,65536,262144,1048576,4194304");
  const std::vector<long long> rows = arguments.integers("rows", "8,64,256");
  arguments.expect_all_used();
  const int rank = rank_of(MPI_COMM_WORLD);
  if (rank != 0) return;
  for (const long long row_bytes : rows) {
    for (const long long bytes : sizes) {
      if (row_bytes < 1 || bytes < row_bytes) throw std::invalid_argument("--sizes must be at least --rows, and both positive");
      const double time_s = copy_s(static_cast<std::size_t>(bytes), static_cast<std::size_t>(row_bytes), 2e-3);
      JsonLine("packed").add("row_bytes", row_bytes).add("size_bytes", bytes).add("time_s", time_s).print();
    }
  }
}

// The step of an observed program, carried out again: the same messages between the same ranks, phase by phase, with computing
// (as sleep) before them, from a file:
//     rankwise-step 1 RANKS PHASES
// and of each phase the number of ranks that compute and of messages, then a line for each: rank seconds; from to bytes. Version 2 has
// a fourth figure with each message: the bytes of the rows that it is gathered from before it is sent, and put back to; 0 for none.

namespace {

struct ReplayedMessage {
  int peer = 0;
  std::size_t bytes = 0;
  std::size_t offset = 0;  // into what is sent or received
  std::size_t row_bytes = 0;
  std::size_t memory = 0;  // where its rows begin
};

struct ReplayedPhase {
  double compute_s = 0.0;
  std::vector<ReplayedMessage> sends;
  std::vector<ReplayedMessage> receives;
};

struct ReplayedStep {
  std::vector<ReplayedPhase> phases;
  std::size_t sent = 0;  // bytes
  std::size_t received = 0;
  std::size_t sent_rows = 0;  // memory of all rows
  std::size_t received_rows = 0;
  std::size_t payload = 0;  // bytes sent
  long long messages = 0;
};

// Rank 0 reads: others may not see the file. Empty where it cannot be read, or has more than 2 GiB.
std::string broadcast_file(const std::string& path) {
  std::string text;
  if (rank_of(MPI_COMM_WORLD) == 0) {
    std::ifstream file(path);
    std::ostringstream all;
    if (file) all << file.rdbuf();
    if (all.view().size() <= 0x7FFFFFFF) text = all.str();
  }
  share_text(MPI_COMM_WORLD, text);
  return text;
}

ReplayedStep read_step(const std::string& path) {
  std::istringstream text(broadcast_file(path));
  const int rank = rank_of(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  std::string magic;
  int version = 0;
  int ranks = 0;
  std::size_t phases = 0;
  if (!(text >> magic >> version >> ranks >> phases) || magic != "rankwise-step" || version < 1 || version > 2) {
    throw std::invalid_argument("--step " + path + " is no step of an observed program, or cannot be read");
  }
  if (ranks != size) {
    throw std::invalid_argument("--step " + path + " is of " + std::to_string(ranks) + " ranks, not " + std::to_string(size));
  }
  ReplayedStep step;
  for (std::size_t number = 0; number < phases; ++number) {
    ReplayedPhase phase;
    std::size_t computing = 0;
    std::size_t messages = 0;
    text >> computing >> messages;
    for (std::size_t i = 0; text && i < computing; ++i) {
      int who = 0;
      double seconds = 0.0;
      text >> who >> seconds;
      if (seconds < 0.0 || seconds > 1e6) text.setstate(std::ios::failbit);
      if (who == rank) phase.compute_s = seconds;
    }
    for (std::size_t i = 0; text && i < messages; ++i) {
      int from = 0;
      int to = 0;
      std::size_t bytes = 0;
      std::size_t row_bytes = 0;
      text >> from >> to >> bytes;
      if (version == 2) text >> row_bytes;
      if (from < 0 || from >= size || to < 0 || to >= size || bytes > 0x7FFFFFFF || row_bytes > 0x7FFFFFFF)
        text.setstate(std::ios::failbit);
      if (from == rank) {
        phase.sends.push_back({to, bytes, step.sent, row_bytes, step.sent_rows});
        step.sent += row_bytes > 0 ? rows_message(bytes, row_bytes) : bytes;
        if (row_bytes > 0) step.sent_rows += rows_memory(bytes, row_bytes);
        step.payload += bytes;
        ++step.messages;
      }
      if (to == rank) {
        phase.receives.push_back({from, bytes, step.received, row_bytes, step.received_rows});
        step.received += row_bytes > 0 ? rows_message(bytes, row_bytes) : bytes;
        if (row_bytes > 0) step.received_rows += rows_memory(bytes, row_bytes);
      }
    }
    if (!text) throw std::invalid_argument("--step " + path + " ends early, or has a message that cannot be");
    step.phases.push_back(std::move(phase));
  }
  return step;
}

}  // namespace

void run_replay(Arguments& arguments) {
  const std::string path = arguments.text("step", "");
  const std::string mode = arguments.text("mode", "isend");
  const Repetitions repetitions = parse_repetitions(arguments);
  arguments.expect_all_used();
  if (mode != "isend" && mode != "ssend") throw std::invalid_argument("--mode '" + mode + "' is neither isend nor ssend");
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  const ReplayedStep step = read_step(path);
  std::vector<unsigned char> out(std::max<std::size_t>(1, step.sent));
  std::vector<unsigned char> in(std::max<std::size_t>(1, step.received));
  // In a simulation copies take no time.
  std::vector<std::byte> out_rows(is_simulated ? 0 : step.sent_rows);
  std::vector<std::byte> in_rows(is_simulated ? 0 : step.received_rows);
  std::vector<MPI_Request> requests;
  const auto gather = [&](const ReplayedMessage& message) {
    if (message.row_bytes == 0 || is_simulated) return;
    run(rows_into_message(message.bytes, message.row_bytes), reinterpret_cast<std::byte*>(out.data() + message.offset),
        out_rows.data() + message.memory);
  };
  const auto put_back = [&](const ReplayedMessage& message, std::vector<std::byte>& rows,
                            const std::vector<unsigned char>& from) {
    if (message.row_bytes == 0 || is_simulated) return;
    run(rows_into_message(message.bytes, message.row_bytes).reversed(), rows.data() + message.memory,
        reinterpret_cast<const std::byte*>(from.data() + message.offset));
  };

  const auto content = [](std::uint64_t number, std::size_t phase, int to) {
    return static_cast<unsigned>(number) + 131U * static_cast<unsigned>(phase) + static_cast<unsigned>(to);
  };
  const auto fill = [&](std::uint64_t number) {
    for (std::size_t i = 0; i < step.phases.size(); ++i) {
      for (const ReplayedMessage& message : step.phases[i].sends) {
        fill_payload(out.data() + message.offset, message.bytes, rank, content(number, i, message.peer));
        put_back(message, out_rows, out);
      }
    }
    std::fill(in.begin(), in.end(), static_cast<unsigned char>(0));
  };
  const auto step_once = [&] {
    for (std::size_t i = 0; i < step.phases.size(); ++i) {
      const ReplayedPhase& phase = step.phases[i];
      const int tag = static_cast<int>(i % 32768);
      if (phase.compute_s > 0) sleep_s(phase.compute_s);  // in a simulation it costs simulated time
      requests.clear();
      for (const ReplayedMessage& message : phase.receives) {
        requests.emplace_back();
        mpi(MPI_Irecv(in.data() + message.offset, static_cast<int>(message.bytes), MPI_BYTE, message.peer, tag, MPI_COMM_WORLD,
                      &requests.back()));
      }
      for (const ReplayedMessage& message : phase.sends) {
        gather(message);
        if (mode == "ssend") {
          mpi(MPI_Ssend(out.data() + message.offset, static_cast<int>(message.bytes), MPI_BYTE, message.peer, tag,
                        MPI_COMM_WORLD));
          continue;
        }
        requests.emplace_back();
        mpi(MPI_Isend(out.data() + message.offset, static_cast<int>(message.bytes), MPI_BYTE, message.peer, tag, MPI_COMM_WORLD,
                      &requests.back()));
      }
      mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
      for (const ReplayedMessage& message : phase.receives) put_back(message, in_rows, in);
    }
  };
  int wrong = -1;
  const auto check = [&](std::uint64_t number) {
    for (std::size_t i = 0; i < step.phases.size() && wrong < 0; ++i) {
      for (const ReplayedMessage& message : step.phases[i].receives) {
        if (!payload_arrived(in.data() + message.offset, message.bytes, message.peer, content(number, i, rank))) {
          wrong = message.peer;
        }
      }
    }
  };
  const ClockOffset clock = synchronise(MPI_COMM_WORLD);
  const Timed timed = time_repetitions(MPI_COMM_WORLD, clock, repetitions, {fill, step_once, check});
  if (wrong >= 0) std::fprintf(stderr, "rankwise-kernels: rank %d: a message of rank %d did not arrive\n", rank, wrong);
  const bool good = by_all(MPI_COMM_WORLD, wrong < 0);
  std::array<long long, 2> most{step.messages, static_cast<long long>(step.payload)};
  MPI_Allreduce(MPI_IN_PLACE, most.data(), 2, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  if (rank != 0) return;
  JsonLine("samples")
      .add("kernel", "replay")
      .add("ranks", static_cast<long long>(ranks))
      .add("messages_per_rank", most[0])
      .add("bytes_per_rank", most[1])
      .add("late", static_cast<long long>(timed.late))
      .add("verified", good)
      .add("time_s", timed.time_s)
      .print();
}

}  // namespace rankwise
