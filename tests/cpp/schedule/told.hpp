// Schedules in words: "> 2 #5 0+3" sends to rank 2 with tag 5 slots 0 to 2, "<" receives, "=" copies, "*" visits, "~" computes;
// "@" after which operations of the step. Steps end with "|".
#pragma once

#include <string>

#include "schedule/schedule.hpp"

namespace rankwise {

inline std::string told(const std::vector<SlotRange>& ranges) {
  std::string text;
  for (const SlotRange& range : ranges) text += " " + std::to_string(range.first) + "+" + std::to_string(range.count);
  return text;
}

inline std::string told(const RankSchedule& schedule) {
  std::string text;
  for (const Step& step : schedule.steps) {
    for (const Op& op : step.ops) {
      text += std::string{"><=*~"[static_cast<std::size_t>(op.kind)]} + " " + std::to_string(op.peer);
      if (op.tag != 0) text += " #" + std::to_string(op.tag);
      text += told(op.slots);
      if (op.kind == Op::Kind::copy) text += " from" + told(op.source);
      if (op.kind == Op::Kind::compute) text += " " + std::to_string(op.compute_s);
      if (!op.after.empty()) text += " @";
      for (const std::size_t i : op.after) text += (i == op.after.front() ? "" : ",") + std::to_string(i);
      text += " ";
    }
    text += "| ";
  }
  return text;
}

}  // namespace rankwise
