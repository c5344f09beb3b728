/* Calls MPI_Cart_create in ways that must reach MPI as they are, and in one that may not. Prints what it sees, a line a
 * fact, from rank 0; exits 1 where MPI's own meaning is broken. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, broken;

static void tell(const char* what, int value) {
  if (rank == 0) printf("%s %d\n", what, value);
}

static void require(int truth, const char* what) {
  if (truth) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  broken = 1;
}

static int compared(MPI_Comm comm) {
  int result;
  MPI_Comm_compare(MPI_COMM_WORLD, comm, &result);
  return result;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int periods[2] = {1, 0};
  int dims[2] = {0, 0};
  MPI_Dims_create(size, 2, dims);
  MPI_Comm cart;

  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
  require(compared(cart) == MPI_CONGRUENT, "reorder = 0 has moved the ranks");
  MPI_Comm_free(&cart);

  /* Every rank has one cell of the same grid, and its rank is that cell. */
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart);
  tell("moved", compared(cart) == MPI_SIMILAR);
  int found_dims[2], found_periods[2], coords[2], cell, sum = 0;
  MPI_Cart_get(cart, 2, found_dims, found_periods, coords);
  MPI_Comm_rank(cart, &cell);
  require(found_dims[0] == dims[0] && found_dims[1] == dims[1], "the grid is another one");
  require(found_periods[0] == 1 && found_periods[1] == 0, "the periods are others");
  require(cell == coords[0] * dims[1] + coords[1], "the coordinates are not those of the rank");
  MPI_Allreduce(&cell, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(sum == size * (size - 1) / 2, "the cells are no permutation");
  MPI_Comm_free(&cart);

  /* A grid smaller than the communicator: the others get none. */
  const int line = size > 1 ? size - 1 : 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &line, periods, 1, &cart);
  int members = cart != MPI_COMM_NULL;
  if (members) MPI_Comm_free(&cart);
  MPI_Allreduce(MPI_IN_PLACE, &members, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(members == line, "a grid of fewer cells has another number of members");

  /* Errors are MPI's to tell. */
  MPI_Comm quiet;
  MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
  MPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
  const int too_many[2] = {size, 2};
  tell("too-large-fails", MPI_Cart_create(quiet, 2, too_many, periods, 1, &cart) != MPI_SUCCESS);
  const int negative[2] = {-1, size};
  tell("negative-fails", MPI_Cart_create(quiet, 2, negative, periods, 1, &cart) != MPI_SUCCESS);
  if (size > 1) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    const int one = 1;
    tell("inter-fails", MPI_Cart_create(inter, 1, &one, periods, 1, &cart) != MPI_SUCCESS);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  MPI_Comm_free(&quiet);

  MPI_Allreduce(MPI_IN_PLACE, &broken, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return broken;
}
