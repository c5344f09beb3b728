// Exchanges that go axis by axis: shift, and comb.
#include <array>
#include <optional>

#include "schedule/algorithms.hpp"

namespace rankwise {

namespace {

// What the algorithms that go axis by axis share: which slots travel along an axis, and between which ranks.
class Axis {
 public:
  // The part of a rank on one axis. Axes are done from the last to the first, so that what travels is consecutive
  // slots (but for open borders).
  Axis(const ExchangeSpec& spec, Index rank, int axis)
      : spec_(spec),
        axis_(axis),
        coords_(spec.grid.coords(rank)),
        own_(coords_[static_cast<std::size_t>(axis)]),
        whole_from_(whole_from()) {}

  [[nodiscard]] Index own() const { return own_; }
  [[nodiscard]] Index length() const { return spec_.grid.dim(axis_); }
  [[nodiscard]] bool periodic() const { return spec_.grid.periodic(axis_); }
  [[nodiscard]] Index lower() const { return spec_.window.lower(axis_); }
  [[nodiscard]] Index upper() const { return spec_.window.upper(axis_); }
  // The coordinate at an offset; -1 beyond an open border.
  [[nodiscard]] Index at(Index offset) const { return spec_.grid.shifted(axis_, own_, offset); }
  [[nodiscard]] Index rank_at(Index coordinate) const;
  // The slots at offset o on this axis: on later axes all offsets gathered so far (those inside an open border), 0 on
  // earlier ones. Ranks of one line along the axis mean the same shape.
  [[nodiscard]] std::vector<SlotRange> slab(Index o) const;

 private:
  void add_box(int axis, Coords& offset, std::vector<SlotRange>& ranges) const;
  // From which axis on no border cuts the window.
  [[nodiscard]] int whole_from() const;

  const ExchangeSpec& spec_;
  int axis_;
  Coords coords_;
  Index own_;
  int whole_from_;
};

int Axis::whole_from() const {
  int from = spec_.grid.ndim();
  const auto is_whole = [this](int axis) {
    const Index own = coords_[static_cast<std::size_t>(axis)];
    return spec_.grid.shifted(axis, own, -spec_.window.lower(axis)) >= 0 &&
           spec_.grid.shifted(axis, own, spec_.window.upper(axis)) >= 0;
  };
  while (from > axis_ + 1 && is_whole(from - 1)) --from;
  return from;
}

Index Axis::rank_at(Index coordinate) const {
  Coords coords = coords_;
  coords[static_cast<std::size_t>(axis_)] = coordinate;
  return spec_.grid.cell(coords);
}

std::vector<SlotRange> Axis::slab(Index o) const {
  Coords offset(coords_.size(), 0);
  offset[static_cast<std::size_t>(axis_)] = o;
  std::vector<SlotRange> ranges;
  add_box(axis_ + 1, offset, ranges);
  return ranges;
}

void Axis::add_box(int axis, Coords& offset, std::vector<SlotRange>& ranges) const {
  if (axis >= whole_from_) {
    Index count = 1;
    for (int later = axis; later < spec_.grid.ndim(); ++later) {
      offset[static_cast<std::size_t>(later)] = -spec_.window.lower(later);
      count *= spec_.window.lower(later) + spec_.window.upper(later) + 1;
    }
    join_slots(ranges, {spec_.window.slot(offset), count});
    return;
  }
  const auto i = static_cast<std::size_t>(axis);
  for (Index o = -spec_.window.lower(axis); o <= spec_.window.upper(axis); ++o) {
    if (spec_.grid.shifted(axis, coords_[i], o) < 0) continue;
    offset[i] = o;
    add_box(axis + 1, offset, ranges);
  }
  offset[i] = 0;
}

}  // namespace

// Shift (Plimpton 1995, J. Comput. Phys. 117; werner2023 sections 2.2 and 4.2): axis by axis, every block is handed on
// from neighbour to neighbour, k hops up and k hops down, and each axis forwards all that the axes before it gathered.
// 2k messages an axis, k for an eighth shell.
//
// Blocking sends take the even-odd order of werner2023 (Fig. 5): first all hops up, then all hops down, and a hop has two
// steps, in the first of which the ranks of even coordinate send, in the second the odd ones. On an odd periodic ring
// two even ranks meet at the seam; their message goes last, in the second step, so that no cycle of waiting ranks can
// form; its sender receives before, and so stands ready one step before its partner sends. With receives posted first
// (shift-posted) nobody takes turns: a hop is one step, in which every rank sends and receives, up before down as before.
// Non-blocking and persistent sends have both directions of a hop in flight together. Self-synchronising sends have the
// whole axis in one step: all receives are posted at once, and each hop's send only comes after the receive of what it
// forwards.

namespace {

// One hop of the blocks that travel up (direction +1) or down (-1).
struct Hop {
  std::optional<Op> send;
  std::optional<Op> recv;
  std::optional<Op> copy;
  // In which of the hop's two steps, where sends block.
  std::size_t send_step = 0;
  std::size_t recv_step = 0;
};

class AxisShift {
 public:
  AxisShift(const ExchangeSpec& spec, Index rank, int axis)
      : axis_(spec, rank, axis), tag_base_(2 * axis), tag_stride_(2 * spec.grid.ndim()) {}

