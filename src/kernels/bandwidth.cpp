// Streams of messages over one pair of ranks or several at once (OSU's osu_bw, osu_bibw and osu_mbw_mr ask the same).
// Operations: bandwidth-window-W, bandwidth-bidirectional-window-W, and bandwidth-pairs-P-window-W.
#include <mpi.h>

#include <stdexcept>

#include "kernels/cells.hpp"
#include "kernels/kernels.hpp"
#include "measure/stream.hpp"

namespace rankwise {

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

}  // namespace rankwise
