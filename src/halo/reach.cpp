#include "halo/reach.hpp"

#include <algorithm>
#include <string>

namespace rankwise {

namespace {

void require(bool holds, const std::string& message) {
  if (!holds) invalid(message);
}

}  // namespace

HaloReaches reaches(const HaloLine& line, Index lower, Index upper) {
  require(lower >= 0 && upper >= 0, "a halo width is negative: give 0 or more");
  const auto require_extent = [&](Index extent) {
    require(extent > line.overlap, "a box has " + std::to_string(extent) + " elements on an axis, of which neighbours share " +
                                       std::to_string(line.overlap) + ": give every rank more");
  };
  require_extent(line.extent);
  const Index n = line.extent;
  const Index overlap = line.overlap;
  HaloReaches all;
  all.receives.push_back({0, {0, n}, {0, n}});
  all.sends.push_back({0, {0, n}, {0, n}});
  // Upwards: what they own beyond what this side has, until the halo is full; and of this rank's own, what they need.
  Index end = n;              // of what is known above, in own coordinates
  Index start = n - overlap;  // where the box of the rank above begins
  Index offset = 0;
  for (const Index extent : line.above) {
    require_extent(extent);
    ++offset;
    const Interval ghost{end, std::min(end + extent - overlap, n + upper)};
    if (ghost.length() > 0) all.receives.push_back({offset, ghost, {ghost.begin - end + overlap, ghost.end - end + overlap}});
    const Interval owned{std::max(start - lower, Index{0}), std::min(start, n - overlap)};
    if (owned.length() > 0) all.sends.push_back({-offset, {}, owned});
    end += extent - overlap;
    start += extent - overlap;
  }
  Index begin = 0;
  Index stop = overlap;  // where the box of the rank below ends
  offset = 0;
  for (const Index extent : line.below) {
    require_extent(extent);
    --offset;
    const Interval ghost{std::max(begin - extent + overlap, -lower), begin};
    begin -= extent - overlap;
    if (ghost.length() > 0) all.receives.push_back({offset, ghost, {ghost.begin - begin, ghost.end - begin}});
    const Interval owned{std::max(stop, overlap), std::min(stop + upper, n)};
    if (owned.length() > 0) all.sends.push_back({-offset, {}, owned});
    stop -= extent - overlap;
  }
  std::ranges::sort(all.receives, {}, &HaloReach::offset);
  std::ranges::sort(all.sends, {}, &HaloReach::offset);
  return all;
}

bool reaches_further(const std::vector<Index>& known, Index overlap, Index width) {
  Index covered = 0;
  for (const Index extent : known) covered += extent - overlap;
  return covered < width;
}

}  // namespace rankwise
