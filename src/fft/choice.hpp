// Which way a 3-D FFT takes: what the judge takes for the fastest, confirmed by trials.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/machine.hpp"
#include "fft/engine.hpp"

namespace rankwise {

struct FftCandidate {
  FftVariant variant;
  double predicted_s = 0.0;            // of the whole batch by the judge, with a guess of the local work
  std::optional<double> tried_s = {};  // the least time of its trials; nothing: it was not tried
};

struct FftChoice {
  FftVariant variant;
  std::string why;
  std::vector<FftCandidate> candidates;  // in the judge's order
  bool is_kept = false;                  // from trials before
};

// Collective, the same on all ranks: of every process grid that leaves nobody idle, every method, slabs in slices or whole, and
// fields together and by turns, as far as the question leaves them open. The judge's first, or with trials: the best five
// take turns on whole batches in memory like the caller's, and the judge's first is kept unless another one is 3 % quicker in
// the least time. What trials found is kept (library.hpp) and answers the same question later. machine: counts on the first
// rank; source: what it is called. Throws as FftBatch, MpiError besides, and std::invalid_argument on all ranks where the machine
// lacks a link.
[[nodiscard]] FftChoice choose_fft(MPI_Comm comm, const FftQuestion& question, const FftLibrary& library,
                                   const Machine& machine, const std::string& source, bool with_trials);

}  // namespace rankwise
