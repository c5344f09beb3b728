// What the benchmarks of exchanges share: results that are checked; of halos a periodic grid of all ranks, and cases from the
// command line.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "rankwise/rankwise.h"

inline void check(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", rankwise_result_string(result), rankwise_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// An exchange of so many fields of boxes of n^3 doubles with a halo of width g.
struct Case {
  int n, g, fields;
  [[nodiscard]] int whole() const { return n + 2 * g; }
  [[nodiscard]] std::size_t volume() const {
    const auto w = static_cast<std::size_t>(whole());
    return w * w * w;
  }
};

// All ranks on a periodic grid of three axes.
inline MPI_Comm periodic_grid() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int dims[3] = {0, 0, 0};
  const int periods[3] = {1, 1, 1};
  MPI_Dims_create(ranks, 3, dims);
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
  return cart;
}

// NAME REPETITIONS N,G,F ...: calls run(case, repetitions, cart) for each.
template <class Run>
int run_cases(int argc, char** argv, Run run) {
  MPI_Init(&argc, &argv);
  MPI_Comm cart = periodic_grid();
  for (int i = 2; i < argc; ++i) {
    Case c{};
    if (std::sscanf(argv[i], "%d,%d,%d", &c.n, &c.g, &c.fields) != 3 || c.g < 1 || c.n < c.g || c.fields < 1) {
      std::fprintf(stderr, "usage: %s REPETITIONS N,G,F ...\n", argv[0]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    run(c, std::atoi(argv[1]), cart);
  }
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
