// The halo of a box, as messages: for each field which elements go to which rank, and where they land. Nothing here sends.
//
// An element is sent once to a rank, however many of its images (where a periodic axis is short) that rank keeps. All that
// goes to a rank in a step is one message: field by field, piece by piece. A piece is a box of elements of the owner; both
// ends cut and order the pieces alike, from the same extents. Where a rank is its own neighbour, elements are copied.
#pragma once

#include <cstddef>
#include <vector>

#include "grid/grid.hpp"
#include "halo/copy.hpp"
#include "schedule/schedule.hpp"

namespace rankwise {

// Which stretch of an axis a rank needs from each of the ranks before and behind it, and which it gives to them.

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

// One array of a rank. Axes beyond those of the grid (components, say) belong to one rank whole and have no halo.
struct HaloField {
  std::size_t element_bytes = 8;
  int ndim = 0;
  BoxSteps step{};              // of its memory
  std::vector<HaloLine> lines;  // of the grid's axes
  BoxCells extent{};            // owned, of all axes
};

struct HaloSpec {
  Grid grid;
  Index rank = 0;
  std::vector<Index> lower;  // widths on each axis of the grid
  std::vector<Index> upper;
  bool corners = true;  // whether the halo includes edges and corners, or faces only
  std::vector<HaloField> fields;
  std::vector<int> order;  // the axes as they are packed, the outermost first; alike on all ranks; empty: 0, 1, 2 ...
};

// Elements of one field in a message. The copies' offsets count from the section's first byte in the message, and from the
// first owned element in the field.
struct HaloSection {
  std::size_t bytes = 0;
  std::vector<BoxCopy> copies;
};

struct HaloMessage {
  Index peer = 0;
  std::vector<HaloSection> sections;  // of each field
  [[nodiscard]] std::size_t bytes() const;
};

// What is in flight together. Copies within the rank are by field.
struct HaloStage {
  std::vector<HaloMessage> sends;  // in ascending order of their peers: one to each, none to oneself
  std::vector<HaloMessage> receives;
  std::vector<HaloMessage> pulls;  // copied straight from the fields of a peer: offsets count from its first owned elements
  std::vector<std::vector<BoxCopy>> local;
};

// A region of the halo, before anything is merged: the elements of the owner at an offset.
struct HaloRegion {
  Coords offset;
  Index peer = 0;
  std::size_t bytes = 0;
};

struct Halo {
  std::vector<HaloStage> stages;    // direct: one; staged: one an axis, later ones forward what earlier ones brought
  HaloStage back;                   // ghosts to their owners: sends pack ghosts, receives and copies combine into owned ones
  std::vector<HaloRegion> regions;  // received, of all fields, in row-major order of the offsets
  std::size_t ghost_bytes = 0;      // what the halo holds when it is full
};

// How the elements travel: direct: everybody to everybody who needs it; staged: axis by axis, from the fastest to the slowest.
enum class HaloRoute { direct, staged };

// Throws std::invalid_argument: no field, more than most_halo_axes axes, staged faces without corners, more than 2^20
// regions, and like `reaches`.
[[nodiscard]] Halo make_halo(const HaloSpec& spec, HaloRoute route);

// A rank whose memory this one can read, and the steps of its fields.
struct HaloSource {
  Index peer = 0;
  std::vector<BoxSteps> steps;
};

// In place of their messages, a direct halo reads from these ranks, and is read by those (both ascending).
void read_from(Halo& halo, const HaloSpec& spec, const std::vector<HaloSource>& sources, const std::vector<Index>& readers);

}  // namespace rankwise
