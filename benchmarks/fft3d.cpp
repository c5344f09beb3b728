// One forward 3-D FFT of double complex values three ways, interleaved in one run: ours (in place, transposed out), and
// FFTW's own MPI transform in place and out of place, both transposed out (its fastest). All plan with FFTW_MEASURE, and
// every spectrum is checked against the definition.
//
//   mpiexec -n 2 fft3d_peers N GRID REPETITIONS METHOD      as in: 128 2x1 50 alltoall
//
// Prints a JSON line {"n": ..., "ranks": ..., "ours_s": [...], "fftw_in_place_s": [...], "fftw_out_of_place_s": [...]}:
// the maximum over ranks, repetition by repetition, and the bytes of each. fft3d.py makes ratios.
#include <fftw3-mpi.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "fft/field.hpp"
#include "fft/transform.hpp"

namespace {

using rankwise::Box;
using rankwise::Decomposition;
using rankwise::Index;
using Value = std::complex<double>;

double timed(const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start_s = MPI_Wtime();
  work();
  double time_s = MPI_Wtime() - start_s;
  MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return time_s;
}

void require(const char* name, const Decomposition& d, const Box& box, const Value* spectrum) {
  const rankwise::SpectrumError error = check_spectrum(MPI_COMM_WORLD, d, box, spectrum);
  if (std::max(error.at_points, error.parseval) <= rankwise::error_bound<double>(d)) return;
  std::fprintf(stderr, "%s: wrong values (%g, %g)\n", name, error.at_points, error.parseval);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// FFTW's transform on slabs of axis 0, out of which come slabs of axis 1 with axis 0 in the middle.
class Fftw {
 public:
  Fftw(ptrdiff_t n, bool in_place) : n_(n) {
    values_ = fftw_mpi_local_size_3d_transposed(n, n, n, MPI_COMM_WORLD, &local0_, &start0_, &local1_, &start1_);
    in_ = fftw_alloc_complex(static_cast<size_t>(values_));
    out_ = in_place ? in_ : fftw_alloc_complex(static_cast<size_t>(values_));
    plan_ = fftw_mpi_plan_dft_3d(n, n, n, in_, out_, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_MEASURE | FFTW_MPI_TRANSPOSED_OUT);
    clear();
  }
  ~Fftw() {
    fftw_destroy_plan(plan_);
    if (out_ != in_) fftw_free(out_);
    fftw_free(in_);
  }
  Fftw(const Fftw&) = delete;
  Fftw& operator=(const Fftw&) = delete;

  void clear() { std::fill_n(reinterpret_cast<Value*>(in_), values_, Value{}); }
  void run() { fftw_execute(plan_); }
  void check(const char* name, const Decomposition& d, int rank) {
    fill_field(d, rank, reinterpret_cast<Value*>(in_));
    run();
    const auto* const out = reinterpret_cast<const Value*>(out_);
    std::vector<Value> ordered(static_cast<size_t>(local1_ * n_ * n_));
    for (ptrdiff_t x = 0; x < n_; ++x) {
      for (ptrdiff_t y = 0; y < local1_; ++y) {
        std::copy_n(out + (y * n_ + x) * n_, n_, ordered.data() + (x * local1_ + y) * n_);
      }
    }
    require(name, d, {rankwise::Share{0, n_}, {start1_, local1_}, {0, n_}}, ordered.data());
    clear();
  }

 private:
  ptrdiff_t n_, values_, local0_ = 0, start0_ = 0, local1_ = 0, start1_ = 0;
  fftw_complex* in_;
  fftw_complex* out_;
  fftw_plan plan_;
};

void print(const char* name, const std::vector<double>& values, const char* after) {
  std::printf("\"%s\": [", name);
  for (size_t i = 0; i < values.size(); ++i) std::printf("%s%.9g", i > 0 ? ", " : "", values[i]);
  std::printf("]%s", after);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 5 || std::string(argv[2]).find('x') == std::string::npos) {
    if (rank == 0) std::fprintf(stderr, "usage: fft3d_peers N GRID REPETITIONS METHOD, as in 128 2x1 50 alltoall\n");
    MPI_Finalize();
    return 2;
  }
  const Index n = std::atol(argv[1]);
  const std::string grid = argv[2];
  const int repetitions = std::atoi(argv[3]);
  const Decomposition d{{n, n, n}, false, {std::atol(grid.c_str()), std::atol(grid.c_str() + grid.find('x') + 1)}};
  {
    const rankwise::FftLibrary library("fftw");
    rankwise::Fft3d<double> ours(MPI_COMM_WORLD,
                                 {d, rankwise::Order::transposed, rankwise::parse_transpose_method(argv[4]),
                                  rankwise::Planning::measure},
                                 library);
    fill_field(d, rank, ours.data());
    ours.run(rankwise::Direction::forward);
    require("ours", d, ours.output_box(), ours.data());
    std::fill_n(ours.data(), ours.array_bytes() / sizeof(Value), Value{});
    Fftw in_place(n, true);
    in_place.check("FFTW in place", d, rank);
    Fftw out_of_place(n, false);
    out_of_place.check("FFTW out of place", d, rank);

    const std::function<void()> runs[3] = {[&] { ours.run(rankwise::Direction::forward); }, [&] { in_place.run(); },
                                           [&] { out_of_place.run(); }};
    std::vector<double> times[3];
    for (int i = -2; i < repetitions; ++i) {
      // Each in turn is the first, so that none always finds the caches that the same other one has left.
      for (int j = 0; j < 3; ++j) {
        const auto which = static_cast<size_t>((i + 2 + j) % 3);
        const double time_s = timed(runs[which]);
        if (i >= 0) times[which].push_back(time_s);
      }
    }
    if (rank == 0) {
      std::printf("{\"n\": %ld, \"ranks\": %d, \"memory_ratio\": %.4f, ", static_cast<long>(n), size,
                  static_cast<double>(ours.memory_bytes()) / static_cast<double>(ours.array_bytes()));
      print("ours_s", times[0], ", ");
      print("fftw_in_place_s", times[1], ", ");
      print("fftw_out_of_place_s", times[2], "}\n");
    }
  }
  fftw_mpi_cleanup();
  MPI_Finalize();
  return 0;
}
