// Who sends how much to whom, as counted: a sparse matrix by rows, and what of it a pattern is sought in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

// Rank r sends to peer[i], messages[i] messages of together bytes[i] bytes, for i from pointer[r] to before pointer[r + 1].
struct Traffic {
  std::span<const Index> pointer;
  std::span<const std::uint32_t> peer;
  std::span<const std::uint64_t> messages;
  std::span<const std::uint64_t> bytes;

  [[nodiscard]] std::size_t ranks() const { return pointer.size() - 1; }
};

struct Flow {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// Throws std::invalid_argument where the arrays do not fit each other or a peer is no rank.
void check(const Traffic& traffic);

// The flows that recur, in the order of the matrix: without a rank's messages to itself, and without pairs that have less
// than a fifth of the median number of messages (gathers to a root, output).
std::vector<Flow> recurring_flows(const Traffic& traffic);

// Traffic as an undirected graph: which ranks talk, and links of like weight apart from others.

using Rank = std::uint32_t;
using Kind = std::uint8_t;  // of a link, by weight: 0 is the heaviest

class Links {
 public:
  // A link weighs what its busier direction does. Kinds end where the sorted weights have a gap of 4 %; the kinds beyond
  // the most frequent eight are one.
  Links(std::span<const Flow> flows, Index ranks);

  [[nodiscard]] std::size_t ranks() const { return pointer_.size() - 1; }
  // Sorted.
  [[nodiscard]] std::span<const Rank> of(Rank rank) const {
    return std::span(peer_).subspan(pointer_[rank], pointer_[rank + 1] - pointer_[rank]);
  }
  [[nodiscard]] std::span<const Kind> kinds_of(Rank rank) const {
    return std::span(kind_).subspan(pointer_[rank], pointer_[rank + 1] - pointer_[rank]);
  }
  // Of each link, how many ranks talk to both of its ends, hubs left out.
  [[nodiscard]] std::span<const std::uint16_t> shared_of(Rank rank) const {
    return std::span(shared_).subspan(pointer_[rank], pointer_[rank + 1] - pointer_[rank]);
  }
  [[nodiscard]] bool joined(Rank a, Rank b) const;
  // Has far more links than most: the root of a gather.
  [[nodiscard]] bool hub(Rank rank) const { return hub_[rank]; }
  [[nodiscard]] int kinds() const { return kinds_; }

 private:
  [[nodiscard]] int shared(Rank a, Rank b) const;

  std::vector<std::size_t> pointer_;
  std::vector<Rank> peer_;
  std::vector<Kind> kind_;
  std::vector<std::uint16_t> shared_;
  std::vector<bool> hub_;
  int kinds_ = 0;
};

}  // namespace rankwise
