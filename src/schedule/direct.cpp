// Direct: every rank sends its block straight to each partner, one message an offset of the window, all in flight at
// once. Blocking modes post all receives first and then send to one partner after the other: every message finds its
// receive posted, so that no rank can wait for ever.
//
// Both ends list their messages in the order of the offset from receiver to sender; where a short periodic axis makes
// two ranks partners several times, their messages therefore match in order.
//
// neighbor-alltoall is the same messages, left to MPI as one neighbourhood collective on a distributed graph.
#include <algorithm>

#include "schedule/algorithms.hpp"

namespace rankwise {

RankSchedule make_direct(const ExchangeSpec& spec, Index rank) {
  const Index centre = spec.window.centre();
  const Coords own = spec.grid.coords(rank);
  Step step;
  std::vector<Op> sends;
  step.ops.reserve(2 * static_cast<std::size_t>(spec.window.slots()));
  sends.reserve(static_cast<std::size_t>(spec.window.slots()));
  for (Index slot = 0; slot < spec.window.slots(); ++slot) {
    if (slot == centre) continue;
    const Coords offset = spec.window.offset(slot);
    const Index from = spec.grid.cell_at_offset(own, offset, +1);
    // The rank whose window has our block at this offset is at minus the offset.
    const Index to = spec.grid.cell_at_offset(own, offset, -1);
    if (from == rank) {
      step.ops.push_back({Op::Kind::copy, rank, 0, {{slot, 1}}, {{centre, 1}}, {}});
      continue;
    }
    if (from >= 0) step.ops.push_back({Op::Kind::recv, from, 0, {{slot, 1}}, {}, {}});
    if (to >= 0) sends.push_back({Op::Kind::send, to, 0, {{centre, 1}}, {}, {}});
  }
  for (Op& send : sends) step.ops.push_back(std::move(send));
  chain_sends(step, spec.mode);
  RankSchedule schedule;
  schedule.slots = spec.window.slots();
  schedule.steps.push_back(std::move(step));
  return schedule;
}

namespace {

// A rank, and how many offsets lead to it.
struct Partner {
  Index rank;
  Index times;
};

// The ranks at the offsets of the window from some coordinates (direction +1), or at minus the offsets: each once, in the order
// of the first offset that leads there.
std::vector<Partner> partners_of(const ExchangeSpec& spec, const Coords& own, int direction) {
  std::vector<Partner> partners{{0, 1}};
  for (int axis = 0; axis < spec.grid.ndim(); ++axis) {
    std::vector<Partner> along;  // coordinates
    for (Index o = -spec.window.lower(axis); o <= spec.window.upper(axis); ++o) {
      const Index at = spec.grid.shifted(axis, own[static_cast<std::size_t>(axis)], direction * o);
      if (at < 0) continue;
      const auto known = std::ranges::find(along, at, &Partner::rank);
      if (known != along.end()) {
        ++known->times;
      } else {
        along.push_back({at, 1});
      }
    }
    std::vector<Partner> further;
    for (const Partner& line : partners) {
      for (const Partner& one : along) {
        further.push_back({line.rank * spec.grid.dim(axis) + one.rank, line.times * one.times});
      }
    }
    partners = std::move(further);
  }
  return partners;
}

}  // namespace

RankSchedule make_direct_alike(const ExchangeSpec& spec, Index rank) {
  const Coords own = spec.grid.coords(rank);
  RankSchedule schedule;
  schedule.slots = spec.window.slots();
  std::vector<Op>& ops = schedule.steps.emplace_back().ops;
  const auto add = [&ops](Op::Kind kind, Index peer, Index times) {
    Op& op = ops.emplace_back();
    op.kind = kind;
    op.peer = peer;
    op.slots = {{0, 1}};
    if (kind == Op::Kind::copy) op.source = op.slots;
    op.times = times;
  };
  for (const auto& [from, times] : partners_of(spec, own, +1)) {
    if (from != rank) add(Op::Kind::recv, from, times);
    if (from == rank && times > 1) add(Op::Kind::copy, from, times - 1);  // but for the own block
  }
  for (const auto& [to, times] : partners_of(spec, own, -1)) {
    if (to != rank) add(Op::Kind::send, to, times);
  }
  return schedule;
}

RankSchedule make_neighbor_alltoall(const ExchangeSpec& spec, Index rank) {
  RankSchedule schedule = make_direct(spec, rank);
  schedule.neighborhood = true;
  return schedule;
}

}  // namespace rankwise
