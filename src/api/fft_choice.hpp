// Which process grid and method a 3-D FFT takes: what the judge takes for the fastest, confirmed by trials.
#pragma once

#include <string>

#include "api/fft_engine.hpp"

namespace rankwise::api {

struct FftChoice {
  FftWay way;
  std::string why;
};

// Collective, the same on all ranks. Where the request's effort allows it the first few candidates take turns on memory of
// their own: the first is kept unless another one is 3 % quicker in the least time. Throws Failure on all ranks alike.
[[nodiscard]] FftChoice choose_fft(MPI_Comm comm, const FftRequest& request, const FftLibrary& library);

}  // namespace rankwise::api
