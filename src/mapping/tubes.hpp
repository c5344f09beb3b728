// Tubes of differing thickness that cover a grid, in snake order, and the dynamic program that chooses them.
//
// Ranks fill one tube after the other, so nodes may straddle two of them. In 2-D the tubes are strips, in 3-D they stand
// in slabs; along further axes tubes are one cell thick. Cutting a grid into strips of chosen heights so that parts of
// equal size have a short perimeter is due to Christou and Meyer (Optimal equi-partition of rectangular domains for
// parallel computation, 1996; Yackel, Meyer, Christou 1997); here parts may straddle strips, the cost is exact for
// any stencil, and the heights come from a dynamic program.
//
// A tube is a bundle of lines along axis a, height lines along axis b and depth lines along axis c. Ranks fill it plane
// by plane across a, and a plane row by row along c (or along b). A piece is a range of cells of one tube in that order.
// Costs hold in a grid without borders: the edges that borders cut off are the same for every mapping.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

// The axes of the grid that play a, b and c; -1 where the grid has too few.
struct TubeAxes {
  int along = 0;
  int across = -1;
  int over = -1;
  bool over_slowest = false;  // a plane is filled along b first
};

struct TubeShape {
  Index height;
  Index depth;
  [[nodiscard]] Index plane() const { return height * depth; }
  friend bool operator==(const TubeShape&, const TubeShape&) = default;
};

class TubeCosts {
 public:
  TubeCosts(const Stencil& stencil, const TubeAxes& axes);

  // The weight of all edges that leave a piece of count cells of which the first is at place phase of its plane.
  [[nodiscard]] Index leaving(const TubeShape& shape, Index phase, Index count);

  // Work done so far, in about the steps of MappingOptions.
  [[nodiscard]] Index work() const { return work_; }

  // An estimate of the weight that leaves count cells in a tube: they are taken for a block, of fractional length.
  [[nodiscard]] double leaving_block(const TubeShape& shape, Index count) const;

  // The weight of all edges, both ways, between the last cells of one tube and the first of the next, which runs back.
  // The next one lies next to the first along b; or, where over is set, along c, and its b is turned.
  [[nodiscard]] Index shared(const TubeShape& shape, Index last, const TubeShape& next, Index first, bool over);

 private:
  struct Shift {
    Index a, b, c;
    Index weight;
  };
  // Cells of a piece on one line of the tube: places begin to end - 1 along a.
  struct Segment {
    Index begin, end;
  };
  using Key = std::array<Index, 7>;
  // Costs by key, in one array with open addressing: the program looks up many more than it computes.
  class Known {
   public:
    Known();
    // The value of a key, and whether it is new (then the caller sets it).
    std::pair<Index*, bool> find(const Key& key);

   private:
    struct Entry {
      Key key;
      Index value;
    };
    [[nodiscard]] std::size_t place(const Key& key) const;
    std::vector<Entry> entries_;
    std::size_t used_ = 0;
  };

  [[nodiscard]] Index place(const TubeShape& shape, Index b, Index c) const {
    return over_slowest_ ? c * shape.height + b : b * shape.depth + c;
  }
  // The lines of a piece with b < height and c < depth; the others stay undefined.
  void cut_lines(const TubeShape& shape, Index phase, Index count, Index height, Index depth, std::vector<Segment>& lines);
  [[nodiscard]] Index compute_leaving(const TubeShape& shape, Index phase, Index count);
  [[nodiscard]] Index compute_shared(const TubeShape& shape, Index last, const TubeShape& next, Index first, bool over);

  bool over_slowest_;
  std::vector<Shift> shifts_;
  Index reach_b_ = 0;
  Index reach_c_ = 0;
  Index work_ = 0;
  Known known_;
  std::vector<Segment> lines_;
  std::vector<Segment> next_lines_;
};

struct Tube {
  Index first_rank;
  Index first_cell;  // that its first rank takes
  TubeShape shape;
  // Steps in cells to the next place along a, b and c, in the direction of the walk.
  Index step_along, step_across, step_over;
};

class TubePlan final : public Mapping {
 public:
  // tubes: in the order of ranks, covering all of them, length cells along a each.
  TubePlan(std::vector<Tube> tubes, Index length, bool over_slowest, Index cost, Index work);

  // The weight of all edges that leave parts, those cut off by borders included; exact but for tubes thinner than the
  // stencil reaches and for periodic axes.
  [[nodiscard]] Index cost() const { return cost_; }
  // What finding it took, in about the steps of MappingOptions.
  [[nodiscard]] Index work() const { return work_; }
  [[nodiscard]] const std::vector<Tube>& tubes() const { return tubes_; }

  [[nodiscard]] Index cell_of_rank(Index rank) const override;
  void all_runs(RunSink& sink) const override;

 private:
  std::vector<Tube> tubes_;
  // The tube of the first rank of each 2^bucket_bits_ ranks, about as many as tubes: a rank's tube is that one or one of
  // the next few.
  std::vector<std::uint32_t> tube_of_bucket_;
  int bucket_bits_ = 0;
  Index length_;
  bool over_slowest_;
  Index cost_;
  Index work_;
};

// The best plan with these axes. most_work bounds the transitions that the program looks at, roughly: where it does not
// allow all thicknesses that are worth it, those that look best remain.
std::unique_ptr<TubePlan> plan_tubes(const MappingProblem& problem, const TubeAxes& axes, Index most_work);

// All choices of axes worth trying, in a fixed order.
std::vector<TubeAxes> tube_axes(const MappingProblem& problem);

}  // namespace rankwise