  // What moves up comes from below: after `hops(+1)` hops it fills all offsets down to -lower.
  [[nodiscard]] Index hops(int direction) const { return direction > 0 ? axis_.lower() : axis_.upper(); }

  // number counts from 1.
  [[nodiscard]] Hop hop(int direction, Index number) const {
    Hop hop;
    const Index to = axis_.at(direction);
    const Index from = axis_.at(-direction);
    const bool has = axis_.at(-direction * (number - 1)) >= 0;
    const bool gets = axis_.at(-direction * number) >= 0;
    const std::vector<SlotRange> carried = axis_.slab(-direction * (number - 1));
    const std::vector<SlotRange> landing = axis_.slab(-direction * number);
    const int tag = tag_base_ + (direction > 0 ? 0 : 1) + tag_stride_ * static_cast<int>(number - 1);
    if (to == axis_.own() || from == axis_.own()) {
      hop.copy = Op{Op::Kind::copy, axis_.rank_at(axis_.own()), tag, landing, carried, {}};
      return hop;
    }
    if (to >= 0 && has) hop.send = Op{Op::Kind::send, axis_.rank_at(to), tag, carried, {}, {}};
    if (gets) hop.recv = Op{Op::Kind::recv, axis_.rank_at(from), tag, landing, {}, {}};
    hop.send_step = phase(axis_.own(), direction) > 0 ? 1 : 0;
    if (hop.recv) hop.recv_step = phase(from, direction) > 0 ? 1 : 0;
    if (hop.send && hop.recv_step == hop.send_step) hop.recv_step = 0;  // the sender at the seam
    return hop;
  }

 private:
  // In which phase of a hop the rank at a coordinate sends. Neighbouring messages never share a phase.
  [[nodiscard]] int phase(Index coordinate, int direction) const {
    const Index seam = direction > 0 ? axis_.length() - 1 : 0;
    if (axis_.periodic() && axis_.length() % 2 == 1 && coordinate == seam) return 2;
    return static_cast<int>(coordinate % 2);
  }

