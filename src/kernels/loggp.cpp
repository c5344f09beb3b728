// LogGP's parameters measured one by one between two ranks: send-overhead, receive-overhead, gap; and, once for each launch,
// the sizes up to which sends do not wait for the receiver.
#include <mpi.h>

#include <stdexcept>

#include "kernels/cells.hpp"
#include "kernels/json_line.hpp"
#include "kernels/kernels.hpp"
#include "measure/overhead.hpp"

namespace rankwise {

namespace {

struct Operation {
  const char* name;
  Samples (*measure)(MPI_Comm, std::size_t, const Sampling&);
  double parts;
};
constexpr Operation operations[] = {{"send-overhead", measure_send_overhead, 1},
                                    {"receive-overhead", measure_receive_overhead, 1},
                                    {"gap", measure_gap, gap_messages}};

const Operation& operation_of(const std::string& name) {
  for (const Operation& operation : operations) {
    if (name == operation.name) return operation;
  }
  throw std::invalid_argument("operation '" + name + "' is unknown: choose send-overhead, receive-overhead or gap");
}

}  // namespace

void run_loggp(Arguments& arguments) {
  const Cells cells(arguments, "send-overhead:8,receive-overhead:8,gap:8");
  const long long largest_bytes = arguments.integer("limits-up-to", 0);
  arguments.expect_all_used();
  int size = 1;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (size != 2) throw std::invalid_argument("loggp takes 2 ranks, not " + std::to_string(size));
  if (largest_bytes < 0 || largest_bytes > (1 << 30)) throw std::invalid_argument("--limits-up-to is not 0 to 1 GiB");
  for (const Cell& cell : cells.cells()) (void)operation_of(cell.operation);
  if (largest_bytes > 0) {
    const ProtocolLimits limits = find_protocol_limits(MPI_COMM_WORLD, largest_bytes);
    if (rank == 0) {
      JsonLine("limits")
          .add("send_returns_up_to_bytes", limits.send_returns_up_to_bytes)
          .add("ssend_returns_up_to_bytes", limits.ssend_returns_up_to_bytes)
          .add("head_to_head_up_to_bytes", limits.head_to_head_up_to_bytes)
          .add("largest_tried_bytes", limits.largest_tried_bytes)
          .print();
    }
  }
  cells.run("loggp", MPI_COMM_WORLD, [&](const Cell& cell, const Sampling& sampling) {
    const Operation& operation = operation_of(cell.operation);
    return Outcome{operation.measure(MPI_COMM_WORLD, cell.size_bytes, sampling), operation.parts};
  });
}

}  // namespace rankwise
