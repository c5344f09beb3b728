// A stencil: the relative offsets to which every cell of a process grid sends (hunold2020, section II).
#pragma once

#include <string_view>
#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

class Stencil {
 public:
  // ndim: 1 to 64. offsets: at least one, at most 100 000, each with ndim components of magnitude up to 2^31 that are
  // not all 0, none given twice. Throws std::invalid_argument otherwise.
  // weights: empty (all 1), or for each offset what a message to there counts, 1 to 2^20 (bytes, say).
  Stencil(int ndim, std::vector<Coords> offsets, std::vector<Index> weights = {});

  [[nodiscard]] int ndim() const { return ndim_; }
  [[nodiscard]] const std::vector<Coords>& offsets() const { return offsets_; }
  // One an offset, in their order.
  [[nodiscard]] const std::vector<Index>& weights() const { return weights_; }
  // The sum of the weights: what one cell sends inside a grid without borders.
  [[nodiscard]] Index total_weight() const { return total_weight_; }

 private:
  int ndim_;
  std::vector<Coords> offsets_;
  std::vector<Index> weights_;
  Index total_weight_ = 0;
};

// The stencil that a user names, for a grid of ndim axes:
//   nearest-neighbor            one cell either way along each axis
//   nearest-neighbor-with-hops  the same, and two and three cells either way along axis 0
//   component                   one cell either way along each axis but the last
//   moore:K                     every cell at most K away along every axis
//   "1,0;-1,0;0,2"              offsets: components separated by commas, offsets by semicolons
//   "1,0*8;0,2"                 an offset's weight follows a star; 1 where there is none
// Throws std::invalid_argument where the text is none of these or does not fit ndim.
Stencil parse_stencil(std::string_view text, int ndim);

}  // namespace rankwise
