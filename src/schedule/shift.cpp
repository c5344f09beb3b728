// Shift (Plimpton 1995, J. Comput. Phys. 117; werner2023 sections 2.2 and 4.2): axis by axis, every block is handed on
// from neighbour to neighbour, k hops up and k hops down, and each axis forwards all that the axes before it gathered.
// 2k messages an axis. The last axis goes first, so that what travels is consecutive slots (but for open borders).
//
// Blocking sends take the even-odd order of werner2023 (Fig. 5): first all hops up, then all hops down, and in a hop
// the ranks of even coordinate send first while the odd ones receive. On an odd periodic ring two even ranks meet at
// the seam; their message goes in a third phase, so that no cycle of waiting ranks can form. Non-blocking sends have
// both directions of a hop in flight together.
#include <optional>

#include "schedule/schedule.hpp"

namespace rankwise {

namespace {

class AxisShift {
 public:
  AxisShift(const ExchangeSpec& spec, Index rank, int axis)
      : spec_(spec), axis_(axis), coords_(spec.grid.coords(rank)), own_(coords_[static_cast<std::size_t>(axis)]) {}

  // One hop of the blocks that travel up (direction +1) or down (-1); hop counts from 1.
  struct Hop {
    std::optional<Op> send;
    std::optional<Op> recv;
    std::optional<Op> copy;
    bool send_first = true;
  };

  [[nodiscard]] Hop hop(int direction, int number) const {
    Hop hop;
    const Index to = spec_.grid.shifted(axis_, own_, direction);
    const Index from = spec_.grid.shifted(axis_, own_, -direction);
    // What moves up comes from below: after `number` hops it fills the slots at offset -number.
    const bool has = spec_.grid.shifted(axis_, own_, -direction * (number - 1)) >= 0;
    const bool gets = spec_.grid.shifted(axis_, own_, -direction * number) >= 0;
    const std::vector<SlotRange> carried = slab(-direction * (number - 1));
    const std::vector<SlotRange> landing = slab(-direction * number);
    if (to == own_ || from == own_) {
      hop.copy = Op{Op::Kind::copy, rank_at(own_), tag(direction), landing, carried};
      return hop;
    }
    if (to >= 0 && has) hop.send = Op{Op::Kind::send, rank_at(to), tag(direction), carried, {}};
    if (gets) hop.recv = Op{Op::Kind::recv, rank_at(from), tag(direction), landing, {}};
    if (hop.send && hop.recv) hop.send_first = phase(own_, direction) < phase(from, direction);
    return hop;
  }

 private:
  // The slots at offset o on this axis: on later axes all offsets gathered so far (those inside an open border), 0 on
  // earlier ones. Sender and receiver share their coordinates on all other axes, so both mean the same blocks.
  [[nodiscard]] std::vector<SlotRange> slab(Index o) const {
    Coords offset(coords_.size(), 0);
    offset[static_cast<std::size_t>(axis_)] = o;
    std::vector<SlotRange> ranges;
    add_box(axis_ + 1, offset, ranges);
    return ranges;
  }

  void add_box(int axis, Coords& offset, std::vector<SlotRange>& ranges) const {
    if (axis == spec_.grid.ndim()) {
      const Index slot = spec_.window.slot(offset);
      if (!ranges.empty() && ranges.back().first + ranges.back().count == slot) {
        ++ranges.back().count;
      } else {
        ranges.push_back({slot, 1});
      }
      return;
    }
    const auto i = static_cast<std::size_t>(axis);
    const Index k = spec_.window.cutoff(axis);
    for (Index o = -k; o <= k; ++o) {
      if (spec_.grid.shifted(axis, coords_[i], o) < 0) continue;
      offset[i] = o;
      add_box(axis + 1, offset, ranges);
    }
    offset[i] = 0;
  }

  [[nodiscard]] Index rank_at(Index coordinate) const {
    Coords coords = coords_;
    coords[static_cast<std::size_t>(axis_)] = coordinate;
    return spec_.grid.cell(coords);
  }

  // In which phase of a hop the rank at a coordinate sends. Neighbouring messages never share a phase.
  [[nodiscard]] int phase(Index coordinate, int direction) const {
    const Index length = spec_.grid.dim(axis_);
    const Index seam = direction > 0 ? length - 1 : 0;
    if (spec_.grid.periodic(axis_) && length % 2 == 1 && coordinate == seam) return 2;
    return static_cast<int>(coordinate % 2);
  }

  [[nodiscard]] int tag(int direction) const { return 2 * axis_ + (direction > 0 ? 0 : 1); }

  const ExchangeSpec& spec_;
  int axis_;
  Coords coords_;
  Index own_;
};

void add_blocking(RankSchedule& schedule, AxisShift::Hop&& hop) {
  const auto add = [&schedule](std::optional<Op>& op) {
    if (op) schedule.steps.push_back({{std::move(*op)}});
  };
  add(hop.copy);
  add(hop.send_first ? hop.send : hop.recv);
  add(hop.send_first ? hop.recv : hop.send);
}

void add_concurrent(Step& step, AxisShift::Hop&& hop) {
  for (std::optional<Op>* op : {&hop.copy, &hop.recv, &hop.send}) {
    if (*op) step.ops.push_back(std::move(**op));
  }
}

}  // namespace

RankSchedule make_shift(const ExchangeSpec& spec, Index rank) {
  RankSchedule schedule;
  for (int axis = spec.grid.ndim(); axis-- > 0;) {
    const AxisShift shift(spec, rank, axis);
    const int k = spec.window.cutoff(axis);
    if (spec.mode == SendMode::isend) {
      for (int number = 1; number <= k; ++number) {
        Step step;
        add_concurrent(step, shift.hop(+1, number));
        add_concurrent(step, shift.hop(-1, number));
        if (!step.ops.empty()) schedule.steps.push_back(std::move(step));
      }
    } else {
      for (const int direction : {+1, -1}) {
        for (int number = 1; number <= k; ++number) add_blocking(schedule, shift.hop(direction, number));
      }
    }
  }
  return schedule;
}

}  // namespace rankwise
