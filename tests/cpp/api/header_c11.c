/* The header in C11, with all warnings as errors: every function has a C prototype that can be called. */
#include <rankwise/rankwise.h>

int main(void) {
  rankwise_exchange_options options;
  rankwise_exchange plan = NULL;
  rankwise_fft fft = NULL;
  const int64_t n[3] = {8, 8, 8};
  int slots = 0;
  if (rankwise_exchange_options_default(&options) != RANKWISE_SUCCESS) return 1;
  if (options.algorithm != RANKWISE_ALGORITHM_AUTO || options.struct_size != sizeof options) return 2;
  /* Before MPI_Init: refused, not crashed. */
  if (rankwise_exchange_create(MPI_COMM_WORLD, 0, NULL, &options, &plan) != RANKWISE_ERROR_USAGE) return 3;
  if (rankwise_exchange_slots(plan, &slots) != RANKWISE_ERROR_USAGE) return 4;
  if (rankwise_fft_create(MPI_COMM_WORLD, n, NULL, NULL, NULL, &fft) != RANKWISE_ERROR_USAGE) return 7;
  if (rankwise_last_error()[0] == '\0' || rankwise_result_string(RANKWISE_ERROR_USAGE) == NULL) return 5;
  return rankwise_version() == RANKWISE_VERSION ? 0 : 6;
}
