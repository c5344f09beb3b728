/* Makes a mapped communicator and says how good it is. Valid C11 and C++. */
#include <rankwise/rankwise.h>

#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int dims[2] = {0, 0};
  const int periods[2] = {0, 1};
  int size = 0;
  int rank = 0;
  long long j_sum = -1;
  long long j_max = -1;
  MPI_Comm cart;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  if (MPIX_Cart_stencil_comm(MPI_COMM_WORLD, 2, dims, periods, 1, NULL, 0, &cart) != MPI_SUCCESS) {
    fprintf(stderr, "%s\n", rankwise_last_error());
    return 1;
  }
  if (rankwise_stencil_score(cart, 2, dims, periods, NULL, 0, NULL, &j_sum, &j_max) != RANKWISE_SUCCESS) return 1;
  if (rankwise_version() != RANKWISE_VERSION) return 2;
  MPI_Comm_rank(cart, &rank);
  if (rank == 0) printf("rankwise: J_sum %lld J_max %lld\n", j_sum, j_max);
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
