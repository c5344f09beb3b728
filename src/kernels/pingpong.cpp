// Messages between two ranks, one after the other or both ways at once; free, or (-loaded) while further pairs of ranks
// keep the link busy. Rank 0 talks to rank size / 2; all other ranks are the load.
#include "measure/pingpong.hpp"

#include <mpi.h>

#include <stdexcept>

#include "kernels/cells.hpp"
#include "kernels/kernels.hpp"
#include "measure/background.hpp"

namespace rankwise {

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

}  // namespace

void run_pingpong(Arguments& arguments) {
  const Cells cells(arguments, "send:0");
  const LoadLimits limits{arguments.number("load-seconds", LoadLimits{}.seconds),
                          arguments.number("load-bytes", LoadLimits{}.bytes)};
  arguments.expect_all_used();
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
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
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

}  // namespace rankwise
