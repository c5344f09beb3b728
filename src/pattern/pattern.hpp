// The pattern of traffic: a grid with the offsets along which its ranks talk, or a general graph.
#pragma once

#include <cstdint>
#include <vector>

#include "pattern/describe.hpp"

namespace rankwise {

enum class PatternKind { grid, graph, uncertain };

struct Pattern {
  PatternKind kind = PatternKind::graph;
  std::vector<Index> dims;  // empty for a graph
  std::vector<bool> periodic;
  std::vector<KeptOffset> offsets;
  std::vector<Index> cell_of_rank;  // row-major
  double explained = 0;             // the share of all bytes between ranks that follow the offsets
  double bits = 0;                  // of the description
  double noise_bits = 0;            // of naming each flow's receiver
};

// The shorter description of a grid numbered naturally and of one numbered in any way. uncertain: a grid describes the
// traffic, but not well enough to build on. Throws std::invalid_argument on arrays that do not fit.
Pattern find_pattern(const Traffic& traffic);

const char* to_string(PatternKind kind);

}  // namespace rankwise
