#include "kernels/cells.hpp"

#include <charconv>
#include <limits>
#include <stdexcept>

#include "kernels/json_line.hpp"
#include "measure/reference.hpp"

namespace rankwise {

namespace {

Cell parse_cell(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw std::invalid_argument("cell '" + text + "' is not operation:size");
  const long long size_bytes = to_integer(text.substr(colon + 1), "size");
  if (size_bytes < 0) throw std::invalid_argument("size " + std::to_string(size_bytes) + " is negative");
  require_size(static_cast<std::size_t>(size_bytes));
  return {text.substr(0, colon), static_cast<std::size_t>(size_bytes)};
}

bool time_is_up(MPI_Comm comm, double until_s) {
  int up = MPI_Wtime() >= until_s ? 1 : 0;
  MPI_Bcast(&up, 1, MPI_INT, 0, comm);
  return up == 1;
}

}  // namespace

Cells::Cells(Arguments& arguments, const std::string& fallback)
    : sampling_{arguments.number("budget-s", 0.05), static_cast<int>(arguments.integer("least", 20)),
                static_cast<int>(arguments.integer("most", 2000))},
      seconds_(arguments.number("seconds", std::numeric_limits<double>::infinity())) {
  for (const std::string& text : arguments.list("cells", fallback)) cells_.push_back(parse_cell(text));
  if (sampling_.least < 1 || sampling_.most < sampling_.least || !(sampling_.budget_s > 0.0)) {
    throw std::invalid_argument("--budget-s must be positive and 1 <= --least <= --most");
  }
}

void Cells::run(const std::string& kernel, MPI_Comm comm,
                const std::function<Outcome(const Cell&, const Sampling&)>& measure) const {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  Sampling sampling = sampling_;
  sampling.until_s = MPI_Wtime() + seconds_;
  for (const Cell& cell : cells_) {
    if (time_is_up(comm, sampling.until_s)) return;
    const Outcome outcome = measure(cell, sampling);
    const std::vector<double> reference_s = reference_loops_s(comm);
    if (rank != 0) continue;
    JsonLine line("samples");
    line.add("kernel", kernel)
        .add("operation", cell.operation)
        .add("size_bytes", static_cast<long long>(cell.size_bytes))
        .add("parts", outcome.parts);
    for (const auto& [name, count] : outcome.counts) line.add(name, count);
    for (const auto& [name, figure] : outcome.figures) line.add(name, figure);
    line.add("verified", outcome.samples.verified)
        .add("involuntary_switches", outcome.samples.involuntary_switches)
        .add("moved_ranks", outcome.samples.moved_ranks)
        .add("reference_loop_s", reference_s)
        .add("time_s", outcome.samples.time_s)
        .print();
  }
}

long long number_after(const std::string& operation, const std::string& beginning) {
  if (operation.rfind(beginning, 0) != 0) return -1;
  const char* end = operation.data() + operation.size();
  long long number = 0;
  const auto [rest, error] = std::from_chars(operation.data() + beginning.size(), end, number);
  return error == std::errc() && rest == end && number >= 1 ? number : -1;
}

}  // namespace rankwise
