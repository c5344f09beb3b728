/* What it takes to set up a halo, in the time of MPI_Wtime: of this machine, or simulated; and how much memory the library holds
 * then, of all ranks of the process, where halo_held.cpp counts it (else 0). JSON Lines for halo_setup.py.
 *
 *     halo_setup [boxes' edge]
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rankwise/rankwise.h"

static int64_t held(void) {
  int64_t (*const bytes)(void) = (int64_t (*)(void))dlsym(RTLD_DEFAULT, "rankwise_held_bytes");
  return bytes == NULL ? 0 : bytes();
}

static void check(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  fprintf(stderr, "%s\n", rankwise_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int dims[3] = {0, 0, 0};
  const int periods[3] = {1, 1, 1}, width[3] = {1, 1, 1};
  const int n = argc > 1 ? atoi(argv[1]) : 4;
  const int own[3] = {n, n, n};
  MPI_Dims_create(ranks, 3, dims);
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
  double* array = (double*)malloc(sizeof *array * (size_t)(n + 2) * (size_t)(n + 2) * (size_t)(n + 2));
  rankwise_field field;
  check(rankwise_field_default(&field));
  check(rankwise_field_array(&field, array, sizeof *array, 3, own, width, width));
  const int algorithms[] = {RANKWISE_HALO_DIRECT, RANKWISE_HALO_STAGED, RANKWISE_HALO_TWO_STEP, RANKWISE_HALO_THREE_STEP,
                            RANKWISE_HALO_AUTO};
  const char* names[] = {"direct", "staged", "two-step", "three-step", "auto"};
  for (int i = 0; i < 5; ++i) {
    rankwise_halo_options options;
    check(rankwise_halo_options_default(&options));
    options.algorithm = algorithms[i];
    MPI_Barrier(cart);
    const int64_t before = held();
    MPI_Barrier(cart);
    double took_s = MPI_Wtime();
    rankwise_halo halo = NULL;
    check(rankwise_halo_create(cart, 1, &field, &options, &halo));
    took_s = MPI_Wtime() - took_s;
    MPI_Allreduce(MPI_IN_PLACE, &took_s, 1, MPI_DOUBLE, MPI_MAX, cart);
    const int64_t after = held();
    MPI_Barrier(cart);
    double exchange_s = MPI_Wtime();
    check(rankwise_halo_start(halo, 0, NULL, NULL));
    check(rankwise_halo_wait(halo));
    exchange_s = MPI_Wtime() - exchange_s;
    MPI_Allreduce(MPI_IN_PLACE, &exchange_s, 1, MPI_DOUBLE, MPI_MAX, cart);
    if (rank == 0) {
      printf("{\"ranks\": %d, \"algorithm\": \"%s\", \"create_s\": %.4g, \"first_exchange_s\": %.4g, \"memory_bytes\": %lld}\n",
             ranks, names[i], took_s, exchange_s, (long long)(after - before));
    }
    check(rankwise_halo_destroy(&halo));
  }
  free(array);
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
