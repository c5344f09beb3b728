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

}  // namespace rankwise
