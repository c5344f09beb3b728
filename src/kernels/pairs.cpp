// The kernels that measure pairs of ranks: ping-pong, one rank with each other, streams, LogGP's parameters.

#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/interface.hpp"
#include "measure/pair.hpp"
#include "measure/stream.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

// Messages between two ranks, one after the other or both ways at once; free, or (-loaded) while further pairs of ranks
// keep the link busy. Rank 0 talks to rank size / 2; all other ranks are the load. With --limits-up-to the sizes up to which
// sends do not wait for the receiver are sought first, in about --limits-s seconds.

namespace {

const std::string loaded_ending = "-loaded";

bool is_loaded(const std::string& operation) { return operation.ends_with(loaded_ending); }

PairOperation operation_of(const Cell& cell) {
  const std::size_t ending = is_loaded(cell.operation) ? loaded_ending.size() : 0;
  return parse_pair_operation(cell.operation.substr(0, cell.operation.size() - ending));
}

// A round of a ping-pong is two messages one after the other.
Outcome outcome_of(PairOperation operation, const PairSamples& samples) {
  const bool there_and_back = operation == PairOperation::send || operation == PairOperation::ssend;
  return {samples, (there_and_back ? 2.0 : 1.0) * samples.rounds, {{"messages", messages_in_flight(operation)}}};
}

// The sizes up to which sends do not wait for the receiver.
void print_limits(MPI_Comm pair, long long largest_bytes, double seconds) {
  const ProtocolLimits limits = find_protocol_limits(pair, largest_bytes, seconds);
  if (rank_of(pair) != 0) return;
  JsonLine("limits")
      .add("send_returns_up_to_bytes", limits.send_returns_up_to_bytes)
      .add("ssend_returns_up_to_bytes", limits.ssend_returns_up_to_bytes)
      .add("head_to_head_up_to_bytes", limits.head_to_head_up_to_bytes)
      .add("largest_tried_bytes", limits.largest_tried_bytes)
      .print();
}

}  // namespace

void run_pingpong(Arguments& arguments) {
  const Cells cells(arguments, "send:0");
  const long long limits_up_to = arguments.integer("limits-up-to", 0);
  const double limits_s = arguments.number("limits-s", 1.0);
  const LoadLimits limits{arguments.number("load-seconds", LoadLimits{}.seconds),
                          arguments.number("load-bytes", LoadLimits{}.bytes)};
  arguments.expect_all_used();
  if (limits_up_to < 0 || limits_up_to > (1 << 30)) throw std::invalid_argument("--limits-up-to is not 0 to 1 GiB");
  if (!(limits_s >= 0)) throw std::invalid_argument("--limits-s is not 0 or more");
  const Halves halves(MPI_COMM_WORLD);
  const BackgroundLoad load(MPI_COMM_WORLD, halves);
  for (const Cell& cell : cells.cells()) {
    (void)operation_of(cell);
    if (is_loaded(cell.operation) && load.pairs() == 0) {
      throw std::invalid_argument("'" + cell.operation + "' needs 2 ranks and 2 more for each pair of the load");
    }
  }
  if (halves.pair() != 0) {
    serve_background(MPI_COMM_WORLD, halves, limits);
    return;
  }
  const int rank = rank_of(MPI_COMM_WORLD);
  if (limits_up_to > 0) print_limits(halves.comm(), limits_up_to, limits_s);
  cells.run("pingpong", halves.comm(), [&](const Cell& cell, const Sampling& sampling) {
    const PairOperation operation = operation_of(cell);
    if (rank == 0 && is_loaded(cell.operation)) load.start();
    Outcome outcome = outcome_of(operation, measure_pair(halves.comm(), operation, cell.size_bytes, sampling));
    if (rank == 0 && is_loaded(cell.operation)) {
      const Load seen = load.stop();
      outcome.counts.insert(outcome.counts.end(), {{"load_pairs", load.pairs()}, {"load_ended_early", seen.ended_early}});
      outcome.figures.emplace_back("load_bytes_per_s", seen.bytes_per_s);
    }
    return outcome;
  });
  if (rank == 0) load.dismiss();
}

