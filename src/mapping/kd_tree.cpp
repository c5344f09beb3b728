// k-d tree (hunold2020, section V-B, algorithm 2): halves the grid down to single cells, whatever the nodes hold.
//
// The axis with the largest d_k / f_k is cut, f_k being the number of offsets with a component along k; an axis without
// such an offset comes before all others, an axis of one cell is out, ties go to the lower axis. The low half has
// floor(d_k / 2) layers and takes as many ranks as it has cells; the printed "r <= p/2" and the order of halving and
// adding d_k do not give a permutation and are read accordingly.
#include "mapping/algorithms.hpp"
#include "mapping/box.hpp"

namespace rankwise {

namespace {

class KdTree final : public Mapping {
 public:
  explicit KdTree(const MappingProblem& problem)
      : ndim_(static_cast<std::size_t>(problem.grid.ndim())),
        whole_(Box::whole(problem.grid)),
        strides_(strides_of(problem.grid)) {
    for (const Coords& offset : problem.stencil.offsets()) {
      for (std::size_t axis = 0; axis < ndim_; ++axis) crossings_[axis] += offset[axis] != 0 ? 1 : 0;
    }
  }

  [[nodiscard]] Index cell_of_rank(Index rank) const override {
    AxisValues size = whole_.size;
    Index cells = whole_.cells;
    Index cell = 0;
    while (cells > 1) {
      const std::size_t axis = axis_to_cut(size);
      const Index half = size[axis] / 2;
      const Index low_cells = cells / size[axis] * half;
      if (rank < low_cells) {
        size[axis] = half;
        cells = low_cells;
      } else {
        rank -= low_cells;
        cell += half * strides_[axis];
        size[axis] -= half;
        cells -= low_cells;
      }
    }
    return cell;
  }

  void all_runs(RunSink& sink) const override { runs_of(whole_.size, whole_.cells, 0, sink); }

 private:
  [[nodiscard]] std::size_t axis_to_cut(const AxisValues& size) const {
    std::size_t best = ndim_;
    for (std::size_t axis = 0; axis < ndim_; ++axis) {
      if (size[axis] == 1) continue;
      // d / f > best d / best f, without division; f = 0 stands for an infinite quotient.
      if (best == ndim_ || size[axis] * crossings_[best] > size[best] * crossings_[axis]) best = axis;
    }
    return best;
  }

  void runs_of(AxisValues size, Index cells, Index cell, RunSink& sink) const {
    if (cells == 1) {
      sink.run(cell, 1, 1);
      return;
    }
    const std::size_t axis = axis_to_cut(size);
    if (size[axis] == cells) {  // one row is left: its halves come in order
      sink.run(cell, strides_[axis], cells);
      return;
    }
    const Index half = size[axis] / 2;
    const Index low_cells = cells / size[axis] * half;
    const Index rest = size[axis] - half;
    size[axis] = half;
    runs_of(size, low_cells, cell, sink);
    size[axis] = rest;
    runs_of(size, cells - low_cells, cell + half * strides_[axis], sink);
  }

  std::size_t ndim_;
  Box whole_;
  AxisValues strides_;
  AxisValues crossings_{};
};

}  // namespace

std::unique_ptr<Mapping> prepare_kd_tree(const MappingProblem& problem) { return std::make_unique<KdTree>(problem); }

}  // namespace rankwise
