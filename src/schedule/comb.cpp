// Comb: axis by axis like shift, but on an axis every rank sends what it has gathered straight to each rank of its line
// within the cutoff, all at once: the bytes of shift with one hop of latency an axis (message combining as in the
// Cartesian collectives of Träff and Hunold). Blocking modes post all receives of an axis before its first send: a rank
// that is not further than any other always finds its receivers ready, so that no rank can wait for ever.
#include "schedule/algorithms.hpp"
#include "schedule/axis.hpp"

namespace rankwise {

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
