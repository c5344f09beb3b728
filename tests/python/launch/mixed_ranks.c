/* Sends its coordinates to its neighbour in a periodic grid. With an argument it asks for the coordinates of its rank in
 * MPI_COMM_WORLD, as some programs do, or with "freed" frees the grid and sends to its neighbours in MPI_COMM_WORLD: right only
 * as long as no MPI reorders. Prints a sum that depends on who heard from whom. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, size, me, from, to, heard = -1, coords[1], dims[1] = {0}, periods[1] = {1};
  long long own, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 1, dims);
  MPI_Comm cart;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &cart);
  MPI_Comm_rank(cart, &me);
  int freed = argc > 1 && strcmp(argv[1], "freed") == 0;
  MPI_Cart_coords(cart, argc > 1 && !freed ? rank : me, 1, coords);
  MPI_Cart_shift(cart, 0, 1, &from, &to);
  if (freed) {
    int all[64]; /* so that it ends, each takes the message that it gets */
    MPI_Allgather(&to, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (from = 0; all[from] != rank; from++) continue;
    MPI_Comm_free(&cart);
    cart = MPI_COMM_WORLD;
  }
  MPI_Sendrecv(coords, 1, MPI_INT, to, 0, &heard, 1, MPI_INT, from, 0, cart, MPI_STATUS_IGNORE);
  own = (long long)(coords[0] + 1) * (heard + 1) * (heard + 1);
  MPI_Allreduce(&own, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("time %.9f\nsum %lld\n", MPI_Wtime(), sum);
  MPI_Finalize();
  return 0;
}
