// MPI_Alltoall of all ranks; a size is one block.
#include "measure/alltoall.hpp"

#include <mpi.h>

#include <stdexcept>

#include "kernels/cells.hpp"
#include "kernels/kernels.hpp"

namespace rankwise {

void run_alltoall(Arguments& arguments) {
  const Cells cells(arguments, "alltoall:1024");
  arguments.expect_all_used();
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
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
