// The kernels "combine" and "token": what a collective takes besides its messages.

#include <mpi.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/interface.hpp"
#include "measure/together.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

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
