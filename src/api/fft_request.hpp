// What a caller asks of a 3-D FFT, read from the arguments.
#pragma once

#include <array>
#include <cstdint>

#include "api/agreement.hpp"
#include "fft/engine.hpp"
#include "rankwise/rankwise.h"

namespace rankwise::api {

struct FftRequest : FftQuestion {
  std::array<Index, 2> stride{0, 0};  // in, out
  // A plan by the model runs nothing; the others try ways.
  [[nodiscard]] bool is_tried() const { return planning != Planning::estimate; }
};

[[nodiscard]] rankwise_fft_options default_fft_options();

// options: of any version; may be null. Throws Failure.
[[nodiscard]] FftRequest read_fft_request(const std::int64_t n[3], const rankwise_fft_options* options, int ranks);

// Adds all of a request that must not differ between ranks.
void add_alike(Agreement& agreement, const FftRequest& request);

}  // namespace rankwise::api
