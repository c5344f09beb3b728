#include <mpi.h>

#include <stdexcept>
#include <vector>

#include "kernels/json_line.hpp"
#include "kernels/kernels.hpp"
#include "measure/pingpong.hpp"
#include "measure/reference.hpp"

namespace rankwise {

namespace {

struct Cell {
  PairOperation operation;
  std::size_t size_bytes;
};

Cell parse_cell(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw std::invalid_argument("cell '" + text + "' is not operation:size");
  const long long size_bytes = to_integer(text.substr(colon + 1), "size");
  if (size_bytes < 0) throw std::invalid_argument("size " + std::to_string(size_bytes) + " is negative");
  return {parse_pair_operation(text.substr(0, colon)), static_cast<std::size_t>(size_bytes)};
}

}  // namespace

void run_pingpong(Arguments& arguments) {
  std::vector<Cell> cells;
  for (const std::string& text : arguments.list("cells", "send:0")) cells.push_back(parse_cell(text));
  const Sampling sampling{arguments.number("budget-s", 0.05), static_cast<int>(arguments.integer("least", 20)),
                          static_cast<int>(arguments.integer("most", 2000))};
  arguments.expect_all_used();
  if (sampling.least < 1 || sampling.most < sampling.least || !(sampling.budget_s > 0.0)) {
    throw std::invalid_argument("--budget-s must be positive and 1 <= --least <= --most");
  }
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) throw std::invalid_argument("pingpong takes 2 ranks, not " + std::to_string(size));

  for (const Cell& cell : cells) {
    const PairSamples samples = measure_pair(MPI_COMM_WORLD, cell.operation, cell.size_bytes, sampling);
    const std::vector<double> reference_s = reference_loops_s(MPI_COMM_WORLD);
    if (rank != 0) continue;
    JsonLine("samples")
        .add("kernel", "pingpong")
        .add("operation", to_string(cell.operation))
        .add("size_bytes", static_cast<long long>(cell.size_bytes))
        .add("messages", static_cast<long long>(messages_in_flight(cell.operation)))
        .add("rounds", static_cast<long long>(rounds_per_sample(cell.operation)))
        .add("verified", samples.verified)
        .add("involuntary_switches", samples.involuntary_switches)
        .add("reference_loop_s", reference_s)
        .add("time_s", samples.time_s)
        .print();
  }
}

}  // namespace rankwise
