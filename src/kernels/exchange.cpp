// Exchanges, alone or by turns in one launch, and how the kernels read them.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "exchange/timed.hpp"
#include "kernels/interface.hpp"
#include "measure/pair.hpp"
#include "mpi/mpi.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

namespace {

struct ExchangeCase {
  ExchangeSpec spec;
  long long cutoff;
  std::size_t block_bytes;
};

NodeMap parse_nodes(const std::string& text, Index ranks) {
  constexpr std::string_view key = "nodes=";
  if (!text.starts_with(key)) throw std::invalid_argument("'" + text + "' is not nodes=N or nodes=N/N/...");
  std::vector<Index> numbers;
  for (const std::string& part : split(text.substr(key.size()), '/')) numbers.push_back(to_integer(part, "node"));
  const bool per_node = numbers.size() == 1 && ranks > 1;
  return per_node ? NodeMap::blocked(ranks, numbers.front()) : NodeMap::of(numbers);
}

// algorithm:mode:k:bytes:shell:replication:team boxes:nodes, the cutoff alike on all axes; the last four may be left out,
// and the nodes alone: nodes=4, so many ranks a node in order, or the node of every rank, as in nodes=0/0/1/1.
// Throws std::invalid_argument.
ExchangeCase parse_case(const std::string& text, const GridShape& shape) {
  std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 4 && parts.size() != 7 && parts.size() != 8) {
    throw std::invalid_argument("case '" + text + "' is not algorithm:mode:cutoff:bytes[:shell:replication:boxes[:nodes=N]]");
  }
  if (parts.size() == 4) parts.insert(parts.end(), {"full", "1", "pooled"});
  const long long cutoff = to_integer(parts[2], "cutoff");
  if (cutoff < 0 || cutoff > 1'000'000) throw std::invalid_argument("cutoff " + parts[2] + " is not sensible");
  const long long block_bytes = to_integer(parts[3], "bytes");
  if (block_bytes < 0) throw std::invalid_argument("block size " + parts[3] + " is negative");
  ExchangeSpec spec = make_spec(parts[0], parse_send_mode(parts[1]), shape.dims, shape.periodic,
                                std::vector<int>(shape.dims.size(), static_cast<int>(cutoff)), parse_shell(parts[4]),
                                to_integer(parts[5], "replication"), parse_team_boxes(parts[6]));
  if (parts.size() == 8) spec.nodes = parse_nodes(parts[7], spec.ranks());
  return {std::move(spec), cutoff, static_cast<std::size_t>(block_bytes)};
}

// A short ping-pong between ranks 0 and 1 while the others wait: how fast the machine is at this minute. Its samples
// (round trips, rank 0 only) stand next to those of the exchange, so that a drift of the machine can be told from an error
// of the prediction.
class ReferencePingPong {
 public:
  ReferencePingPong() {
    // Not by a split, which would bother all ranks.
    if (size_of(MPI_COMM_WORLD) > 1 && rank_of(MPI_COMM_WORLD) < 2) pair_ = comm_of_ranks({0, 1});
  }

