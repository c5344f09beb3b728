// What the benchmarks of the 3-D FFT beside FFTW's own MPI transform share.
#pragma once

#include <fftw3-mpi.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "fft/timed.hpp"
#include "turns.hpp"

namespace peers {

using rankwise::Box;
using rankwise::Decomposition;
using rankwise::Index;
using Value = std::complex<double>;

// MPI and FFTW for as long as a program runs.
class Started {
 public:
  Started(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  ~Started() {
    fftw_mpi_cleanup();
    MPI_Finalize();
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  // The exit code of wrong arguments.
  [[nodiscard]] int refuse(const char* usage) const {
    if (rank == 0) std::fprintf(stderr, "usage: %s\n", usage);
    return 2;
  }

  int rank = 0;
  int size = 1;
};

inline double timed(const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start_s = MPI_Wtime();
  work();
  double time_s = MPI_Wtime() - start_s;
  MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return time_s;
}

// Times of several runs by turns, after two rounds that warm up.
inline std::vector<std::vector<double>> timed(const std::vector<std::function<void()>>& runs, int repetitions) {
  const auto time_of = [&](size_t run) { return timed(runs[run]); };
  by_turns(runs.size(), 2, time_of);
  return by_turns(runs.size(), repetitions, time_of);
}

// Field f of a batch is f + 1 times the field that all ranks know.
inline void fill(const Decomposition& d, int rank, Index field, Value* into) {
  fill_field(d, rank, into);
  std::transform(into, into + volume(d.natural(rank)), into,
                 [field](const Value& value) { return value * static_cast<double>(field + 1); });
}

// Aborts unless a spectrum, of field f, is that of the field.
inline void require(const char* name, const Decomposition& d, const Box& box, Index field, const Value* spectrum) {
  std::vector<Value> unscaled(spectrum, spectrum + volume(box));
  for (Value& value : unscaled) value /= static_cast<double>(field + 1);
  const rankwise::SpectrumError error = check_spectrum(MPI_COMM_WORLD, d, box, unscaled.data());
  if (std::max(error.at_points, error.parseval) <= rankwise::error_bound<double>(d)) return;
  std::fprintf(stderr, "%s: wrong values (%g, %g)\n", name, error.at_points, error.parseval);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// FFTW's transform on slabs of axis 0, out of which come slabs of axis 1 with axis 0 in the middle, of so many fields.
class Fftw {
 public:
  Fftw(ptrdiff_t n, ptrdiff_t batch, bool in_place) : n_(n) {
    values_ = fftw_mpi_local_size_3d_transposed(n, n, n, MPI_COMM_WORLD, &local0_, &start0_, &local1_, &start1_);
    for (ptrdiff_t f = 0; f < batch; ++f) {
      in_.push_back(fftw_alloc_complex(static_cast<size_t>(values_)));
      out_.push_back(in_place ? in_.back() : fftw_alloc_complex(static_cast<size_t>(values_)));
    }
    plan_ =
        fftw_mpi_plan_dft_3d(n, n, n, in_[0], out_[0], MPI_COMM_WORLD, FFTW_FORWARD, FFTW_MEASURE | FFTW_MPI_TRANSPOSED_OUT);
  }
  ~Fftw() {
    fftw_destroy_plan(plan_);
    for (size_t f = 0; f < in_.size(); ++f) {
      if (out_[f] != in_[f]) fftw_free(out_[f]);
      fftw_free(in_[f]);
    }
  }
  Fftw(const Fftw&) = delete;
  Fftw& operator=(const Fftw&) = delete;

  void run() {
    for (size_t f = 0; f < in_.size(); ++f) fftw_mpi_execute_dft(plan_, in_[f], out_[f]);
  }
  void run_one() {
    for (size_t f = 0; f < in_.size(); ++f) fftw_execute(plan_);
  }
  void check(const char* name, const Decomposition& d, int rank) {
    for (size_t f = 0; f < in_.size(); ++f) fill(d, rank, static_cast<Index>(f), reinterpret_cast<Value*>(in_[f]));
    run();
    std::vector<Value> ordered(static_cast<size_t>(local1_ * n_ * n_));
    for (size_t f = 0; f < in_.size(); ++f) {
      const auto* const out = reinterpret_cast<const Value*>(out_[f]);
      for (ptrdiff_t x = 0; x < n_; ++x) {
        for (ptrdiff_t y = 0; y < local1_; ++y)
          std::copy_n(out + (y * n_ + x) * n_, n_, ordered.data() + (x * local1_ + y) * n_);
      }
      require(name, d, {rankwise::Share{0, n_}, {start1_, local1_}, {0, n_}}, static_cast<Index>(f), ordered.data());
    }
    // Zeros: what is transformed in place again and again would overflow.
    for (size_t f = 0; f < in_.size(); ++f) std::fill_n(reinterpret_cast<Value*>(in_[f]), values_, Value{});
  }

 private:
  ptrdiff_t n_, values_, local0_ = 0, start0_ = 0, local1_ = 0, start1_ = 0;
  std::vector<fftw_complex*> in_, out_;
  fftw_plan plan_;
};

}  // namespace peers
