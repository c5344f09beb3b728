// Which algorithms a halo may take: what the judge finds, to be confirmed by a trial.
#pragma once

#include <string>
#include <vector>

#include "exchange/relay_carrier.hpp"
#include "exchange/trial.hpp"

namespace rankwise::api {

inline constexpr std::size_t most_ways = 6;

struct Candidates {
  std::vector<int> algorithms;  // that may be the fastest, the one that the judge takes first
  std::string why;
};

// Collective over comm. nodes: of the messages of direct; then, where the halo may be staged, of each of its stages.
// some_shared: whether some ranks have all their fields in memory that others can read; exchanges: so many are to come, which
// limits how many may be tried. Throws Failure.
[[nodiscard]] Candidates candidates(MPI_Comm comm, const NodeKnowledge& nodes, bool some_shared, int exchanges);
// "; to be tried in the first exchanges: direct, persistent".
[[nodiscard]] std::string words_before(const std::vector<int>& algorithms);
// "; tried in 40 exchanges, which cost 12 us; medians ...".
[[nodiscard]] std::string words_after(const std::vector<int>& algorithms, const Trial& trial);

}  // namespace rankwise::api
