#include <mpi.h>

#include <cstdio>

#include "exchange/timed.hpp"
#include "kernels/exchange_case.hpp"
#include "kernels/json_line.hpp"
#include "kernels/kernels.hpp"
#include "kernels/parse_repetitions.hpp"
#include "measure/pingpong.hpp"

namespace rankwise {

namespace {

// A short ping-pong between ranks 0 and 1 while the others wait: how fast the machine is at this minute. Its samples
// (round trips, rank 0 only) stand beside those of the exchange, so that a drift of the machine can be told from an error
// of the prediction.
class SpeedWitness {
 public:
  SpeedWitness() {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || rank > 1) return;
    // Not by a split, which would bother all ranks.
    constexpr int both[] = {0, 1};
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group first = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, both, &first);
    MPI_Comm_create_group(MPI_COMM_WORLD, first, 0, &pair_);
    MPI_Group_free(&first);
    MPI_Group_free(&all);
  }
  ~SpeedWitness() {
    if (pair_ != MPI_COMM_NULL) MPI_Comm_free(&pair_);
  }
  SpeedWitness(const SpeedWitness&) = delete;
  SpeedWitness& operator=(const SpeedWitness&) = delete;

  void look(std::size_t size_bytes, std::vector<double>& time_s) const {
    if (pair_ != MPI_COMM_NULL) {
      const PairSamples samples = measure_pair(pair_, PairOperation::send, size_bytes, Sampling{0.002, 5, 200});
      int rank = 0;
      MPI_Comm_rank(pair_, &rank);
      for (std::size_t i = 0; rank == 0 && i < samples.time_s.size(); ++i) {
        time_s.push_back(samples.time_s[i] / samples.rounds);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  MPI_Comm pair_ = MPI_COMM_NULL;
};

}  // namespace

void run_exchange(Arguments& arguments) {
  std::vector<Index> dims;
  for (const long long d : arguments.integers("grid", "1")) dims.push_back(d);
  std::vector<bool> periodic;
  for (const long long flag : arguments.integers("periodic", "1")) periodic.push_back(flag != 0);
  std::vector<ExchangeCase> cases;
  for (const std::string& text : arguments.list("cases", "shift:ssend:1:1000")) {
    cases.push_back(parse_case(text, dims, periodic));
    require_runnable(MPI_COMM_WORLD, cases.back().spec, cases.back().block_bytes);
  }
  const Repetitions repetitions = parse_repetitions(arguments);
  arguments.expect_all_used();

  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const ClockOffset clock = synchronise(MPI_COMM_WORLD);
  double error_s = clock.offset_s == 0.0 ? 0.0 : clock.error_s;
  MPI_Allreduce(MPI_IN_PLACE, &error_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

  const SpeedWitness witness;
  for (const auto& [spec, cutoff, block_bytes] : cases) {
    std::vector<double> witness_s;
    witness.look(block_bytes, witness_s);
    const TimedExchange timed = run_timed(MPI_COMM_WORLD, spec, block_bytes, clock, repetitions);
    witness.look(block_bytes, witness_s);
    if (!timed.mismatch.empty()) std::fprintf(stderr, "rankwise-kernels: %s\n", timed.mismatch.c_str());
    if (rank != 0) continue;
    JsonLine("samples")
        .add("kernel", "exchange")
        .add("algorithm", spec.algorithm)
        .add("mode", to_string(spec.mode))
        .add("grid", std::vector<long long>(dims.begin(), dims.end()))
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
        .add("pingpong_time_s", witness_s)
        .add("time_s", timed.time_s)
        .print();
  }
}

}  // namespace rankwise
