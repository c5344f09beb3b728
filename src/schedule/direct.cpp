// Direct: every rank sends its block straight to each partner, one message an offset of the window, all in flight at
// once. Blocking modes post all receives first and then send to one partner after the other: every message finds its
// receive posted, so that no rank can wait for ever.
//
// Both ends list their messages in the order of the offset from receiver to sender; where a short periodic axis makes
// two ranks partners several times, their messages therefore match in order.
//
// neighbor-alltoall is the same messages, left to MPI as one neighbourhood collective on a distributed graph.
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

RankSchedule make_neighbor_alltoall(const ExchangeSpec& spec, Index rank) {
  RankSchedule schedule = make_direct(spec, rank);
  schedule.neighborhood = true;
  return schedule;
}

}  // namespace rankwise
