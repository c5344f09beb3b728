// Exchanges drawn at random, with a fixed seed: every algorithm, send mode and shell on grids of all kinds.
#pragma once

#include <algorithm>
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

  // Nodes in order, dealt cyclically, or any.
  [[nodiscard]] NodeMap nodes(Index ranks) {
    const int nodes = pick(1, static_cast<int>(std::min<Index>(ranks, 9)));
    const int kind = pick(0, 2);
    if (kind == 0) return NodeMap::blocked(ranks, (ranks + nodes - 1) / nodes);
    std::vector<Index> node_of_rank;
    for (Index rank = 0; rank < ranks; ++rank) node_of_rank.push_back(kind == 1 ? rank % nodes : 7 - 3 * pick(1, nodes));
    return NodeMap::of(node_of_rank);
  }

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
        ExchangeSpec spec = make_spec(algorithm, mode, dims, periodic, cutoff, shell, teams ? pick(1, 6) : 1, boxes);
        if (exchange_algorithm(algorithm).needs_nodes) spec.nodes = nodes(spec.ranks());
        return spec;
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
  text += " c=" + std::to_string(spec.replication) + " " + to_string(spec.team_boxes);
  for (Index rank = 0; rank < spec.nodes.ranks(); ++rank) {
    text += (rank == 0 ? " nodes " : ",") + std::to_string(spec.nodes.node_of(rank));
  }
  return text;
}

}  // namespace rankwise
