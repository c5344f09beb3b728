// Local search on a partition: annealing in which part sizes may be off a little, and a repair that makes them exact.
#pragma once

#include "mapping/partition.hpp"
#include "mapping/random.hpp"

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

// Temperatures and prices in 1/1024 of a mean edge.
struct Cooling {
  std::int64_t hot;
  std::int64_t cold;
  std::int64_t hot_balance;   // price of the square of what a part has too much or too little, at the start
  std::int64_t cold_balance;  // and at the end
  std::int64_t peak;       // price of each unit of j_max's growth beyond the ceiling
  std::int64_t ceiling;    // what may leave a part for free, in edge weights
  Index steps;
};

// Moves single cells to neighbouring parts while the temperature falls.
void anneal(Partition& partition, const Cooling& cooling, Random& random, Effort& effort);

// Moves cells along chains of neighbouring parts until every part has the size it is to have, at little cost.
void repair(Partition& partition, Effort& effort);

}  // namespace rankwise
