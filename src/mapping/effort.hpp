// How much work is left to a search.
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

}  // namespace rankwise
