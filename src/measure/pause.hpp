// Letting time pass without holding the processor.
#pragma once

#include <time.h>

namespace rankwise {

inline void sleep_s(double seconds) {
  timespec left{};
  left.tv_sec = static_cast<time_t>(seconds);
  left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
  nanosleep(&left, nullptr);
}

}  // namespace rankwise
