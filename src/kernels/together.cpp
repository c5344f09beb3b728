// The kernels in which all ranks exchange at once: all-to-all and transposes, a ring of nodes, and stencils' halos.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

#include "exchange/neighborhood.hpp"
#include "fft/block_exchange.hpp"
#include "kernels/interface.hpp"
#include "measure/together.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

// All-to-all of all ranks; a size is one block. alltoall: cells of a campaign; transpose: cases, by MPI_Alltoall or pairwise.

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
    AllToAllBlocks blocks(rank, ranks, block_bytes);
    const std::vector<std::size_t> sizes = blocks.sizes();
    std::unique_ptr<BlockExchange> pairwise;
    if (method == TransposeMethod::pairwise) {
      pairwise = std::make_unique<BlockExchange>(MPI_COMM_WORLD, BlockVariant{method}, sizes, sizes, blocks.out(), blocks.in());
    }
    const auto run = [&, bytes = static_cast<int>(block_bytes)] {
      if (pairwise) {
        pairwise->run();
        return;
      }
      mpi(MPI_Alltoall(blocks.out(), bytes, MPI_BYTE, blocks.in(), bytes, MPI_BYTE, MPI_COMM_WORLD));
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

void run_ring(Arguments& arguments) {
  const Cells cells(arguments, "ring-nodes-3-ranks-1:1000");
  arguments.expect_all_used();
  const int ranks = size_of(MPI_COMM_WORLD);
  const std::string beginning = "ring-nodes-";
  int nodes = 0;  // one of all cells: where ranks are is of the launch
  for (const Cell& cell : cells.cells()) {
    const std::size_t mark = cell.operation.find("-ranks-");
    const long long of_nodes = number_after(cell.operation.substr(0, mark), beginning);
    const long long each = mark == std::string::npos ? -1 : number_after(cell.operation.substr(mark), "-ranks-");
    if (of_nodes < 2 || each < 1 || of_nodes * each != ranks || (nodes != 0 && of_nodes != nodes)) {
      throw std::invalid_argument("operation '" + cell.operation + "' is not ring-nodes-N-ranks-R of " + std::to_string(ranks) +
                                  " ranks");
    }
    nodes = static_cast<int>(of_nodes);
  }
  StencilExchange exchange(MPI_COMM_WORLD, Grid({nodes, ranks / nodes}, {true, false}), Stencil(2, {{1, 0}, {-1, 0}}));
  cells.run("ring", MPI_COMM_WORLD, [&](const Cell& cell, const Sampling& sampling) {
    exchange.resize(cell.size_bytes);
    const TimedTogether timed = time_together(
        MPI_COMM_WORLD, sampling, [&] { exchange.run(); },
        [&](unsigned number) {
          exchange.fill(number);
          exchange.run();
          return exchange.mismatch(number).empty();
        });
    return Outcome{timed.samples, 1.0, {{"nodes", nodes}, {"ranks", ranks}}, {{"clock_error_s", timed.clock_error_s}}};
  });
}

namespace {

std::vector<std::size_t> parse_sizes(Arguments& arguments) {
  std::vector<std::size_t> sizes;
  for (const long long bytes : arguments.integers("bytes", "1000")) {
    if (bytes < 0 || bytes > 0x7FFFFFFF) {
      throw std::invalid_argument("--bytes " + std::to_string(bytes) + " is not a size from 0 to 2147483647");
    }
    sizes.push_back(static_cast<std::size_t>(bytes));
  }
  return sizes;
}

// A communicator in which rank r has cell r of the grid. cells: the cell of each rank of MPI_COMM_WORLD.
// Throws std::invalid_argument where some cell is named twice or not at all.
OwnedComm mapped(const std::vector<long long>& cells) {
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<int> rank_of_cell(static_cast<std::size_t>(size), -1);
  for (std::size_t rank = 0; rank < cells.size(); ++rank) {
    if (cells[rank] >= 0 && cells[rank] < size) {
      rank_of_cell[static_cast<std::size_t>(cells[rank])] = static_cast<int>(rank);
    }
  }
  if (cells.size() != rank_of_cell.size() || std::find(rank_of_cell.begin(), rank_of_cell.end(), -1) != rank_of_cell.end()) {
    throw std::invalid_argument("--cells must name every cell once, one for each rank");
  }
  return comm_of_ranks(rank_of_cell);
}

}  // namespace

void run_stencil(Arguments& arguments) {
  const GridShape shape = parse_shape(arguments, "");
  const Grid grid(shape.dims, shape.periodic);
  const std::string name = arguments.text("stencil", "nearest-neighbor");
  const Stencil stencil = parse_stencil(name, grid.ndim());
  const std::vector<std::size_t> sizes = parse_sizes(arguments);
  const std::vector<long long> cells = arguments.integers("cells", "");
  const bool verifies = arguments.integer("verify", 1) != 0;
  const Repetitions repetitions = parse_repetitions(arguments);
  arguments.expect_all_used();
  const OwnedComm ordered = cells.empty() ? OwnedComm() : mapped(cells);

  const ClockOffset clock = synchronise(MPI_COMM_WORLD);
  const int world_rank = rank_of(MPI_COMM_WORLD);
  StencilExchange exchange(ordered ? ordered.get() : MPI_COMM_WORLD, grid, stencil);
  const Index own = static_cast<Index>(exchange.messages());
  std::array<Index, 2> messages{};  // the most of any rank, and of all
  MPI_Allreduce(&own, messages.data(), 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&own, messages.data() + 1, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (const std::size_t bytes : sizes) {
    exchange.resize(bytes);
    std::string mismatch;
    const Timed timed = time_repetitions(MPI_COMM_WORLD, clock, repetitions,
                                         {[&](std::uint64_t number) {
                                            if (verifies) exchange.fill(number);
                                          },
                                          [&] { exchange.run(); },
                                          [&](std::uint64_t number) {
                                            if (verifies && mismatch.empty()) mismatch = exchange.mismatch(number);
                                          }});
    if (!mismatch.empty()) std::fprintf(stderr, "rankwise-kernels: %s\n", mismatch.c_str());
    const bool good = by_all(MPI_COMM_WORLD, mismatch.empty());
    if (world_rank != 0) continue;
    JsonLine line("samples");
    line.add("kernel", "stencil")
        .add("grid", std::vector<long long>(shape.dims.begin(), shape.dims.end()))
        .add("stencil", name)
        .add("message_bytes", static_cast<long long>(bytes))
        .add("messages_per_rank", static_cast<long long>(messages[0]))
        .add("messages", static_cast<long long>(messages[1]))
        .add("late", static_cast<long long>(timed.late));
    if (verifies) {
      line.add("verified", good);
    } else {
      line.add_json("verified", "null");
    }
    line.add("time_s", timed.time_s).print();
  }
}

}  // namespace rankwise
