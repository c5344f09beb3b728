// The kernel "collective": the MPI's own collectives, whatever algorithm the library carries them out by.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "kernels/interface.hpp"
#include "measure/together.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

// The collectives; the root is rank 0. Element i of what rank r gives in repetition n is (r + 1) * weight(i + n), so that every
// sum and every block is known; elements are 32-bit integers, or bytes where the size is no multiple of 4.
enum class Collective {
  bcast,
  reduce,
  allreduce,
  allgather,
  alltoall,
  reduce_scatter,
  reduce_scatter_block,
  gather,
  scatter,
  barrier,
  scan
};
constexpr std::array<const char*, 11> names{
    "bcast",  "reduce",  "allreduce", "allgather", "alltoall", "reduce_scatter", "reduce_scatter_block",
    "gather", "scatter", "barrier",   "scan"};

struct CollectiveCase {
  Collective collective;
  std::size_t bytes;  // of the vector, or of one block
};

CollectiveCase parse_collective(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw std::invalid_argument("case '" + text + "' is not collective:bytes");
  const long long bytes = to_integer(text.substr(colon + 1), "bytes");
  const long long most = 0x7FFFFFFF / size_of(MPI_COMM_WORLD);
  if (bytes < 0 || bytes > most) {
    throw std::invalid_argument(std::to_string(bytes) + " B is not a size from 0 to " + std::to_string(most));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text.substr(0, colon) == names[i]) return {static_cast<Collective>(i), static_cast<std::size_t>(bytes)};
  }
  throw std::invalid_argument("collective '" + text.substr(0, colon) + "' is unknown");
}

template <typename Element>
class CollectiveRun {
 public:
  CollectiveRun(Collective collective, std::size_t bytes, MPI_Datatype type)
      : collective_(collective),
        type_(type),
        rank_(rank_of(MPI_COMM_WORLD)),
        ranks_(size_of(MPI_COMM_WORLD)),
        count_(static_cast<int>(bytes / sizeof(Element))) {
    const auto ranks = static_cast<std::size_t>(ranks_);
    const auto block = static_cast<std::size_t>(count_);
    const bool from_all = collective == Collective::alltoall || collective == Collective::scatter;
    const bool to_all =
        collective == Collective::alltoall || collective == Collective::allgather || collective == Collective::gather;
    in_.resize(block * (from_all ? ranks : 1));
    out_.resize(block * (to_all ? ranks : 1));
    // A vector is dealt as evenly as it can be; reduce_scatter_block has equal blocks, what is over is left out.
    for (int r = 0; r < ranks_; ++r) counts_.push_back(count_ / ranks_ + (r < count_ % ranks_ ? 1 : 0));
    if (collective == Collective::reduce_scatter_block) counts_.assign(ranks, count_ / ranks_);
  }

  void fill(std::uint64_t number) {
    number_ = number;
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = given(rank_, i);
    std::fill(out_.begin(), out_.end(), Element{0});
    if (collective_ == Collective::bcast && rank_ == 0) out_ = in_;
  }

  void run() {
    const void* in = in_.data();
    void* out = out_.data();
    switch (collective_) {
      case Collective::bcast: mpi(MPI_Bcast(out, count_, type_, 0, MPI_COMM_WORLD)); break;
      case Collective::reduce: mpi(MPI_Reduce(in, out, count_, type_, MPI_SUM, 0, MPI_COMM_WORLD)); break;
      case Collective::allreduce: mpi(MPI_Allreduce(in, out, count_, type_, MPI_SUM, MPI_COMM_WORLD)); break;
      case Collective::allgather: mpi(MPI_Allgather(in, count_, type_, out, count_, type_, MPI_COMM_WORLD)); break;
      case Collective::alltoall: mpi(MPI_Alltoall(in, count_, type_, out, count_, type_, MPI_COMM_WORLD)); break;
      case Collective::reduce_scatter: mpi(MPI_Reduce_scatter(in, out, counts_.data(), type_, MPI_SUM, MPI_COMM_WORLD)); break;
      case Collective::reduce_scatter_block:
        mpi(MPI_Reduce_scatter_block(in, out, counts_[0], type_, MPI_SUM, MPI_COMM_WORLD));
        break;
      case Collective::gather: mpi(MPI_Gather(in, count_, type_, out, count_, type_, 0, MPI_COMM_WORLD)); break;
      case Collective::scatter: mpi(MPI_Scatter(in, count_, type_, out, count_, type_, 0, MPI_COMM_WORLD)); break;
      case Collective::barrier: mpi(MPI_Barrier(MPI_COMM_WORLD)); break;
      case Collective::scan: mpi(MPI_Scan(in, out, count_, type_, MPI_SUM, MPI_COMM_WORLD)); break;
    }
  }

