// Plans that outlive MPI_Finalize: every call is refused with RANKWISE_ERROR_USAGE, and destroy clears the handle all the same.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "rankwise/rankwise.h"

static int wrong = 0;

static void refused(const char* what, rankwise_result result) {
  if (result == RANKWISE_ERROR_USAGE && strstr(rankwise_last_error(), "MPI is finalised") != NULL) return;
  fprintf(stderr, "%s: %d, %s\n", what, (int)result, rankwise_last_error());
  wrong = 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int periods[1] = {1};
  const int cutoff[1] = {1};
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &cart);
  rankwise_exchange plan = NULL;
  rankwise_exchange other = NULL;
  rankwise_fft fft = NULL;
  const int64_t n[3] = {4, 4, 4};
  if (rankwise_exchange_create(cart, 1, cutoff, NULL, &plan) != RANKWISE_SUCCESS) return 2;
  if (rankwise_exchange_set_sizes(plan, 2, 8) != RANKWISE_SUCCESS) return 2;
  const int has_fft = rankwise_fft_create(MPI_COMM_WORLD, n, NULL, NULL, NULL, &fft) == RANKWISE_SUCCESS;
  MPI_Finalize();
  refused("create", rankwise_exchange_create(cart, 1, cutoff, NULL, &other));
  refused("destroy", rankwise_exchange_destroy(&plan));
  if (has_fft) refused("destroy of a transform", rankwise_fft_destroy(&fft));
  return wrong || plan != NULL || fft != NULL;
}
