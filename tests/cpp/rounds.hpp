// How many random cases a property test tries.
#pragma once

namespace rankwise_test {

// A tenth under AddressSanitizer, which is several times slower and sees in the first hundred what it can see.
constexpr int rounds(int count) {
#ifdef __SANITIZE_ADDRESS__
  return count / 10;
#else
  return count;
#endif
}

}  // namespace rankwise_test
