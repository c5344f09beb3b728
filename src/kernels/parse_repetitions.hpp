// What the kernels that repeat a collective exchange have in common on their command line.
#pragma once

#include "kernels/arguments.hpp"
#include "measure/repetitions.hpp"

namespace rankwise {

// --budget-s, --least, --most, --warm-up. Throws std::invalid_argument.
[[nodiscard]] inline Repetitions parse_counts(Arguments& arguments, Repetitions repetitions = {}) {
  repetitions.budget_s = arguments.number("budget-s", repetitions.budget_s);
  repetitions.least = static_cast<int>(arguments.integer("least", repetitions.least));
  repetitions.most = static_cast<int>(arguments.integer("most", repetitions.most));
  repetitions.warm_up = static_cast<int>(arguments.integer("warm-up", repetitions.warm_up));
  require_sensible(repetitions);
  return repetitions;
}

// The same, --window-s and --start. Throws std::invalid_argument.
[[nodiscard]] inline Repetitions parse_repetitions(Arguments& arguments) {
  Repetitions repetitions = parse_counts(arguments);
  repetitions.window_s = arguments.number("window-s", repetitions.window_s);
  repetitions.start = parse_start(arguments.text("start", "clock"));
  require_sensible(repetitions);
  return repetitions;
}

}  // namespace rankwise
