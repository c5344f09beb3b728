// Proves halos: the messages of all ranks meet and nobody waits for ever; both ends of each mean the same elements in the
// same order; every element of every halo is written exactly once, with what belongs there, and no owned one is; on the way
// back every element of a halo contributes exactly once to its owner.
#pragma once

#include <string>
#include <vector>

#include "halo/halo.hpp"

namespace rankwise {

// What is wrong, one sentence each, the first few; empty when the halos (made for the specs of all ranks, or altered since)
// are right. Every element is followed through the copies, so fields must be of 8 bytes an element, in memory without
// gaps beyond their halo (see dense_steps).
[[nodiscard]] std::vector<std::string> check_halos(const std::vector<HaloSpec>& specs, const std::vector<Halo>& halos);

// BoxSteps of a field of 8-byte elements that lies in memory with its halo and nothing else, the last axis fastest.
[[nodiscard]] BoxSteps dense_steps(const HaloSpec& spec, const HaloField& field);

}  // namespace rankwise
