/* A spectral Poisson solver: laplace u = f in a periodic box, against a known solution; transforms by rankwise.
 *
 *     mpicc -O2 poisson.c $(pkg-config --cflags --libs rankwise) -lm -o poisson && mpiexec -n 4 ./poisson 48
 *
 * Argument: points of the box along an edge (24). Prints the largest error of any point. */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <rankwise/rankwise.h>
#include <stdio.h>
#include <stdlib.h>

static void require(rankwise_result result) {
  if (result == RANKWISE_SUCCESS) return;
  fprintf(stderr, "poisson: %s\n", rankwise_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The wave number of a point of an axis. */
static double wave(int64_t i, int64_t n) { return (double)(2 * i > n ? i - n : i); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int64_t edge = argc > 1 ? atoi(argv[1]) : 24;
  const int64_t n[3] = {edge, edge, edge};
  const double step = 2.0 * acos(-1.0) / (double)edge;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  rankwise_fft_options options;
  require(rankwise_fft_options_default(&options));
  options.kind = RANKWISE_FFT_REAL;
  rankwise_fft fft;
  require(rankwise_fft_create(MPI_COMM_WORLD, n, NULL, NULL, &options, &fft));
  rankwise_fft_box in, out;
  int64_t reals, waves;
  require(rankwise_fft_boxes(fft, &in, &out));
  require(rankwise_fft_elements(fft, &reals, &waves));
  const size_t field_bytes = (size_t)reals * sizeof(double), spectrum_bytes = (size_t)waves * sizeof(double complex);
  double* const field = malloc(field_bytes + 1);
  double* const known = malloc(field_bytes + 1);
  double complex* const spectrum = malloc(spectrum_bytes + 1);
  if (field == NULL || known == NULL || spectrum == NULL) MPI_Abort(MPI_COMM_WORLD, 1);

  size_t at = 0;
  for (int64_t i = in.lower[0]; i < in.lower[0] + in.size[0]; ++i) {
    for (int64_t j = in.lower[1]; j < in.lower[1] + in.size[1]; ++j) {
      for (int64_t k = in.lower[2]; k < in.lower[2] + in.size[2]; ++k, ++at) {
        const double x = step * (double)i, y = step * (double)j, z = step * (double)k;
        known[at] = sin(x) * cos(2 * y) + sin(3 * z) * cos(x);
        field[at] = -5 * sin(x) * cos(2 * y) - 10 * sin(3 * z) * cos(x);
      }
    }
  }

  require(rankwise_fft_forward(fft, field, field_bytes, spectrum, spectrum_bytes, 1.0));
  at = 0;
  for (int64_t i = out.lower[0]; i < out.lower[0] + out.size[0]; ++i) {
    for (int64_t j = out.lower[1]; j < out.lower[1] + out.size[1]; ++j) {
      for (int64_t k = out.lower[2]; k < out.lower[2] + out.size[2]; ++k, ++at) {
        const double a = wave(i, edge), b = wave(j, edge), c = (double)k;
        const double k2 = a * a + b * b + c * c;
        spectrum[at] = k2 > 0.0 ? spectrum[at] / -k2 : 0.0;
      }
    }
  }
  require(rankwise_fft_backward(fft, spectrum, spectrum_bytes, field, field_bytes, 1.0 / ((double)edge * edge * edge)));

  double worst = 0.0, all = 0.0;
  for (int64_t i = 0; i < reals; ++i) worst = fmax(worst, fabs(field[i] - known[i]));
  MPI_Reduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0 && all < 1e-12) printf("poisson %d: off by less than 1e-12\n", (int)edge);
  if (rank == 0 && !(all < 1e-12)) printf("poisson %d: off by %g\n", (int)edge, all);
  require(rankwise_fft_destroy(&fft));
  free(field);
  free(known);
  free(spectrum);
  MPI_Finalize();
  return 0;
}
