#include "schedule/transpose.hpp"

namespace rankwise {

RankSchedule make_transpose(Index ranks, Index rank) {
  if (rank < 0 || rank >= ranks) {
    invalid("rank " + std::to_string(rank) + " does not exist among " + std::to_string(ranks));
  }
  RankSchedule schedule;
  schedule.slots = 2 * ranks;
  Step own;
  own.ops.push_back({Op::Kind::copy, rank, 0, {{ranks + rank, 1}}, {{rank, 1}}, {}});
  if (ranks == 1) schedule.steps.push_back(own);
  for (Index s = 1; s < ranks; ++s) {
    const Index to = (rank + s) % ranks;
    const Index from = (rank + ranks - s) % ranks;
    Step step = s == 1 ? own : Step{};
    step.ops.push_back({Op::Kind::recv, from, 0, {{ranks + from, 1}}, {}, {}});
    step.ops.push_back({Op::Kind::send, to, 0, {{to, 1}}, {}, {}});
    schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

std::vector<RankSchedule> make_transposes(Index ranks) {
  std::vector<RankSchedule> schedules;
  for (Index rank = 0; rank < ranks; ++rank) schedules.push_back(make_transpose(ranks, rank));
  return schedules;
}

}  // namespace rankwise
