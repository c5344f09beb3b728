// Random mapping problems for property tests, the same in every run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

class RandomProblems {
 public:
  explicit RandomProblems(std::uint32_t seed) : bits_(seed) {}

  // Grids of 1 to 6 axes and up to about 1500 cells, open and periodic, with prime and awkward sizes.
  Grid grid() {
    const Index ndim = between(1, 6);
    std::vector<Index> dims;
    std::vector<bool> periodic;
    Index cells = 1;
    for (Index axis = 0; axis < ndim; ++axis) {
      dims.push_back(between(1, std::max<Index>(1, std::min<Index>(40, 1500 / cells))));
      cells *= dims.back();
      periodic.push_back(between(0, 1) == 1);
    }
    for (std::size_t i = dims.size(); i-- > 1;) {
      std::swap(dims[i], dims[static_cast<std::size_t>(between(0, static_cast<Index>(i)))]);
    }
    return Grid(dims, periodic);
  }

  // The named stencils, and asymmetric ones of a few offsets, some of which lead further than the grid is wide.
  Stencil stencil(int ndim) {
    switch (between(0, 5)) {
      case 0: return parse_stencil("nearest-neighbor", ndim);
      case 1: return parse_stencil("nearest-neighbor-with-hops", ndim);
      case 2: return parse_stencil(ndim > 1 ? "component" : "nearest-neighbor", ndim);
      default: break;
    }
    std::set<Coords> offsets;
    for (Index i = between(1, 6); i > 0; --i) {
      Coords offset;
      for (int axis = 0; axis < ndim; ++axis) offset.push_back(between(0, 2) == 0 ? between(-9, 9) : between(-1, 1));
      if (std::ranges::any_of(offset, [](Index component) { return component != 0; })) offsets.insert(offset);
    }
    if (offsets.empty()) return parse_stencil("nearest-neighbor", ndim);
    std::vector<Index> weights(between(0, 1) == 0 ? offsets.size() : 0);
    for (Index& weight : weights) weight = between(1, 9);
    return Stencil(ndim, {offsets.begin(), offsets.end()}, std::move(weights));
  }

  // Equal nodes of any divisor's size, or unequal ones, down to a single rank.
  NodeSizes nodes(Index ranks) {
    if (between(0, 1) == 0) {
      std::vector<Index> divisors;
      for (Index n = 1; n <= ranks; ++n) {
        if (ranks % n == 0) divisors.push_back(n);
      }
      const Index n = divisors[static_cast<std::size_t>(between(0, static_cast<Index>(divisors.size()) - 1))];
      return NodeSizes(ranks / n, n);
    }
    std::vector<Index> sizes;
    const Index largest = between(1, ranks);
    while (ranks > 0) {
      sizes.push_back(between(1, std::min(ranks, largest)));
      ranks -= sizes.back();
    }
    return NodeSizes(sizes);
  }

  MappingProblem problem() {
    Grid chosen = grid();
    NodeSizes sizes = nodes(chosen.size());
    Stencil offsets = stencil(chosen.ndim());
    return {std::move(chosen), std::move(sizes), std::move(offsets)};
  }

  Index between(Index least, Index most) {
    return least + static_cast<Index>(bits_() % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::mt19937_64 bits_;
};

inline std::string describe(const MappingProblem& problem) {
  std::ostringstream text;
  text << "grid";
  for (const Index size : problem.grid.dims()) text << ' ' << size;
  text << "; nodes";
  for (Index node = 0; node < problem.nodes.nodes(); ++node) text << ' ' << problem.nodes.size(node);
  text << "; stencil";
  for (const Coords& offset : problem.stencil.offsets()) {
    text << " (";
    for (const Index component : offset) text << ' ' << component;
    text << " )";
  }
  return text.str();
}

}  // namespace rankwise
