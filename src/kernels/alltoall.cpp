// All-to-all of all ranks; a size is one block. alltoall: cells of a campaign; transpose: cases, by MPI_Alltoall or pairwise.
#include "measure/collective.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "fft/block_exchange.hpp"
#include "kernels/arguments.hpp"
#include "kernels/cells.hpp"
#include "kernels/json_line.hpp"
#include "kernels/kernels.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

struct TransposeCase {
  TransposeMethod method;
  std::size_t block_bytes;
};

// method:bytes
TransposeCase parse_transpose(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw std::invalid_argument("case '" + text + "' is not method:bytes");
  const TransposeMethod method = parse_transpose_method(text.substr(0, colon));
  const long long bytes = to_integer(text.substr(colon + 1), "bytes");
  if (bytes < 0) throw std::invalid_argument("block size " + std::to_string(bytes) + " is negative");
  require_alltoall(MPI_COMM_WORLD, static_cast<std::size_t>(bytes));
  return {method, static_cast<std::size_t>(bytes)};
}

// A block for every rank, and room for one from every rank, whose bytes tell where they come from.
class Blocks {
 public:
  Blocks(int rank, int ranks, std::size_t block_bytes)
      : rank_(rank), ranks_(ranks), block_bytes_(block_bytes), out_(total()), in_(total()) {}

  [[nodiscard]] std::byte* out() { return reinterpret_cast<std::byte*>(out_.data()); }
  [[nodiscard]] std::byte* in() { return reinterpret_cast<std::byte*>(in_.data()); }
  [[nodiscard]] std::vector<std::size_t> sizes() const {
    return std::vector<std::size_t>(static_cast<std::size_t>(ranks_), block_bytes_);
  }

  void fill(unsigned number) {
    for (int peer = 0; peer < ranks_; ++peer) {
      fill_payload(out_.data() + at(peer), block_bytes_, rank_, number + static_cast<unsigned>(peer));
    }
    std::fill(in_.begin(), in_.end(), static_cast<unsigned char>(0));
  }
  // The first rank whose block did not arrive; -1 when all did.
  [[nodiscard]] int missing(unsigned number) const {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (!payload_arrived(in_.data() + at(peer), block_bytes_, peer, number + static_cast<unsigned>(rank_))) return peer;
    }
    return -1;
  }

 private:
  [[nodiscard]] std::size_t at(int peer) const { return static_cast<std::size_t>(peer) * block_bytes_; }
  [[nodiscard]] std::size_t total() const { return std::max<std::size_t>(1, at(ranks_)); }

  int rank_;
  int ranks_;
  std::size_t block_bytes_;
  std::vector<unsigned char> out_;
  std::vector<unsigned char> in_;
};

}  // namespace

void run_transpose(Arguments& arguments) {
  const int rank = rank_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  std::vector<TransposeCase> cases;
  for (const std::string& text : arguments.list("cases", "alltoall:1000")) cases.push_back(parse_transpose(text));
  const Repetitions repetitions = parse_repetitions(arguments);
  arguments.expect_all_used();

  const ClockOffset clock = synchronise(MPI_COMM_WORLD);
  for (const auto& [method, block_bytes] : cases) {
    Blocks blocks(rank, ranks, block_bytes);
    const std::vector<std::size_t> sizes = blocks.sizes();
    std::unique_ptr<BlockExchange> pairwise;
    if (method == TransposeMethod::pairwise) {
      pairwise = std::make_unique<BlockExchange>(MPI_COMM_WORLD, Way{method}, sizes, sizes, blocks.out(), blocks.in());
    }
    const auto run = [&, bytes = static_cast<int>(block_bytes)] {
      if (pairwise) {
        pairwise->run();
        return;
      }
      const int code = MPI_Alltoall(blocks.out(), bytes, MPI_BYTE, blocks.in(), bytes, MPI_BYTE, MPI_COMM_WORLD);
      if (code != MPI_SUCCESS) throw MpiError(code);
    };
    int wrong = -1;
    const Timed timed = time_repetitions(MPI_COMM_WORLD, clock, repetitions,
                                         {[&](std::uint64_t number) { blocks.fill(static_cast<unsigned>(number)); }, run,
                                          [&](std::uint64_t number) {
                                            if (wrong < 0) wrong = blocks.missing(static_cast<unsigned>(number));
                                          }});
    if (wrong >= 0) std::fprintf(stderr, "rankwise-kernels: rank %d: the block of rank %d did not arrive\n", rank, wrong);
    const bool good = by_all(MPI_COMM_WORLD, wrong < 0);
    if (rank != 0) continue;
    JsonLine("samples")
        .add("kernel", "transpose")
        .add("method", to_string(method))
        .add("ranks", static_cast<long long>(ranks))
        .add("message_bytes", static_cast<long long>(block_bytes))
        .add("messages_per_rank", static_cast<long long>(ranks - 1))
        .add("late", static_cast<long long>(timed.late))
        .add("verified", good)
        .add("time_s", timed.time_s)
        .print();
  }
}

void run_alltoall(Arguments& arguments) {
  const Cells cells(arguments, "alltoall:1024");
  arguments.expect_all_used();
  const int ranks = size_of(MPI_COMM_WORLD);
  const std::string name = "alltoall-ranks-" + std::to_string(ranks);
  for (const Cell& cell : cells.cells()) {
    if (cell.operation != "alltoall" && cell.operation != name) {
      throw std::invalid_argument("operation '" + cell.operation + "' is unknown: choose " + name);
    }
    require_alltoall(MPI_COMM_WORLD, cell.size_bytes);
  }
  cells.run("alltoall", MPI_COMM_WORLD, [&](const Cell& cell, const Sampling& sampling) {
    const TimedTogether timed = measure_alltoall(MPI_COMM_WORLD, cell.size_bytes, sampling);
    return Outcome{timed.samples, 1.0, {{"ranks", ranks}}, {{"clock_error_s", timed.clock_error_s}}};
  });
}

}  // namespace rankwise
