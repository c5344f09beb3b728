#include "pattern/traffic.hpp"

#include <algorithm>
#include <string>
#include <utility>

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

namespace {

constexpr std::size_t most_kinds = 8;

// The least weight of each kind, the heaviest kind first.
std::vector<std::uint64_t> kind_borders(std::vector<std::uint64_t> weights) {
  std::sort(weights.rbegin(), weights.rend());
  std::vector<std::pair<std::size_t, std::uint64_t>> kinds;  // how many, the least
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool apart = i == 0 || static_cast<double>(weights[i - 1]) > 1.04 * static_cast<double>(weights[i]);
    if (apart) kinds.emplace_back(0, 0);
    ++kinds.back().first;
    kinds.back().second = weights[i];
  }
  while (kinds.size() > most_kinds) {
    // The rarest joins its lighter neighbour: it ends where that one does.
    auto rarest = std::min_element(kinds.begin(), kinds.end());
    if (rarest + 1 == kinds.end()) --rarest;
    (rarest + 1)->first += rarest->first;
    kinds.erase(rarest);
  }
  std::vector<std::uint64_t> borders;
  for (const auto& kind : kinds) borders.push_back(kind.second);
  return borders;
}

}  // namespace

Links::Links(std::span<const Flow> flows, Index ranks) {
  struct Joint {
    std::uint64_t key;
    std::uint64_t weight;
  };
  std::vector<Joint> joints;
  joints.reserve(flows.size());
  for (const Flow& flow : flows) {
    const auto [low, high] = std::minmax(flow.from, flow.to);
    joints.push_back({(std::uint64_t{low} << 32) | high, flow.bytes});
  }
  std::sort(joints.begin(), joints.end(),
            [](const Joint& a, const Joint& b) { return a.key != b.key ? a.key < b.key : a.weight > b.weight; });
  joints.erase(std::unique(joints.begin(), joints.end(), [](const Joint& a, const Joint& b) { return a.key == b.key; }),
               joints.end());

  std::vector<std::uint64_t> weights(joints.size());
  std::transform(joints.begin(), joints.end(), weights.begin(), [](const Joint& joint) { return joint.weight; });
  const std::vector<std::uint64_t> borders = kind_borders(std::move(weights));
  kinds_ = static_cast<int>(borders.size());

  pointer_.assign(static_cast<std::size_t>(ranks) + 1, 0);
  for (const Joint& joint : joints) {
    ++pointer_[(joint.key >> 32) + 1];
    ++pointer_[(joint.key & 0xffffffffU) + 1];
  }
  for (std::size_t i = 1; i < pointer_.size(); ++i) pointer_[i] += pointer_[i - 1];
  peer_.resize(2 * joints.size());
  kind_.resize(2 * joints.size());
  std::vector<std::size_t> next(pointer_.begin(), pointer_.end() - 1);
  // Links to lower ranks come first in a row, and both parts in the order of the keys: rows are sorted.
  for (const bool down : {true, false}) {
    for (const Joint& joint : joints) {
      const auto low = static_cast<Rank>(joint.key >> 32);
      const auto high = static_cast<Rank>(joint.key & 0xffffffffU);
      const auto border =
          std::find_if(borders.begin(), borders.end(), [&joint](std::uint64_t least) { return joint.weight >= least; });
      const std::size_t at = next[down ? high : low]++;
      peer_[at] = down ? low : high;
      kind_[at] = static_cast<Kind>(border - borders.begin());
    }
  }

  std::vector<std::size_t> degrees(this->ranks());
  for (Rank rank = 0; rank < degrees.size(); ++rank) degrees[rank] = of(rank).size();
  const auto middle = degrees.begin() + static_cast<std::ptrdiff_t>(degrees.size() / 2);
  std::nth_element(degrees.begin(), middle, degrees.end());
  hub_.resize(this->ranks());
  for (Rank rank = 0; rank < hub_.size(); ++rank) hub_[rank] = of(rank).size() > 3 * *middle + 4;
  shared_.resize(peer_.size());
  // Of the links to higher ranks; a rank's links to lower ones come by in the order of these.
  next.assign(pointer_.begin(), pointer_.end() - 1);
  for (Rank rank = 0; rank < hub_.size(); ++rank) {
    for (std::size_t i = pointer_[rank]; i < pointer_[rank + 1]; ++i) {
      const Rank peer = peer_[i];
      if (peer < rank) continue;
      if (!hub_[rank] && !hub_[peer]) shared_[i] = static_cast<std::uint16_t>(shared(rank, peer));
      shared_[next[peer]++] = shared_[i];
    }
  }
}

bool Links::joined(Rank a, Rank b) const {
  const auto peers = of(a);
  return std::binary_search(peers.begin(), peers.end(), b);
}

int Links::shared(Rank a, Rank b) const {
  const auto first = of(a);
  const auto second = of(b);
  int count = 0;
  for (auto i = first.begin(), j = second.begin(); i != first.end() && j != second.end();) {
    if (*i < *j) {
      ++i;
    } else if (*j < *i) {
      ++j;
    } else {
      if (!hub(*i)) ++count;
      ++i;
      ++j;
    }
  }
  return count;
}

}  // namespace rankwise
