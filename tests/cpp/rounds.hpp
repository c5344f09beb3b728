// How many random cases a property test tries.
#pragma once

#include <cstdlib>

extern "C" __attribute__((weak)) void __asan_init();

namespace rankwise_test {

// RANKWISE_TEST_TIMES=100 in the environment: a hundred times as many. One of so many under
// AddressSanitizer, which is several times slower: as few as still take the same branches (gcov).
inline int rounds(int count, int one_of = 3) {
  if (const char* times = std::getenv("RANKWISE_TEST_TIMES")) count *= std::atoi(times);
  return __asan_init != nullptr ? count / one_of : count;
}

}  // namespace rankwise_test
