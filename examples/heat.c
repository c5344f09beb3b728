/* Heat in a periodic box, in three dimensions with edges and corners (a stencil of 27 points): the halo by rankwise, and
 * what needs none computed while it is under way.
 *
 *     mpicc -O2 heat.c $(pkg-config --cflags --libs rankwise) -o heat && mpiexec -n 4 ./heat 48
 *
 * Argument: cells of the whole box along an edge (24); they are shared out as evenly as they go, so that ranks may have
 * boxes of different extents. Prints sums that do not depend on the number of ranks. */
#include <mpi.h>
#include <rankwise/rankwise.h>
#include <stdio.h>
#include <stdlib.h>

static void require(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  fprintf(stderr, "heat: %s\n", rankwise_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int own[3];
static double* u;
static double* next;

static size_t at(int i, int j, int k) {
  return ((size_t)i * (size_t)(own[1] + 2) + (size_t)j) * (size_t)(own[2] + 2) + (size_t)k;
}

/* Computes the cells of the inside, which need no halo, or those of the surface. */
static void advance(int inside) {
  for (int i = 1; i <= own[0]; ++i) {
    for (int j = 1; j <= own[1]; ++j) {
      for (int k = 1; k <= own[2]; ++k) {
        const int is_inside = i > 1 && i < own[0] && j > 1 && j < own[1] && k > 1 && k < own[2];
        if (is_inside != inside) continue;
        double total = 0.0;
        for (int c = -1; c <= 1; ++c) {
          for (int b = -1; b <= 1; ++b) {
            for (int a = -1; a <= 1; ++a) total += u[at(i + a, j + b, k + c)];
          }
        }
        next[at(i, j, k)] = 0.75 * u[at(i, j, k)] + 0.25 * total / 27;
      }
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int n = argc > 1 ? atoi(argv[1]) : 24;
  int ranks, rank, dims[3] = {0, 0, 0}, coords[3], first[3];
  const int periods[3] = {1, 1, 1}, width[3] = {1, 1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, dims);
  MPI_Comm cart;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
  MPI_Comm_rank(cart, &rank);
  MPI_Cart_coords(cart, rank, 3, coords);
  for (int a = 0; a < 3; ++a) {
    first[a] = coords[a] * n / dims[a];
    own[a] = (coords[a] + 1) * n / dims[a] - first[a];
  }
  const size_t volume = (size_t)(own[0] + 2) * (size_t)(own[1] + 2) * (size_t)(own[2] + 2);
  u = calloc(volume, sizeof(double));
  next = calloc(volume, sizeof(double));
  if (u == NULL || next == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 1; i <= own[0]; ++i) {
    for (int j = 1; j <= own[1]; ++j) {
      for (int k = 1; k <= own[2]; ++k) {
        u[at(i, j, k)] = ((first[0] + i) * 7 + (first[1] + j) * 13 + (first[2] + k) * 29) % 101;
      }
    }
  }

  rankwise_field field;
  require(rankwise_field_default(&field));
  require(rankwise_field_array(&field, u, sizeof(double), 3, own, width, width));
  rankwise_halo halo;
  require(rankwise_halo_create(cart, 1, &field, NULL, &halo)); /* width 1, with edges and corners */

  for (int step = 0; step < 10; ++step) {
    require(rankwise_field_array(&field, u, sizeof(double), 3, own, width, width)); /* the two arrays take turns */
    require(rankwise_halo_start(halo, 1, &field, NULL));
    advance(1);
    require(rankwise_halo_wait(halo));
    advance(0);
    double* const before = u;
    u = next;
    next = before;
  }

  double weighted[2] = {0.0, 0.0}, sums[2];
  for (int k = 1; k <= own[2]; ++k) {
    for (int j = 1; j <= own[1]; ++j) {
      for (int i = 1; i <= own[0]; ++i) {
        const double value = u[at(i, j, k)];
        weighted[0] += value;
        weighted[1] += value * (((first[0] + i) * 3 + (first[1] + j) * 5 + (first[2] + k) * 11) % 17);
      }
    }
  }
  MPI_Reduce(weighted, sums, 2, MPI_DOUBLE, MPI_SUM, 0, cart);
  if (rank == 0) printf("heat %.6f %.6f\n", sums[0], sums[1]);
  require(rankwise_halo_destroy(&halo));
  free(u);
  free(next);
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
