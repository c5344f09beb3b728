// Faces first: as direct, in two steps. The boxes beside a rank's own come first, so that work with them may begin; those
// over edges, corners and further away come in the second step.
#include <algorithm>

#include "schedule/algorithms.hpp"

namespace rankwise {

namespace {

bool is_face(const Coords& offset) {
  const auto zeros = std::ranges::count(offset, Index{0});
  const auto ones = std::ranges::count_if(offset, [](Index o) { return o == 1 || o == -1; });
  return ones == 1 && zeros + ones == static_cast<std::ptrdiff_t>(offset.size());
}

Step step_of(const ExchangeSpec& spec, Index rank, bool faces) {
  const Index centre = spec.window.centre();
  const Coords own = spec.grid.coords(rank);
  Step step;
  std::vector<Op> sends;
  for (Index slot = 0; slot < spec.window.slots(); ++slot) {
    const Coords offset = spec.window.offset(slot);
    if (slot == centre || is_face(offset) != faces) continue;
    const Index from = spec.grid.cell_at_offset(own, offset, +1);
    const Index to = spec.grid.cell_at_offset(own, offset, -1);
    if (from == rank) {  // an image of the own box
      step.ops.push_back({Op::Kind::copy, rank, 0, {{slot, 1}}, {{centre, 1}}, {}});
      continue;
    }
    if (from >= 0) step.ops.push_back({Op::Kind::recv, from, 0, {{slot, 1}}, {}, {}});
    if (to >= 0) sends.push_back({Op::Kind::send, to, 0, {{centre, 1}}, {}, {}});
  }
  step.ops.insert(step.ops.end(), sends.begin(), sends.end());
  chain_sends(step, spec.mode);
  return step;
}

}  // namespace

RankSchedule make_faces_first(const ExchangeSpec& spec, Index rank) {
  RankSchedule schedule;
  schedule.slots = spec.window.slots();
  schedule.steps = {step_of(spec, rank, true), step_of(spec, rank, false)};
  return schedule;
}

}  // namespace rankwise