// Ping-pong of rank 0 with every other rank in turn (werner2023 section 4.4), while the rest waits without polling.
// Operations: one-to-all-peer-K.

namespace {

constexpr int done_tag = 85;

// Ranks that have no part in it sleep until rank 0 says that it goes on.
void sleep_until_done(int rank, int peer, int ranks) {
  if (rank == 0) {
    for (int other = 1; other < ranks; ++other) {
      if (other != peer) MPI_Send(nullptr, 0, MPI_BYTE, other, done_tag, MPI_COMM_WORLD);
    }
  } else if (rank != peer) {
    doze_until_message(MPI_COMM_WORLD, 0, done_tag);
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, done_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

}  // namespace

void run_one_to_all(Arguments& arguments) {
  const Cells cells(arguments, "one-to-all-peer-1:0");
  arguments.expect_all_used();
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  const auto peer_of = [&](const Cell& cell) {
    const long long peer = number_after(cell.operation, "one-to-all-peer-");
    if (peer < 1 || peer >= ranks) {
      throw std::invalid_argument("operation '" + cell.operation + "' is unknown: write one-to-all-peer-K, K from 1 to " +
                                  std::to_string(ranks - 1));
    }
    return static_cast<int>(peer);
  };
  for (const Cell& cell : cells.cells()) (void)peer_of(cell);
  std::vector<OwnedComm> pairs(static_cast<std::size_t>(ranks));
  for (int peer = 1; peer < ranks; ++peer) {
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == peer ? 0 : MPI_UNDEFINED, rank, &pairs[static_cast<std::size_t>(peer)]);
  }
  cells.run("one-to-all", MPI_COMM_WORLD, [&](const Cell& cell, const Sampling& sampling) {
    const int peer = peer_of(cell);
    Outcome outcome{{}, 2.0, {{"peer", peer}}};
    if (rank == 0 || rank == peer) {
      const PairSamples samples =
          measure_pair(pairs[static_cast<std::size_t>(peer)].get(), PairOperation::send, cell.size_bytes, sampling);
      outcome.samples = samples;
      outcome.parts = 2.0 * samples.rounds;
    }
    sleep_until_done(rank, peer, ranks);
    return outcome;
  });
}

// Streams of messages over one pair of ranks or several at once (OSU's osu_bw, osu_bibw and osu_mbw_mr ask the same).
// Operations: bandwidth-window-W, bandwidth-bidirectional-window-W, and bandwidth-pairs-P-window-W.

namespace {

Stream stream_of(const std::string& operation) {
  Stream stream;
  const std::string pairs_beginning = "bandwidth-pairs-";
  std::string rest = operation;
  if (operation.rfind(pairs_beginning, 0) == 0) {
    const std::size_t dash = operation.find('-', pairs_beginning.size());
    const long long pairs = number_after(operation.substr(0, dash), pairs_beginning);
    stream.pairs = pairs > 0 && pairs < 1'000'000 ? static_cast<int>(pairs) : 0;
    rest = "bandwidth" + (dash == std::string::npos ? "" : operation.substr(dash));
  }
  long long window = number_after(rest, "bandwidth-window-");
  if (window < 0) {
    window = number_after(rest, "bandwidth-bidirectional-window-");
    stream.bidirectional = true;
  }
  if (window < 1 || window > 4096 || stream.pairs < 1) {
    throw std::invalid_argument("operation '" + operation + "' is unknown: write bandwidth[-pairs-P][-bidirectional]-window-W");
  }
  stream.window = static_cast<int>(window);
  return stream;
}

}  // namespace

void run_bandwidth(Arguments& arguments) {
  const Cells cells(arguments, "bandwidth-window-64:1024");
  arguments.expect_all_used();
  const Halves halves(MPI_COMM_WORLD);
  for (const Cell& cell : cells.cells()) require_stream(halves, stream_of(cell.operation), cell.size_bytes);
  cells.run("bandwidth", MPI_COMM_WORLD, [&](const Cell& cell, const Sampling& sampling) {
    const Stream stream = stream_of(cell.operation);
    const TimedTogether timed = measure_stream(MPI_COMM_WORLD, halves, stream, cell.size_bytes, sampling);
    return Outcome{timed.samples,
                   static_cast<double>(stream.window),
                   {{"window", stream.window}, {"pairs", stream.pairs}},
                   {{"clock_error_s", timed.clock_error_s}}};
  });
}

// LogGP's parameters measured one by one between two ranks: send-overhead, receive-overhead, gap.

namespace {

struct Operation {
  const char* name;
  Samples (*measure)(MPI_Comm, std::size_t, const Sampling&);
  double parts;
};
constexpr Operation operations[] = {{"send-overhead", measure_send_overhead, 1},
                                    {"receive-overhead", measure_receive_overhead, 1},
                                    {"gap", measure_gap, gap_messages}};

const Operation& operation_of(const std::string& name) {
  for (const Operation& operation : operations) {
    if (name == operation.name) return operation;
  }
  throw std::invalid_argument("operation '" + name + "' is unknown: choose send-overhead, receive-overhead or gap");
}

}  // namespace

void run_loggp(Arguments& arguments) {
  const Cells cells(arguments, "send-overhead:8,receive-overhead:8,gap:8");
  arguments.expect_all_used();
  const int size = size_of(MPI_COMM_WORLD);
  if (size != 2) throw std::invalid_argument("loggp takes 2 ranks, not " + std::to_string(size));
  for (const Cell& cell : cells.cells()) (void)operation_of(cell.operation);
  cells.run("loggp", MPI_COMM_WORLD, [&](const Cell& cell, const Sampling& sampling) {
    const Operation& operation = operation_of(cell.operation);
    return Outcome{operation.measure(MPI_COMM_WORLD, cell.size_bytes, sampling), operation.parts};
  });
}

// Streams between all pairs of ranks, or between those that are named. --rounds holds rounds of the circle method (numbers)
// and rounds of named pairs (0-3+1-2), in the order in which they are streamed; --order who stands where on the circle.
// Of each round rank 0 prints a `round` record, with each rank's partner and processors, and a `samples` record for each size:
// the times of senders, rank by rank, repeat by repeat.

namespace {

std::vector<int> named_pairs(const std::string& text, int ranks) {
  std::vector<int> partner(static_cast<std::size_t>(ranks), nobody);
  for (const std::string& pair : split(text, '+')) {
    const std::vector<std::string> ends = split(pair, '-');
    const long long a = to_integer(ends.front(), "rank of a pair");
    const long long b = to_integer(ends.back(), "rank of a pair");
    if (ends.size() != 2 || a == b || std::min(a, b) < 0 || std::max(a, b) >= ranks ||
        partner[static_cast<std::size_t>(a)] != nobody || partner[static_cast<std::size_t>(b)] != nobody) {
      throw std::invalid_argument("round '" + text + "' is not one of disjoint pairs of the " + std::to_string(ranks) +
                                  " ranks");
    }
    partner[static_cast<std::size_t>(a)] = static_cast<int>(b);
    partner[static_cast<std::size_t>(b)] = static_cast<int>(a);
  }
  return partner;
}

std::vector<StreamShape> shapes_of(Arguments& arguments) {
  const std::vector<long long> sizes = arguments.integers("sizes", "8,1000000");
  const std::vector<long long> messages = arguments.integers("messages", "");
  const std::vector<long long> repeats = arguments.integers("repeats", "");
  std::vector<StreamShape> shapes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > (1LL << 27)) throw std::invalid_argument("--sizes must be 0 to 128 MiB");
    const auto given = [i](const std::vector<long long>& values) {
      if (values.empty()) return 0;
      if (i >= values.size() || values[i] < 1 || values[i] > 20) {
        throw std::invalid_argument("--messages and --repeats must be 1 to 20, one for each size");
      }
      return static_cast<int>(values[i]);
    };
    shapes.push_back({static_cast<std::size_t>(sizes[i]), given(messages), given(repeats)});
  }
  return shapes;
}

