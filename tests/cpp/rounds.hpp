// How many random cases a property test tries, and how many of a fixed list.
#pragma once

#include <cstdlib>

extern "C" __attribute__((weak)) void __asan_init();

namespace rankwise_test {

// One of so many: as few as still take the same branches (gcov). RANKWISE_TEST_TIMES=1 in the environment ('make nightly'): all,
// 100: a hundred times as many; one of so many of these under AddressSanitizer, which is several times slower.
inline int rounds(int count, int one_of = 3) {
  const char* times = std::getenv("RANKWISE_TEST_TIMES");
  if (times != nullptr) count *= std::atoi(times);
  return times == nullptr || __asan_init != nullptr ? count / one_of : count;
}

// Of the cases that nested loops make, every n-th, so that each value of each loop has its turn where n and the number of
// values have no common divisor; all of them with RANKWISE_TEST_TIMES.
class EveryNth {
 public:
  explicit EveryNth(int n) : n_(std::getenv("RANKWISE_TEST_TIMES") == nullptr ? n : 1) {}
  [[nodiscard]] bool passes_over() { return count_++ % n_ != 0; }

 private:
  int n_;
  int count_ = 0;
};

}  // namespace rankwise_test
