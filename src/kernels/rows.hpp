// Messages whose bytes are rows of memory: as a halo's are, gathered before they are sent.
#pragma once

#include <cstddef>

#include "halo/copy.hpp"

namespace rankwise {

inline constexpr std::size_t row_gap_bytes = 256;

[[nodiscard]] inline std::size_t rows_of(std::size_t bytes, std::size_t row_bytes) {
  return (bytes + row_bytes - 1) / row_bytes;
}
// How much memory a message's rows take, and the message itself, filled up to whole rows.
[[nodiscard]] inline std::size_t rows_memory(std::size_t bytes, std::size_t row_bytes) {
  return rows_of(bytes, row_bytes) * (row_bytes + row_gap_bytes);
}
[[nodiscard]] inline std::size_t rows_message(std::size_t bytes, std::size_t row_bytes) {
  return rows_of(bytes, row_bytes) * row_bytes;
}

[[nodiscard]] inline BoxCopy rows_into_message(std::size_t bytes, std::size_t row_bytes) {
  BoxCells extent{};
  BoxSteps from{};
  BoxSteps into{};
  extent[0] = static_cast<Index>(rows_of(bytes, row_bytes));
  from[0] = static_cast<Bytes>(row_bytes + row_gap_bytes);
  into[0] = static_cast<Bytes>(row_bytes);
  return BoxCopy::of_box(1, extent, row_bytes, from, into);
}

}  // namespace rankwise
