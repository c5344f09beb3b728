/* What all ports in C use. */
#include <mpi.h>
#include <rankwise/rankwise.h>
#include <stdio.h>

static inline void check(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", rankwise_result_string(result), rankwise_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* An array of elements that lie side by side. */
static inline rankwise_field elements(void* data, size_t bytes) {
  rankwise_field field;
  check(rankwise_field_default(&field));
  field.data = data;
  field.element_bytes = bytes;
  field.stride[0] = (ptrdiff_t)bytes;
  return field;
}
