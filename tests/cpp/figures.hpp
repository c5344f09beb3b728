// What walks cost in figures, to a tenth of a ns: whatever goes into a time shows there. That it is right other tests show.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cost/walk.hpp"
#include "decide/representatives.hpp"
#include "schedule/algorithms.hpp"

namespace rankwise_test {

// The time, the mean of the ranks' own (the higher their number the more they weigh), what is held longest, and by what.
inline std::string figures(const rankwise::Cost& cost) {
  double sum_s = 0.0;
  double weights = 0.0;
  for (std::size_t rank = 0; rank < cost.finish_s.size(); ++rank) {
    sum_s += static_cast<double>(rank + 1) * cost.finish_s[rank];
    weights += static_cast<double>(rank + 1);
  }
  const rankwise::Busiest& most = cost.busiest;
  char text[128];
  std::snprintf(text, sizeof text, " | %.1f %.1f %zu@%d %.1f %.0f", 1e9 * cost.time_s(), 1e9 * sum_s / weights, most.resource,
                static_cast<int>(most.unit), 1e9 * most.held_s, most.bytes);
  return text;
}

struct Where {
  std::vector<rankwise::Index> dims;
  std::vector<bool> periodic;
  std::vector<int> cutoff;
  rankwise::Shell shell;
  rankwise::Placement placement;
  rankwise::Index bytes;
};

// Calls visit(name, spec) for each exchange that there can be, by each way of sending.
template <typename Visit>
void each_exchange(const Where& where, Visit visit) {
  using rankwise::SendMode;
  for (const rankwise::ExchangeAlgorithm& algorithm : rankwise::exchange_algorithms()) {
    for (const SendMode mode : {SendMode::ssend, SendMode::send, SendMode::isend, SendMode::isend_self}) {
      const std::string id(algorithm.id);
      if (!rankwise::why_not(id, mode, where.shell).empty()) continue;
      rankwise::ExchangeSpec spec =
          rankwise::make_spec(id, mode, where.dims, where.periodic, where.cutoff, where.shell, algorithm.has_teams ? 2 : 1);
      if (algorithm.needs_nodes) spec.nodes = rankwise::nodes_of(where.placement);
      visit(id + " " + to_string(mode), spec);
    }
  }
}

// Compares with a file of tests/data; RANKWISE_WRITE_GOLDEN=1 in the environment writes it.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(RANKWISE_TEST_DATA) + "/" + name;
  if (std::getenv("RANKWISE_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream known;
  known << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, known.str()) << path;
}

}  // namespace rankwise_test
