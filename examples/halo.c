/* Heat on a square plate, halved and halved again among the ranks: a plain MPI program that knows nothing of rankwise.
 *
 * It lets MPI reorder its Cartesian communicator (reorder = 1), which most MPIs do not. Under `rankwise preload` they do:
 *
 *     mpicc -O2 halo.c -o halo
 *     rankwise preload --verbose -- mpiexec -n 8 ./halo
 *
 * Arguments: values along an edge of a rank's block (1000) and time steps (20). Each step moves an edge of `width` values
 * to each neighbour; `layers` such edges with the third argument (1). Prints the time of a step and a checksum that does
 * not depend on where the ranks sit. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void fail(const char* what) {
  fprintf(stderr, "halo: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int width = argc > 1 ? atoi(argv[1]) : 1000;
  const int steps = argc > 2 ? atoi(argv[2]) : 20;
  const int layers = argc > 3 ? atoi(argv[3]) : 1;
  if (width < 1 || steps < 1 || layers < 1) fail("usage: halo [width >= 1] [steps >= 1] [layers >= 1]");
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int dims[2] = {0, 0};
  const int periods[2] = {0, 0};
  MPI_Dims_create(size, 2, dims);
  MPI_Comm cart;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart);
  int rank;
  int coords[2];
  MPI_Comm_rank(cart, &rank);
  MPI_Cart_coords(cart, rank, 2, coords);
  int neighbor[4]; /* north, south, west, east */
  MPI_Cart_shift(cart, 0, 1, &neighbor[0], &neighbor[1]);
  MPI_Cart_shift(cart, 1, 1, &neighbor[2], &neighbor[3]);

  const size_t count = (size_t)width * (size_t)layers;
  double* out[4];
  double* in[4];
  for (int side = 0; side < 4; ++side) {
    out[side] = malloc(count * sizeof(double));
    in[side] = malloc(count * sizeof(double));
    if (out[side] == NULL || in[side] == NULL) fail("no memory: make width or layers smaller");
    for (size_t i = 0; i < count; ++i) out[side][i] = in[side][i] = coords[0] * dims[1] + coords[1];
  }

  double time_s = 0.0;
  for (int step = 0; step <= steps; ++step) { /* step 0 makes the connections and does not count */
    MPI_Barrier(cart);
    const double start_s = MPI_Wtime();
    MPI_Request request[8];
    for (int side = 0; side < 4; ++side) {
      MPI_Irecv(in[side], (int)count, MPI_DOUBLE, neighbor[side], side ^ 1, cart, &request[side]);
    }
    for (int side = 0; side < 4; ++side) {
      MPI_Isend(out[side], (int)count, MPI_DOUBLE, neighbor[side], side, cart, &request[4 + side]);
    }
    MPI_Waitall(8, request, MPI_STATUSES_IGNORE);
    if (step > 0) time_s += MPI_Wtime() - start_s;
    /* What leaves by a side next is the mean of what came in by all of them: enough to make every value matter. */
    for (size_t i = 0; i < count; ++i) {
      double sum = 0.0;
      for (int side = 0; side < 4; ++side) sum += in[side][i];
      for (int side = 0; side < 4; ++side) out[side][i] = 0.25 * sum;
    }
  }

  double checksum = 0.0;
  double own = out[0][count / 2] * (1 + rank);
  MPI_Reduce(&own, &checksum, 1, MPI_DOUBLE, MPI_SUM, 0, cart);
  double slowest_s = 0.0;
  MPI_Reduce(&time_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, 0, cart);
  if (rank == 0) printf("grid %dx%d step_ms %.3f checksum %.12g\n", dims[0], dims[1], 1e3 * slowest_s / steps, checksum);
  for (int side = 0; side < 4; ++side) {
    free(out[side]);
    free(in[side]);
  }
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