  // Whether the rank has what it must have.
  [[nodiscard]] bool right() const {
    const auto block = static_cast<std::size_t>(count_);
    const auto own = static_cast<std::size_t>(rank_);
    std::size_t first = 0;  // which elements of the vector the rank has
    std::size_t held = out_.size();
    if (collective_ == Collective::reduce_scatter || collective_ == Collective::reduce_scatter_block) {
      first = static_cast<std::size_t>(std::accumulate(counts_.begin(), counts_.begin() + rank_, 0));
      held = static_cast<std::size_t>(counts_[own]);
    }
    const bool rooted = collective_ == Collective::reduce || collective_ == Collective::gather;
    if (collective_ == Collective::barrier || (rooted && rank_ != 0)) return true;
    for (std::size_t i = 0; i < held; ++i) {
      Element wanted{};
      switch (collective_) {
        case Collective::bcast: wanted = given(0, i); break;
        case Collective::scatter: wanted = given(0, own * block + i); break;
        case Collective::allgather:
        case Collective::gather: wanted = given(static_cast<int>(i / block), i % block); break;
        case Collective::alltoall: wanted = given(static_cast<int>(i / block), own * block + i % block); break;
        case Collective::scan: wanted = sum(rank_ + 1, i); break;
        default: wanted = sum(ranks_, first + i);
      }
      if (out_[i] != wanted) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t weight(std::size_t i) const { return (i + number_) % 997 + 1; }
  [[nodiscard]] Element given(int rank, std::size_t i) const {
    return static_cast<Element>((static_cast<std::uint64_t>(rank) + 1) * weight(i));
  }
  [[nodiscard]] Element sum(int ranks, std::size_t i) const {
    const auto count = static_cast<std::uint64_t>(ranks);
    return static_cast<Element>(count * (count + 1) / 2 * weight(i));
  }

  Collective collective_;
  MPI_Datatype type_;
  int rank_;
  int ranks_;
  int count_;
  std::uint64_t number_ = 0;
  std::vector<int> counts_;
  std::vector<Element> in_;
  std::vector<Element> out_;
};

template <typename Element>
std::pair<Timed, bool> time_collective(const CollectiveCase& one, MPI_Datatype type, const ClockOffset& clock,
                                       const Repetitions& repetitions) {
  CollectiveRun<Element> run(one.collective, one.bytes, type);
  bool right = true;
  Timed timed = time_repetitions(MPI_COMM_WORLD, clock, repetitions,
                                 {[&](std::uint64_t number) { run.fill(number); }, [&] { run.run(); },
                                  [&](std::uint64_t) { right = right && run.right(); }});
  return {std::move(timed), right};
}

}  // namespace

void run_collective(Arguments& arguments) {
  std::vector<CollectiveCase> cases;
  for (const std::string& text : arguments.list("cases", "allreduce:8")) cases.push_back(parse_collective(text));
  const Repetitions repetitions = parse_repetitions(arguments);
  arguments.expect_all_used();

  const ClockOffset clock = synchronise(MPI_COMM_WORLD);
  for (const CollectiveCase& one : cases) {
    const auto [timed, right] = one.bytes % 4 == 0 ? time_collective<std::uint32_t>(one, MPI_UINT32_T, clock, repetitions)
                                                   : time_collective<std::uint8_t>(one, MPI_UINT8_T, clock, repetitions);
    const char* name = names[static_cast<std::size_t>(one.collective)];
    if (!right) std::fprintf(stderr, "rankwise-kernels: rank %d: %s gave something wrong\n", rank_of(MPI_COMM_WORLD), name);
    const bool good = by_all(MPI_COMM_WORLD, right);
    if (rank_of(MPI_COMM_WORLD) != 0) continue;
    JsonLine("samples")
        .add("kernel", "collective")
        .add("collective", name)
        .add("ranks", static_cast<long long>(size_of(MPI_COMM_WORLD)))
        .add("message_bytes", static_cast<long long>(one.bytes))
        .add("late", static_cast<long long>(timed.late))
        .add("verified", good)
        .add("time_s", timed.time_s)
        .print();
  }
}

// The kernels "combine" and "token": what a collective takes besides its messages.

namespace {

// Adding vectors of doubles, as a reduction does.
double combine_s(std::size_t bytes, double batch_s) {
  const auto count = static_cast<int>(bytes / sizeof(double));
  const std::vector<double> in(static_cast<std::size_t>(count), 1e-9);
  std::vector<double> out(static_cast<std::size_t>(count), 1.0);
  return median_of_batches_s(batch_s, [&] { mpi(MPI_Reduce_local(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM)); });
}

}  // namespace

void run_combine(Arguments& arguments) {
  const std::vector<long long> sizes = arguments.integers("sizes", "8,512,4096,32768,262144,1048576,4194304");
  arguments.expect_all_used();
  if (rank_of(MPI_COMM_WORLD) != 0) return;
  for (const long long bytes : sizes) {
    if (bytes < 8 || bytes > (1LL << 30)) throw std::invalid_argument("--sizes must be 8 to 1 GiB");
    JsonLine("combined").add("size_bytes", bytes).add("time_s", combine_s(static_cast<std::size_t>(bytes), 1e-3)).print();
  }
}

// A token goes around all ranks, so many times a sample: what a hop takes when each rank waits until it is called.
void run_token(Arguments& arguments) {
  const long long samples = arguments.integer("samples", 9);
  const double budget_s = arguments.number("budget-s", 0.5);
  arguments.expect_all_used();
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  if (ranks < 2) throw std::invalid_argument("token takes 2 ranks or more");
  if (samples < 1 || samples > 1000 || !(budget_s > 0)) throw std::invalid_argument("--samples or --budget-s is not above 0");
  char token = 0;
  const auto around = [&](int times) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = steady_s();
    for (int i = 0; i < times; ++i) {
      if (rank > 0) mpi(MPI_Recv(&token, 1, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      mpi(MPI_Send(&token, 1, MPI_BYTE, (rank + 1) % ranks, 0, MPI_COMM_WORLD));
      if (rank == 0) mpi(MPI_Recv(&token, 1, MPI_BYTE, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    return (steady_s() - start_s) / times;
  };
  double once_s = around(1);
  once_s = around(1);  // not the first, for which connections are made
  int times = static_cast<int>(std::clamp(budget_s / static_cast<double>(samples) / once_s, 1.0, 1000.0));
  MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<double> hop_s;
  for (long long i = 0; i < samples; ++i) hop_s.push_back(around(times) / ranks);
  if (rank == 0) JsonLine("token").add("ranks", static_cast<long long>(ranks)).add("time_s", hop_s).print();
}

}  // namespace rankwise
