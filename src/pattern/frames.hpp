// Where to begin: a rank, and which of its neighbours sit beside it along which axis.
#pragma once

#include <vector>

#include "pattern/growth.hpp"

namespace rankwise {

struct Frame {
  CellLayout layout;  // the rank at 0, its neighbours at plus and minus 1 of each axis
  Steps steps;        // those of the backbone
  Backbone backbone;
};

// Ranks inside rather than at a border: of a high degree that many have.
std::vector<Rank> seeds(const Links& links, std::size_t most);

// The frames around a seed, the simplest first. On a backbone of nearest neighbours two of them that are in no common
// square are opposite. Which links are the backbone is not known: every set of up to eight neighbours is tried that weight
// and the number of shared neighbours tell apart from the others.
std::vector<Frame> frames(const Links& links, Rank seed, std::size_t most);

}  // namespace rankwise
