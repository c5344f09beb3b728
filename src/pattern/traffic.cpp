#include "pattern/traffic.hpp"

#include <algorithm>
#include <string>

namespace rankwise {

void check(const Traffic& traffic) {
  if (traffic.pointer.size() < 2) invalid("a traffic matrix needs a rank");
  const std::size_t edges = traffic.peer.size();
  if (traffic.messages.size() != edges || traffic.bytes.size() != edges) {
    invalid("a traffic matrix has as many messages and bytes as peers");
  }
  if (traffic.pointer.front() != 0 || traffic.pointer.back() != static_cast<Index>(edges) ||
      !std::is_sorted(traffic.pointer.begin(), traffic.pointer.end())) {
    invalid("the rows of a traffic matrix run from 0 to the number of its pairs");
  }
  for (const std::uint32_t peer : traffic.peer) {
    if (peer >= traffic.ranks()) invalid("there is no rank " + std::to_string(peer) + " in the traffic matrix");
  }
}

std::vector<Flow> recurring_flows(const Traffic& traffic) {
  std::vector<Flow> flows;
  flows.reserve(traffic.peer.size());
  for (std::uint32_t rank = 0; rank < traffic.ranks(); ++rank) {
    const auto end = static_cast<std::size_t>(traffic.pointer[rank + 1]);
    for (auto i = static_cast<std::size_t>(traffic.pointer[rank]); i < end; ++i) {
      if (traffic.peer[i] == rank || traffic.messages[i] == 0) continue;
      flows.push_back({rank, traffic.peer[i], traffic.messages[i], traffic.bytes[i]});
    }
  }
  if (flows.empty()) return flows;
  std::vector<std::uint64_t> counts(flows.size());
  std::transform(flows.begin(), flows.end(), counts.begin(), [](const Flow& flow) { return flow.messages; });
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  std::erase_if(flows, [median = *middle](const Flow& flow) { return flow.messages < median / 5; });
  return flows;
}

}  // namespace rankwise