// The doubles of all ranks, rank by rank; on rank 0.
std::vector<double> gathered(const std::vector<double>& own, int ranks) {
  std::vector<double> all(own.size() * static_cast<std::size_t>(ranks));
  const int count = static_cast<int>(own.size());
  MPI_Gather(own.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

std::vector<double> every(const std::vector<double>& values, std::size_t step, std::size_t first) {
  std::vector<double> chosen;
  for (std::size_t i = first; i < values.size(); i += step) chosen.push_back(values[i]);
  return chosen;
}

}  // namespace

void run_all_pairs(Arguments& arguments) {
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  std::vector<long long> order = arguments.integers("order", "");
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0LL);
  }
  if (ranks < 2 || order.size() != static_cast<std::size_t>(ranks)) {
    throw std::invalid_argument("--order must hold each of two or more ranks once");
  }
  std::vector<std::vector<int>> rounds;
  for (const std::string& text : arguments.list("rounds", "0")) {
    rounds.push_back(text.find('-') == std::string::npos ? circle_partners(order, to_integer(text, "round"))
                                                         : named_pairs(text, ranks));
  }
  PairStreams streams(MPI_COMM_WORLD, shapes_of(arguments));
  const double stream_s = arguments.number("stream-s", 0.02);
  arguments.expect_all_used();

  const auto me = static_cast<std::size_t>(rank);
  streams.find_shapes(rounds.front()[me], stream_s);
  Work before = work_so_far();
  double begun_s = steady_s();
  for (std::size_t number = 0; number < rounds.size(); ++number) {
    const std::vector<int>& partner = rounds[number];
    const std::vector<double> times_s = gathered(streams.round(partner[me]), ranks);
    // At one moment everywhere: ranks on one machine differ by their own work.
    MPI_Barrier(MPI_COMM_WORLD);
    const Work after = work_so_far();
    const double ended_s = steady_s();
    const std::vector<double> work =
        gathered({ended_s - begun_s, after.busy_s - before.busy_s, after.own_s - before.own_s}, ranks);
    before = after;
    begun_s = ended_s;
    const bool verified = by_all(MPI_COMM_WORLD, streams.verified());
    if (rank != 0) continue;
    JsonLine("round")
        .add("round", static_cast<long long>(number))
        .add("partner", std::vector<long long>(partner.begin(), partner.end()))
        .add("seconds", every(work, 3, 0))
        .add("busy_s", every(work, 3, 1))
        .add("own_s", every(work, 3, 2))
        .print();
    const std::size_t each = times_s.size() / static_cast<std::size_t>(ranks);
    std::size_t first = 0;
    for (const StreamShape& shape : streams.shapes()) {
      std::vector<double> of_size;
      for (std::size_t sender = 0; sender < partner.size(); ++sender) {
        if (partner[sender] == nobody) continue;
        const auto begin = times_s.begin() + static_cast<std::ptrdiff_t>(sender * each + first);
        of_size.insert(of_size.end(), begin, begin + shape.repeats);
      }
      first += static_cast<std::size_t>(shape.repeats);
      JsonLine("samples")
          .add("kernel", "all-pairs")
          .add("operation", "all-pairs")
          .add("size_bytes", static_cast<long long>(shape.size_bytes))
          .add("round", static_cast<long long>(number))
          .add("messages", static_cast<long long>(shape.messages))
          .add("repeats", static_cast<long long>(shape.repeats))
          .add("verified", verified)
          .add("time_s", of_size)
          .print();
    }
  }
}

}  // namespace rankwise
