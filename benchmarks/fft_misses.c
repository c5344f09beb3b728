/* What one FFTW transform of 2^EXPONENT complex points reads and writes: run under cachegrind with REPEATS executions. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex_point[2];
void* fftw_malloc(size_t bytes);
void* fftw_plan_dft_1d(int n, complex_point* in, complex_point* out, int sign, unsigned flags);
void fftw_execute(const void* plan);
void fftw_flops(const void* plan, double* add, double* multiply, double* fused);

int main(int argc, char** argv) {
  const int n = argc == 3 ? 1 << atoi(argv[1]) : 0;
  if (n == 0)
    return 2;
  complex_point* in = fftw_malloc((size_t)n * sizeof *in);
  complex_point* out = fftw_malloc((size_t)n * sizeof *out);
  void* plan = fftw_plan_dft_1d(n, in, out, -1, 1U << 6 | 1U << 17); /* FFTW_ESTIMATE, FFTW_NO_SIMD: flops are then scalar */
  for (int i = 0; i < n; ++i)
    in[i][0] = in[i][1] = 1.0 / (i + 1);
  for (int i = 0; i < atoi(argv[2]); ++i)
    fftw_execute(plan);
  double add, multiply, fused;
  fftw_flops(plan, &add, &multiply, &fused);
  printf("%.0f\n", add + multiply + 2 * fused);
  return 0;
}
