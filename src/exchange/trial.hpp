// A short trial of several ways to do the same, in the program's own exchanges: in turn, forwards and backwards, so that what
// drifts counts alike for all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rankwise {

class Trial {
 public:
  // most: exchanges that it may take; none where these are not enough to try each way twice.
  Trial(std::size_t ways, std::size_t most) : times_s_(ways), rounds_(ways > 1 && most / ways > 1 ? most / ways : 0) {
    for (auto& times : times_s_) times.reserve(rounds_);
  }

  [[nodiscard]] bool is_over() const { return taken_ >= rounds_ * times_s_.size(); }
  // The way of the next exchange.
  [[nodiscard]] std::size_t now() const {
    const std::size_t ways = times_s_.size();
    const std::size_t in_round = taken_ % ways;
    return taken_ / ways % 2 == 0 ? in_round : ways - 1 - in_round;
  }
  void took(double time_s) {
    times_s_[now()].push_back(time_s);
    ++taken_;
  }
  [[nodiscard]] std::size_t exchanges() const { return rounds_ * times_s_.size(); }
  // Of each way: the median, the first of three or more left out, for it fills caches and opens connections.
  [[nodiscard]] std::vector<double> medians() const {
    std::vector<double> all;
    for (std::vector<double> times : times_s_) {
      if (times.size() > 2) times.erase(times.begin());
      if (times.empty()) times.push_back(0.0);
      const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
      std::nth_element(times.begin(), middle, times.end());
      all.push_back(*middle);
    }
    return all;
  }
  [[nodiscard]] double spent_s() const {
    double sum = 0.0;
    for (const auto& times : times_s_) {
      for (const double time : times) sum += time;
    }
    return sum;
  }

 private:
  std::vector<std::vector<double>> times_s_;
  std::size_t rounds_;
  std::size_t taken_ = 0;
};

}  // namespace rankwise