  void measure(std::size_t size_bytes, std::vector<double>& time_s) const {
    if (pair_) {
      const PairSamples samples = measure_pair(pair_.get(), PairOperation::send, size_bytes, Sampling{0.002, 5, 200});
      const int rank = rank_of(pair_.get());
      for (std::size_t i = 0; rank == 0 && i < samples.time_s.size(); ++i) {
        time_s.push_back(samples.time_s[i] / samples.rounds);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  OwnedComm pair_;
};

}  // namespace

void run_exchange(Arguments& arguments) {
  const GridShape shape = parse_shape(arguments, "1");
  std::vector<ExchangeCase> cases;
  for (const std::string& text : arguments.list("cases", "shift:ssend:1:1000")) {
    cases.push_back(parse_case(text, shape));
    require_runnable(MPI_COMM_WORLD, cases.back().spec, cases.back().block_bytes);
  }
  const Repetitions repetitions = parse_repetitions(arguments);
  arguments.expect_all_used();

  const int rank = rank_of(MPI_COMM_WORLD);
  const ClockOffset clock = synchronise(MPI_COMM_WORLD);
  const double error_s = most_of(MPI_COMM_WORLD, clock.offset_s == 0.0 ? 0.0 : clock.error_s);

  const ReferencePingPong reference;
  for (const auto& [spec, cutoff, block_bytes] : cases) {
    std::vector<double> pingpong_s;
    reference.measure(block_bytes, pingpong_s);
    const TimedExchange timed = run_timed(MPI_COMM_WORLD, spec, block_bytes, clock, repetitions);
    reference.measure(block_bytes, pingpong_s);
    if (!timed.mismatch.empty()) std::fprintf(stderr, "rankwise-kernels: %s\n", timed.mismatch.c_str());
    if (rank != 0) continue;
    JsonLine("samples")
        .add("kernel", "exchange")
        .add("algorithm", spec.algorithm)
        .add("mode", to_string(spec.mode))
        .add("grid", std::vector<long long>(shape.dims.begin(), shape.dims.end()))
        .add("cutoff", cutoff)
        .add("shell", to_string(spec.window.shell()))
        .add("replication", static_cast<long long>(spec.replication))
        .add("team_boxes", to_string(spec.team_boxes))
        .add("message_bytes", static_cast<long long>(block_bytes))
        .add("messages_per_rank", static_cast<long long>(timed.messages_per_rank))
        .add("bytes_per_rank", static_cast<long long>(timed.bytes_per_rank))
        .add("clock_error_s", error_s)
        .add("late", static_cast<long long>(timed.late))
        .add("verified", timed.verified)
        .add("pingpong_time_s", pingpong_s)
        .add("time_s", timed.time_s)
        .print();
  }
}

// Exchanges and what they are made of, by turns in one launch: whatever drifts falls on both alike.

namespace {

struct IngredientJob {
  Ingredient ingredient;
  std::size_t block_bytes;
};

// A ping-pong as profiles are made of: warm, on buffers that nobody writes.
struct WarmJob {
  PairOperation operation;
  std::size_t size_bytes;
  std::pair<Index, Index> ranks;
};

using AnyJob = std::variant<ExchangeCase, IngredientJob, WarmJob>;

struct Timing {
  std::string item;
  AnyJob work;
  double each_s = 1.0;                 // a repetition of the quickest few, checks included
  std::vector<double> time_s = {};     // rank 0
  std::vector<long long> rounds = {};  // samples of each round
  long long late = 0;
  bool verified = true;
};

std::pair<Index, Index> parse_ranks(const std::string& text) {
  const std::vector<std::string> both = split(text, '/');
  const int size = size_of(MPI_COMM_WORLD);
  if (both.size() != 2) throw std::invalid_argument("'" + text + "' is not two ranks a/b");
  const std::pair<Index, Index> ranks{to_integer(both[0], "rank"), to_integer(both[1], "rank")};
  for (const Index rank : {ranks.first, ranks.second}) {
    if (rank < 0 || rank >= size) throw std::invalid_argument("there is no rank " + std::to_string(rank));
  }
  return ranks;
}

std::size_t parse_size(const std::string& text) {
  const long long bytes = to_integer(text, "size");
  if (bytes < 0) throw std::invalid_argument("size " + text + " is negative");
  require_size(static_cast<std::size_t>(bytes));
  return static_cast<std::size_t>(bytes);
}

// An exchange as the exchange kernel reads it; +kind:mode:hops:width:bytes:a/b, an ingredient between two ranks; or
// +warm:operation:bytes:a/b.
AnyJob parse_job(const std::string& text, const GridShape& shape) {
  if (!text.starts_with('+')) {
    ExchangeCase one = parse_case(text, shape);
    require_runnable(MPI_COMM_WORLD, one.spec, one.block_bytes);
    return one;
  }
  const std::vector<std::string> parts = split(text.substr(1), ':');
  if (parts.size() == 4 && parts[0] == "warm") {
    return WarmJob{parse_pair_operation(parts[1]), parse_size(parts[2]), parse_ranks(parts[3])};
  }
  if (parts.size() != 6) throw std::invalid_argument("'" + text + "' is not +kind:mode:hops:width:bytes:a/b");
  const auto [a, b] = parse_ranks(parts[5]);
  IngredientJob job{{parse_ingredient_kind(parts[0]), parse_send_mode(parts[1]), static_cast<int>(to_integer(parts[2], "hops")),
                     static_cast<int>(to_integer(parts[3], "width")), a, b},
                    parse_size(parts[4])};
  check_ingredient(job.ingredient);
  return job;
}

// Communicators of two ranks each, made once.
class Pairs {
 public:
  // Collective; MPI_COMM_NULL on all other ranks.
  MPI_Comm of(const std::pair<Index, Index>& ranks) {
    const auto [known, is_new] = comms_.try_emplace(ranks);
    if (is_new) {
      const int rank = rank_of(MPI_COMM_WORLD);
      const bool is_first = rank == ranks.first;
      MPI_Comm_split(MPI_COMM_WORLD, is_first || rank == ranks.second ? 0 : MPI_UNDEFINED, is_first ? 0 : 1, &known->second);
    }
    return known->second.get();
  }

 private:
  std::map<std::pair<Index, Index>, OwnedComm> comms_;
};

class Bench {
 public:
  explicit Bench(Arguments& arguments)
      : seed_(static_cast<std::uint64_t>(arguments.integer("seed", 1))),
        rounds_(arguments.integer("rounds", 5)),
        job_s_(arguments.number("job-s", 0.002)),
        most_(static_cast<int>(arguments.integer("most", 64))),
        until_s_(steady_s() + arguments.number("seconds", 60.0)) {
    if (rounds_ < 1 || most_ < least_samples || !(job_s_ > 0)) {
      throw std::invalid_argument("--rounds and --job-s must be positive, --most at least 8");
    }
    const GridShape shape = parse_shape(arguments, "1");
    for (const std::string& text : arguments.list("jobs", "+step:isend:1:1:8:0/1")) {
      timings_.push_back({text, parse_job(text, shape)});
    }
    arguments.expect_all_used();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }

  // Every round visits all jobs in an order of its own; none is begun when the time is up.
  void run() {
    clock_ = synchronise(MPI_COMM_WORLD);
    std::mt19937_64 random(seed_);
    std::vector<std::size_t> order(timings_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (long long round = 0; round < rounds_; ++round) {
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
      for (const std::size_t i : order) {
        if (!visit(timings_[i])) return;
      }
    }
  }

  void print() {
    const double error_s = most_of(MPI_COMM_WORLD, clock_.offset_s == 0.0 ? 0.0 : clock_.error_s);
    for (const Timing& timing : timings_) {
      if (rank_ != 0 || timing.time_s.empty()) continue;
      JsonLine("samples")
          .add("kernel", "paired")
          .add("item", timing.item)
          .add("clock_error_s", error_s)
          .add("late", timing.late)
          .add("verified", timing.verified)
          .add("rounds", timing.rounds)
          .add("time_s", timing.time_s)
          .print();
    }
  }

 private:
  // False where the time is up.
  bool visit(Timing& timing) {
    if (!by_first(MPI_COMM_WORLD, steady_s() < until_s_)) return false;
    const std::vector<double> time_s = std::visit([&](const auto& work) { return time(timing, work); }, timing.work);
    timing.time_s.insert(timing.time_s.end(), time_s.begin(), time_s.end());
    timing.rounds.push_back(static_cast<long long>(time_s.size()));
    return true;
  }

  std::vector<double> time(Timing& timing, const ExchangeCase& one) {
    Job job(MPI_COMM_WORLD, one.spec, one.block_bytes);
    return time(timing, job);
  }

  std::vector<double> time(Timing& timing, const IngredientJob& one) {
    Job job(MPI_COMM_WORLD, one.ingredient, one.block_bytes);
    return time(timing, job);
  }

  // As many as fit the visit's time where nothing disturbs: a visit that begins while another program has the processor goes on
  // until it has seen quiet moments, too, but not for ever.
  std::vector<double> time(Timing& timing, Job& job) {
    constexpr double patience = 10;
    const double begin_s = steady_s();
    Repetitions repetitions{job_s_, least_samples, least_samples, 2, 15e-6};
    std::vector<double> time_s;
    double now_s = begin_s;
    do {
      const double before_s = now_s;
      const Timed timed = job.time(clock_, repetitions);
      time_s.insert(time_s.end(), timed.time_s.begin(), timed.time_s.end());
      timing.late += timed.late;
      now_s = steady_s();
      timing.each_s = std::min(timing.each_s, (now_s - before_s) / (least_samples + repetitions.warm_up));
      repetitions.warm_up = 0;
    } while (by_first(MPI_COMM_WORLD, static_cast<int>(time_s.size()) < most_ &&
                                          static_cast<double>(time_s.size()) * timing.each_s < job_s_ &&
                                          now_s - begin_s < patience * job_s_));
    const bool verified = job.verified();
    if (!verified && timing.verified && !job.mismatch().empty()) {
      std::fprintf(stderr, "rankwise-kernels: %s: %s\n", timing.item.c_str(), job.mismatch().c_str());
    }
    timing.verified = verified && timing.verified;
    return time_s;
  }

  // One way, of one round; on rank 0, whoever took them.
  std::vector<double> time(Timing& timing, const WarmJob& one) {
    constexpr int tag = 0;
    const MPI_Comm pair = pairs_.of(one.ranks);
    const auto first = static_cast<int>(one.ranks.first);
    std::vector<double> time_s;
    if (pair != MPI_COMM_NULL) {
      const PairSamples samples = measure_pair(pair, one.operation, one.size_bytes, Sampling{job_s_, least_samples, most_});
      const bool there_and_back = one.operation == PairOperation::send || one.operation == PairOperation::ssend;
      time_s = samples.time_s;
      for (double& sample_s : time_s) sample_s /= samples.rounds * (there_and_back ? 2 : 1);
      time_s.push_back(samples.verified ? 1.0 : 0.0);
    }
    auto count = static_cast<int>(time_s.size());
    MPI_Bcast(&count, 1, MPI_INT, first, MPI_COMM_WORLD);
    if (rank_ == first && rank_ != 0) MPI_Send(time_s.data(), count, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
    if (rank_ == 0 && first != 0) {
      time_s.resize(static_cast<std::size_t>(count));
      MPI_Recv(time_s.data(), count, MPI_DOUBLE, first, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ != 0) return {};
    timing.verified = time_s.back() > 0 && timing.verified;
    time_s.pop_back();
    return time_s;
  }

  static constexpr int least_samples = 8;
  std::uint64_t seed_;
  long long rounds_;
  double job_s_;
  int most_;
  double until_s_;
  std::vector<Timing> timings_;
  int rank_ = 0;
  ClockOffset clock_;
  Pairs pairs_;
};

}  // namespace

void run_paired(Arguments& arguments) {
  Bench bench(arguments);
  bench.run();
  bench.print();
}

}  // namespace rankwise