  Axis axis_;
  int tag_base_;
  int tag_stride_;
};

constexpr std::array<int, 2> directions{+1, -1};

void add_blocking(RankSchedule& schedule, const AxisShift& shift) {
  for (const int direction : directions) {
    for (Index number = 1; number <= shift.hops(direction); ++number) {
      Hop hop = shift.hop(direction, number);
      std::array<Step, 2> steps;
      const auto add = [&steps](std::size_t step, std::optional<Op>& op) {
        if (op) steps[step].ops.push_back(std::move(*op));
      };
      add(0, hop.copy);
      add(hop.send_step, hop.send);
      add(hop.recv_step, hop.recv);
      for (Step& step : steps) schedule.steps.push_back(std::move(step));
    }
  }
}

// A hop a step, its receive posted before it sends.
void add_posted(RankSchedule& schedule, const AxisShift& shift) {
  for (const int direction : directions) {
    for (Index number = 1; number <= shift.hops(direction); ++number) {
      Hop hop = shift.hop(direction, number);
      Step& step = schedule.steps.emplace_back();
      for (std::optional<Op>* op : {&hop.copy, &hop.recv, &hop.send}) {
        if (*op) step.ops.push_back(std::move(**op));
      }
    }
  }
}

void add_hop_by_hop(RankSchedule& schedule, const AxisShift& shift) {
  for (Index number = 1; number <= std::max(shift.hops(+1), shift.hops(-1)); ++number) {
    Step step;
    for (const int direction : directions) {
      if (number > shift.hops(direction)) continue;
      Hop hop = shift.hop(direction, number);
      for (std::optional<Op>* op : {&hop.copy, &hop.recv, &hop.send}) {
        if (*op) step.ops.push_back(std::move(**op));
      }
    }
    schedule.steps.push_back(std::move(step));
  }
}

void add_self_synchronising(RankSchedule& schedule, const AxisShift& shift) {
  Step step;
  for (const int direction : directions) {
    std::optional<std::size_t> arrived;  // the operation that brings what the next hop forwards
    for (Index number = 1; number <= shift.hops(direction); ++number) {
      Hop hop = shift.hop(direction, number);
      const std::optional<std::size_t> before = arrived;
      const auto add = [&step](std::optional<Op>& op) {
        step.ops.push_back(std::move(*op));
        return step.ops.size() - 1;
      };
      if (hop.recv) arrived = add(hop.recv);
      for (std::optional<Op>* op : {&hop.send, &hop.copy}) {
        if (!*op) continue;
        if (before) (**op).after = {*before};
        const bool copies = op == &hop.copy;
        const std::size_t added = add(*op);
        if (copies) arrived = added;
      }
    }
  }
  schedule.steps.push_back(std::move(step));
}

RankSchedule by_axis(const ExchangeSpec& spec, Index rank, void (*add)(RankSchedule& schedule, const AxisShift& shift)) {
  RankSchedule schedule;
  schedule.slots = spec.window.slots();
  for (int axis = spec.grid.ndim(); axis-- > 0;) add(schedule, AxisShift(spec, rank, axis));
  return schedule;
}

}  // namespace

RankSchedule make_shift(const ExchangeSpec& spec, Index rank) {
  return by_axis(spec, rank,
                 is_blocking(spec.mode)              ? add_blocking
                 : spec.mode == SendMode::isend_self ? add_self_synchronising
                                                     : add_hop_by_hop);
}

RankSchedule make_shift_posted(const ExchangeSpec& spec, Index rank) { return by_axis(spec, rank, add_posted); }

// Comb: axis by axis like shift, but on an axis every rank sends what it has gathered straight to each rank of its line
// within the cutoff, all at once: the bytes of shift with one hop of latency an axis (message combining as in the
// Cartesian collectives of Träff and Hunold). Blocking modes post all receives of an axis before its first send: a rank
// that is not further than any other always finds its receivers ready, so that no rank can wait for ever.

RankSchedule make_comb(const ExchangeSpec& spec, Index rank) {
  RankSchedule schedule;
  schedule.slots = spec.window.slots();
  for (int i = spec.grid.ndim(); i-- > 0;) {
    const Axis axis(spec, rank, i);
    const std::vector<SlotRange> gathered = axis.slab(0);
    Step step;
    std::vector<Op> sends;
    for (Index o = -axis.lower(); o <= axis.upper(); ++o) {
      if (o == 0) continue;
      const Index from = axis.at(o);
      const Index to = axis.at(-o);
      if (from == axis.own()) {
        step.ops.push_back({Op::Kind::copy, rank, i, axis.slab(o), gathered, {}});
        continue;
      }
      if (from >= 0) step.ops.push_back({Op::Kind::recv, axis.rank_at(from), i, axis.slab(o), {}, {}});
      if (to >= 0) sends.push_back({Op::Kind::send, axis.rank_at(to), i, gathered, {}, {}});
    }
    for (Op& send : sends) step.ops.push_back(std::move(send));
    chain_sends(step, spec.mode);
    schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

}  // namespace rankwise
