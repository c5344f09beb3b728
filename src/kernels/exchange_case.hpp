// How the kernels are told of an exchange.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

struct ExchangeCase {
  ExchangeSpec spec;
  long long cutoff;
  std::size_t block_bytes;
};

// algorithm:mode:k:bytes:shell:replication:team boxes:nodes, the cutoff alike on all axes; the last four may be left out,
// and the nodes alone: nodes=4, so many ranks a node in order, or the node of every rank, as in nodes=0/0/1/1.
// Throws std::invalid_argument.
[[nodiscard]] ExchangeCase parse_case(const std::string& text, const std::vector<Index>& dims,
                                      const std::vector<bool>& periodic);

}  // namespace rankwise
