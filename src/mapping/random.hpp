// Random bits that are the same on every machine, in integers only.
#pragma once

#include <array>
#include <cstdint>

namespace rankwise {

// SplitMix64 (Steele, Lea, Flood 2014): turns a counter into bits that look drawn.
inline std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// xoroshiro128+ (Blackman and Vigna 2018): fast, and its high bits are good.
class Random {
 public:
  explicit Random(std::uint64_t seed) : low_(mixed(seed)), high_(mixed(seed + 1)) {}

  std::uint64_t bits() {
    const std::uint64_t sum = low_ + high_;
    const std::uint64_t x = low_ ^ high_;
    low_ = ((low_ << 24) | (low_ >> 40)) ^ x ^ (x << 16);
    high_ = (x << 37) | (x >> 27);
    return sum;
  }

 private:
  std::uint64_t low_;
  std::uint64_t high_;
};

// What a fall in energy must not exceed to be taken with the right odds at temperature 1: draws from the exponential
// distribution in units of 1/1024, as a table of its quantiles. Integer arithmetic alone fills it.
class ExponentialDraws {
 public:
  ExponentialDraws() {
    for (std::uint32_t i = 0; i < size; ++i) quantile_[i] = negative_log(2 * i + 1);
  }

  [[nodiscard]] std::int32_t draw(std::uint64_t bits) const { return quantile_[bits % size]; }

 private:
  static constexpr std::uint32_t size = 4096;

  // -ln(numerator / 8192) * 1024: the binary digits of log2 by repeated squaring, times ln 2.
  static std::int32_t negative_log(std::uint32_t numerator) {
    std::uint64_t log2 = 0;  // of numerator, in 1/2^16
    std::uint64_t x = std::uint64_t{numerator} << 31;
    while (x >= std::uint64_t{1} << 32) {
      x >>= 1;
      log2 += 1 << 16;
    }
    // Now x / 2^31 is in [1, 2) and log2 holds the whole part of log2(numerator).
    for (std::uint64_t bit = 1 << 15; bit > 0; bit >>= 1) {
      x = (x * x) >> 31;
      if (x >= std::uint64_t{1} << 32) {
        x >>= 1;
        log2 += bit;
      }
    }
    constexpr std::uint64_t ln2_per_65536 = 45426;  // ln 2 * 2^16
    const std::uint64_t below_one = (std::uint64_t{13} << 16) - log2;
    return static_cast<std::int32_t>((below_one * ln2_per_65536) >> 22);
  }

  std::array<std::int32_t, size> quantile_{};
};

}  // namespace rankwise
