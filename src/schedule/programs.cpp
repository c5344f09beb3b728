#include "schedule/programs.hpp"

#include <algorithm>
#include <utility>

namespace rankwise {

std::vector<RankSchedule> phased_schedules(Index ranks, const PhasedMessages& messages, std::span<const double> compute_s) {
  if (ranks < 1 || compute_s.size() % static_cast<std::size_t>(ranks) != 0) {
    invalid("computing is given for every phase and rank");
  }
  const auto phases = static_cast<Index>(compute_s.size()) / ranks;
  const std::size_t count = messages.phase.size();
  if (messages.from.size() != count || messages.to.size() != count || messages.bytes.size() != count) {
    invalid("every message has a phase, two ranks and a size");
  }
  std::vector<RankSchedule> schedules(static_cast<std::size_t>(ranks));
  std::size_t at = 0;
  for (Index phase = 0; phase < phases; ++phase) {
    for (Index rank = 0; rank < ranks; ++rank) {
      Step computing;
      Op op{Op::Kind::compute, rank, 0, {}, {}, {}};
      op.compute_s = compute_s[static_cast<std::size_t>(phase * ranks + rank)];
      if (op.compute_s > 0) computing.ops.push_back(std::move(op));
      auto& steps = schedules[static_cast<std::size_t>(rank)].steps;
      steps.push_back(std::move(computing));
      steps.emplace_back();
    }
    for (; at < count && messages.phase[at] == phase; ++at) {
      const Index from = messages.from[at];
      const Index to = messages.to[at];
      const Index bytes = messages.bytes[at];
      if (from < 0 || from >= ranks || to < 0 || to >= ranks) invalid("a message is of a rank that does not exist");
      if (bytes < 0) invalid("a message has less than no bytes");
      RankSchedule& sender = schedules[static_cast<std::size_t>(from)];
      RankSchedule& receiver = schedules[static_cast<std::size_t>(to)];
      sender.slots = std::max(sender.slots, bytes);
      receiver.slots = std::max(receiver.slots, bytes);
      sender.steps.back().ops.push_back({Op::Kind::send, to, 0, {{0, bytes}}, {}, {}});
      receiver.steps.back().ops.push_back({Op::Kind::recv, from, 0, {{0, bytes}}, {}, {}});
    }
  }
  if (at < count) invalid("messages are sorted by phase, and every phase exists");
  return schedules;
}

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

}  // namespace rankwise
