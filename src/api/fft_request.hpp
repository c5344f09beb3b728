// What a caller asks of a 3-D FFT, read from the arguments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "api/agreement.hpp"
#include "fft/transform.hpp"
#include "rankwise/rankwise.h"

namespace rankwise::api {

struct FftRequest {
  std::array<Index, 3> n{1, 1, 1};
  bool is_real = false;
  bool is_double = true;
  Order order = Order::transposed;
  std::optional<TransposeMethod> method;  // nothing: choose
  std::array<Index, 2> grid{0, 0};        // 0, 0: choose
  Index chunks = 0;                       // 0: choose
  int effort = RANKWISE_FFT_EFFORT_TRIALS;
  bool in_place = false;
  Index batch = 1;
  std::array<Index, 2> stride{0, 0};      // in, out
  [[nodiscard]] Planning planning() const {
    return effort == RANKWISE_FFT_EFFORT_MODEL   ? Planning::estimate
           : effort == RANKWISE_FFT_EFFORT_TRIALS ? Planning::measure
                                                  : Planning::patient;
  }
};

[[nodiscard]] rankwise_fft_options default_fft_options();

// options: of any version; may be null. Throws Failure.
[[nodiscard]] FftRequest read_fft_request(const std::int64_t n[3], const rankwise_fft_options* options, int ranks);

// Adds all of a request that must not differ between ranks.
void add_alike(Agreement& agreement, const FftRequest& request);

}  // namespace rankwise::api
