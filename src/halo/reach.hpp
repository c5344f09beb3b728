// Which stretch of an axis a rank needs from each of the ranks before and behind it, and which it gives to them.
#pragma once

#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

// begin .. end - 1.
struct Interval {
  Index begin = 0;
  Index end = 0;
  [[nodiscard]] Index length() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

// One axis of one field as a rank sees it: how many elements it owns itself, and how many the ranks at -1, -2 ... (below)
// and at +1, +2 ... (above) own: as many of them as the widths reach, or as there are up to an open border. overlap: elements
// that neighbours both own (the points on the face between two boxes of cells: 1), 0 for most fields.
struct HaloLine {
  Index extent = 1;
  std::vector<Index> below;
  std::vector<Index> above;
  Index overlap = 0;
};

// A stretch of an axis between a rank that owns it and a rank that gets it as part of its halo.
struct HaloReach {
  Index offset = 0;  // of the owner, in ranks, as the receiver sees it
  Interval ghost;    // in the receiver's coordinates, its first owned element being 0; only known to the receiver
  Interval owned;    // in the owner's
};

// In ascending order of their offsets. Offset 0 is the own stretch.
struct HaloReaches {
  std::vector<HaloReach> receives;
  std::vector<HaloReach> sends;
};

// lower, upper: the widths of the halo, alike on all ranks. Throws std::invalid_argument where a width is negative, an
// extent not above the overlap.
[[nodiscard]] HaloReaches reaches(const HaloLine& line, Index lower, Index upper);

// Whether a width reaches past the ranks that are known so far in this direction.
[[nodiscard]] bool reaches_further(const std::vector<Index>& known, Index overlap, Index width);

}  // namespace rankwise
