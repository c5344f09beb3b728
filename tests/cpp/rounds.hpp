// How many random cases a property test tries.
#pragma once

namespace rankwise_test {

// One of so many under AddressSanitizer, which is several times slower: as few as still take the same branches (gcov).
constexpr int rounds(int count, [[maybe_unused]] int one_of = 3) {
#ifdef __SANITIZE_ADDRESS__
  return count / one_of;
#else
  return count;
#endif
}

}  // namespace rankwise_test
