// A few ranks that stand for all, so that the time of an exchange can be told without walking thousands of ranks.
//
// In the middle of an axis every rank does the same as its partners, at the same time. So one coordinate, matched with
// itself, stands for all; blocking shift needs two, for ranks of one parity send first while the others receive; an axis
// whose open border no rank is far enough from is walked whole, and so are small grids. Of team-shift the members of one
// team stand for all, as if no axis had a border.
//
// Where short open axes leave too many ranks, what goes axis by axis is walked as one line an axis, those through the
// middle: some percent off in the mean, for plain sends and eighth shells at worst half. Direct is walked on rings, on
// which every rank has as many partners as the one in the middle: the same, but for plain sends, which on an open grid
// all begin with the same partners and take up to twice as long.
//
// On the machine's side each axis has the farthest link that any message along it takes, for the others wait for those
// messages.
#pragma once

#include <vector>

#include "cost/cost.hpp"

namespace rankwise {

// The link of messages along each axis; a message along several takes the farthest of theirs.
using AxisLinks = std::vector<LinkClass>;

// The farthest link within `cutoff` layers along each axis (all of the axis where the window is all pairs).
// placement: one location a rank of the grid. Throws std::invalid_argument when it does not fit.
[[nodiscard]] AxisLinks axis_links(const Grid& grid, const Window& window, const Placement& placement);

// The walk of the few, to be asked for its time without a placement. Throws std::invalid_argument like Walk.
[[nodiscard]] Walk walk_of_few(const ExchangeSpec& spec, const AxisLinks& links);

}  // namespace rankwise
