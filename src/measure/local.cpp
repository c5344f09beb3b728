#include "measure/local.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "mpi/mpi.hpp"

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
    const double start_s = steady_s();
    for (int i = 0; i < steps; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
    sink = state;
    quickest_s = std::min(quickest_s, steady_s() - start_s);
  }
  return quickest_s;
}

std::vector<double> reference_loops_s(MPI_Comm comm) {
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  MPI_Barrier(comm);
  const double own_s = reference_loop_s();
  std::vector<double> all_s(rank == 0 ? static_cast<std::size_t>(size) : 0);
  MPI_Gather(&own_s, 1, MPI_DOUBLE, all_s.data(), 1, MPI_DOUBLE, 0, comm);
  return all_s;
}

std::vector<double> measure_triad(MPI_Comm comm, std::size_t array_bytes, const Sampling& sampling) {
  const std::size_t n = array_bytes / sizeof(double);
  if (n == 0) throw std::invalid_argument("the arrays of a triad hold nothing: give them some MiB");
  const int rank = rank_of(comm);
  const int size = size_of(comm);
  std::vector<double> a(n, 0.0), b(n, 1.0), c(n, 2.0);
  std::vector<double> rates;
  double spent_s = 0.0;
  constexpr int warm_up = 1;
  int done = 0;
  // The factor changes so that no repetition can be left out.
  for (double factor = 1.0; done < sampling.most + warm_up; factor += 1.0) {
    MPI_Barrier(comm);
    const double start_s = steady_s();
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + factor * c[i];
    const double time_s = most_of(comm, steady_s() - start_s);
    if (a[n / 2] != 1.0 + 2.0 * factor) throw std::runtime_error("the triad computed something else");
    if (++done <= warm_up) continue;
    spent_s += time_s;
    if (rank == 0) rates.push_back(3.0 * static_cast<double>(n * sizeof(double)) * size / time_s);
    if (spent_s > sampling.budget_s && done - warm_up >= sampling.least) break;
  }
  return rates;
}

}  // namespace rankwise
