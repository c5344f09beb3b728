// A short trial of several ways to do the same, in the program's own exchanges: a few by each way, forwards and backwards, so
// that what drifts counts alike for all. The first after a change is left out: caches hold what the other way left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rankwise {

class Trial {
 public:
  // most: exchanges that it may take; none where these are not enough to try each way twice.
  Trial(std::size_t ways, std::size_t most) : times_s_(ways) {
    const std::size_t of_each = ways > 1 ? most / ways : 0;
    if (of_each < 2) return;
    block_ = of_each < 6 ? of_each : 4;
    rounds_ = of_each / block_;
    for (auto& times : times_s_) times.reserve(rounds_ * block_);
  }

  [[nodiscard]] bool is_over() const { return taken_ >= exchanges(); }
  // The way of the next exchange.
  [[nodiscard]] std::size_t now() const {
    const std::size_t ways = times_s_.size();
    const std::size_t in_round = taken_ / block_ % ways;
    return taken_ / block_ / ways % 2 == 0 ? in_round : ways - 1 - in_round;
  }
  void took(double time_s) {
    spent_s_ += time_s;
    if (taken_ % block_ > 0) times_s_[now()].push_back(time_s);
    ++taken_;
  }
  [[nodiscard]] std::size_t exchanges() const { return rounds_ * block_ * times_s_.size(); }
  // Of each way.
  [[nodiscard]] std::vector<double> medians() const {
    std::vector<double> all;
    for (std::vector<double> times : times_s_) {
      const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
      std::nth_element(times.begin(), middle, times.end());
      all.push_back(*middle);
    }
    return all;
  }
  [[nodiscard]] double spent_s() const { return spent_s_; }

 private:
  std::vector<std::vector<double>> times_s_;
  std::size_t block_ = 1;  // exchanges by one way in a row
  std::size_t rounds_ = 0;
  std::size_t taken_ = 0;
  double spent_s_ = 0.0;
};

}  // namespace rankwise
