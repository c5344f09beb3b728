// How many random cases a property test tries.
#pragma once

#include <cstdlib>

namespace rankwise_test {

// One of so many under AddressSanitizer, which is several times slower: as few as still take the same branches (gcov).
// RANKWISE_ROUNDS=20 asks for twenty times as many.
inline int rounds(int count, [[maybe_unused]] int one_of = 3) {
  const char* times = std::getenv("RANKWISE_ROUNDS");
  const int asked = times == nullptr ? count : count * std::atoi(times);
#ifdef __SANITIZE_ADDRESS__
  return asked / one_of;
#else
  return asked;
#endif
}

}  // namespace rankwise_test
