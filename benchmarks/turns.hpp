// What benchmarks of ways that run by turns share: the order of turns, and how their times are printed.
#pragma once

#include <cstddef>
#include <cstdio>
#include <vector>

// The times of several ways, each so often: time_of(way), of which each in turn is the first, so that none always finds the
// caches that the same other one has left.
template <class TimeOf>
std::vector<std::vector<double>> by_turns(std::size_t ways, int repetitions, TimeOf time_of) {
  std::vector<std::vector<double>> times_s(ways);
  for (int i = 0; i < repetitions; ++i) {
    for (std::size_t k = 0; k < ways; ++k) {
      const std::size_t way = (k + static_cast<std::size_t>(i)) % ways;
      times_s[way].push_back(time_of(way));
    }
  }
  return times_s;
}

// A key of JSON with all its values.
inline void print(const char* name, const std::vector<double>& values, const char* after) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.9g", i > 0 ? ", " : "", values[i]);
  std::printf("]%s", after);
}
