// Exchanges drawn at random, with a fixed seed: every algorithm, send mode and shell on grids of all kinds.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "schedule/algorithms.hpp"

namespace rankwise {

inline std::vector<std::string> algorithm_ids() {
  std::vector<std::string> ids;
  for (const ExchangeAlgorithm& algorithm : exchange_algorithms()) ids.emplace_back(algorithm.id);
  return ids;
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  [[nodiscard]] int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // An exchange that makes sense, of at most about 200 ranks.
  [[nodiscard]] ExchangeSpec spec(const std::string& algorithm) {
    for (;;) {
      const auto mode = static_cast<SendMode>(pick(0, 4));
      const auto shell = static_cast<Shell>(pick(0, 2));
      if (!why_not(algorithm, mode, shell).empty()) continue;
      const int ndim = pick(1, 3);
      std::vector<Index> dims;
      std::vector<bool> periodic;
      std::vector<int> cutoff;
      for (int axis = 0; axis < ndim; ++axis) {
        dims.push_back(pick(1, ndim == 1 ? 13 : ndim == 2 ? 7 : 4));
        periodic.push_back(pick(0, 1) == 1);
        cutoff.push_back(pick(1, ndim == 1 ? 8 : 2));
      }
      const bool teams = exchange_algorithm(algorithm).has_teams;
      const auto boxes = teams ? static_cast<TeamBoxes>(pick(0, 1)) : TeamBoxes::pooled;
      try {
        return make_spec(algorithm, mode, dims, periodic, cutoff, shell, teams ? pick(1, 6) : 1, boxes);
      } catch (const std::invalid_argument&) {
        continue;  // a replication that does not fit this grid
      }
    }
  }

 private:
  std::mt19937 random_;
};

inline std::string described(const ExchangeSpec& spec) {
  std::string text = spec.algorithm + " " + to_string(spec.mode) + " " + to_string(spec.window.shell());
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    text += " " + std::to_string(spec.grid.dim(axis)) + (spec.grid.periodic(axis) ? "p" : "o") +
            std::to_string(spec.window.upper(axis));
  }
  return text + " c=" + std::to_string(spec.replication) + " " + to_string(spec.team_boxes);
}

}  // namespace rankwise
