#include "measure/reference.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rankwise {

double reference_loop_s() {
  // Each step needs the one before: neither the compiler nor the processor can shorten or overlap them. The work must
  // never change, or profiles of before and after could not be compared.
  constexpr int steps = 20000;
  constexpr int repetitions = 3;
  static volatile std::uint64_t sink = 1;
  double quickest_s = std::numeric_limits<double>::max();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::uint64_t state = sink | 1U;
    const double start_s = MPI_Wtime();
    for (int i = 0; i < steps; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
    sink = state;
    quickest_s = std::min(quickest_s, MPI_Wtime() - start_s);
  }
  return quickest_s;
}

std::vector<double> reference_loops_s(MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Barrier(comm);
  const double own_s = reference_loop_s();
  std::vector<double> all_s(rank == 0 ? static_cast<std::size_t>(size) : 0);
  MPI_Gather(&own_s, 1, MPI_DOUBLE, all_s.data(), 1, MPI_DOUBLE, 0, comm);
  return all_s;
}

}  // namespace rankwise
