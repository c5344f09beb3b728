// How much work a search may be, and how much of it is left.
#pragma once

#include <functional>

#include "mapping/mapping.hpp"

namespace rankwise {

// Work left to a search, in steps of MappingOptions.
class Effort {
 public:
  explicit Effort(const MappingOptions& options) : left_(options.steps), stop_(options.stop) {}

  void spend(Index steps) { left_ -= steps; }
  [[nodiscard]] Index left() const { return left_; }
  // Whether the search must end: asks the caller, so not for every move.
  bool over() {
    if (left_ > 0 && stop_ && stop_()) left_ = 0;
    return left_ <= 0;
  }

 private:
  Index left_;
  std::function<bool()> stop_;
};

// How many steps are worth spending where the caller names no time: a millisecond for each message that a node could
// still be spared (what is between the best of all algorithms without a search and the lower bound, over the nodes), as
// if a message across nodes cost a microsecond more than one within, a thousand times. At least a millisecond, for the
// busiest node may still gain where the sum cannot; at most a second. The same on every machine. Takes O(cells * offsets)
// time and memory.
Index worthwhile_steps(const MappingProblem& problem);

}  // namespace rankwise
