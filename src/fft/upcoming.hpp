// Memory that is read soon is brought into the cache bit by bit: while a processor computes, its memory is idle.
#pragma once

#include <algorithm>
#include <cstddef>

#include "grid/grid.hpp"

namespace rankwise {

class Upcoming {
 public:
  // bytes: that will be read at next (null: nothing); times: that `some` is called.
  Upcoming(const void* next, std::size_t bytes, Index times)
      : at_(static_cast<const std::byte*>(next)), end_(next == nullptr ? at_ : at_ + std::min(bytes, most_bytes)) {
    step_ = static_cast<std::size_t>(end_ - at_) / static_cast<std::size_t>(std::max<Index>(1, times)) + 1;
  }
  void some() {
    for (const std::byte* const until = at_ + std::min(step_, static_cast<std::size_t>(end_ - at_)); at_ < until;) {
      __builtin_prefetch(at_, 0, 2);
      at_ += std::min(line, static_cast<std::size_t>(end_ - at_));
    }
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{256} << 10;  // a part of a core's own cache
  static constexpr std::size_t line = 64;
  const std::byte* at_;
  const std::byte* end_;
  std::size_t step_;
};

}  // namespace rankwise
