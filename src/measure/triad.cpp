#include "measure/triad.hpp"

#include <stdexcept>

namespace rankwise {

std::vector<double> measure_triad(MPI_Comm comm, std::size_t array_bytes, const Sampling& sampling) {
  const std::size_t n = array_bytes / sizeof(double);
  if (n == 0) throw std::invalid_argument("the arrays of a triad hold nothing: give them some MiB");
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<double> a(n, 0.0), b(n, 1.0), c(n, 2.0);
  std::vector<double> rates;
  double spent_s = 0.0;
  constexpr int warm_up = 1;
  int done = 0;
  // The factor changes so that no repetition can be left out.
  for (double factor = 1.0; done < sampling.most + warm_up; factor += 1.0) {
    MPI_Barrier(comm);
    const double start_s = MPI_Wtime();
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + factor * c[i];
    double time_s = MPI_Wtime() - start_s;
    MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    if (a[n / 2] != 1.0 + 2.0 * factor) throw std::runtime_error("the triad computed something else");
    if (++done <= warm_up) continue;
    spent_s += time_s;
    if (rank == 0) rates.push_back(3.0 * static_cast<double>(n * sizeof(double)) * size / time_s);
    if (spent_s > sampling.budget_s && done - warm_up >= sampling.least) break;
  }
  return rates;
}

}  // namespace rankwise
