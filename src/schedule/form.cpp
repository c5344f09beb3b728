#include "schedule/form.hpp"

#include <algorithm>

namespace rankwise {

namespace {

bool within(const std::vector<SlotRange>& ranges, Index slots) {
  return std::ranges::all_of(ranges, [&](const SlotRange& range) {
    return range.first >= 0 && range.count >= 0 && range.first <= slots && range.count <= slots - range.first;
  });
}

Index count(const std::vector<SlotRange>& ranges) {
  Index slots = 0;
  for (const SlotRange& range : ranges) slots += range.count;
  return slots;
}

// Whether some operations of a step wait for each other in a circle: taken away one by one, those that wait for none stay over.
bool goes_round(const Step& step) {
  std::vector<std::size_t> left(step.ops.size());
  std::vector<std::vector<std::size_t>> later(step.ops.size());
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < step.ops.size(); ++i) {
    left[i] = step.ops[i].after.size();
    for (const std::size_t before : step.ops[i].after) later[before].push_back(i);
    if (left[i] == 0) free.push_back(i);
  }
  for (std::size_t k = 0; k < free.size(); ++k) {
    for (const std::size_t i : later[free[k]]) {
      if (--left[i] == 0) free.push_back(i);
    }
  }
  return free.size() < step.ops.size();
}

std::string why_not(const Op& op, std::size_t operations, Index slots, std::size_t ranks) {
  const bool travels = op.kind == Op::Kind::send || op.kind == Op::Kind::recv;
  if (travels && (op.peer < 0 || op.peer >= static_cast<Index>(ranks))) return "names rank " + std::to_string(op.peer);
  if (!within(op.slots, slots) || !within(op.source, slots)) return "names slots beyond its " + std::to_string(slots);
  if (op.kind == Op::Kind::copy && count(op.slots) != count(op.source)) {
    return "copies " + std::to_string(count(op.source)) + " slots to " + std::to_string(count(op.slots));
  }
  const auto missing = std::ranges::find_if(op.after, [&](std::size_t before) { return before >= operations; });
  if (missing != op.after.end()) return "comes after operation " + std::to_string(*missing);
  return "";
}

std::string why_not(const RankSchedule& schedule, Index slots, std::size_t ranks) {
  if (schedule.slots != slots) return "has " + std::to_string(schedule.slots) + " slots, not " + std::to_string(slots);
  if (schedule.passing < 0 || schedule.passing > slots) return "passes on " + std::to_string(schedule.passing) + " slots";
  const auto beyond = [&](Index place) { return place < 0 || place >= slots; };
  const bool has_each = schedule.place.empty() || schedule.place.size() == static_cast<std::size_t>(slots);
  if (!has_each || std::ranges::any_of(schedule.place, beyond)) return "has no place for each of its slots";
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    for (std::size_t i = 0; i < step.ops.size(); ++i) {
      const std::string why = why_not(step.ops[i], step.ops.size(), slots, ranks);
      if (!why.empty()) return "in step " + std::to_string(s) + ", operation " + std::to_string(i) + " " + why;
    }
    if (goes_round(step)) return "in step " + std::to_string(s) + " has operations that come after themselves";
  }
  return "";
}

}  // namespace

std::vector<std::string> find_malformed(const std::vector<RankSchedule>& schedules, const std::vector<std::size_t>& slots,
                                        bool adds) {
  if (schedules.size() != slots.size()) {
    return {"there are schedules of " + std::to_string(schedules.size()) + " ranks, not of " + std::to_string(slots.size())};
  }
  std::vector<std::string> findings;
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    std::string why = why_not(schedules[rank], static_cast<Index>(slots[rank]), schedules.size());
    if (schedules[rank].adds != adds) why = adds ? "does not add up what arrives" : "adds up what arrives";
    if (!why.empty()) findings.push_back("rank " + std::to_string(rank) + " " + why);
  }
  return findings;
}

}  // namespace rankwise
