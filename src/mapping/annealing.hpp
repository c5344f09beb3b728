// Local search on a partition: annealing in which part sizes may be off a little (chains.hpp makes them exact).
#pragma once

#include "mapping/effort.hpp"
#include "mapping/partition.hpp"
#include "mapping/random.hpp"

namespace rankwise {

// Temperatures and prices in 1/1024 of a mean edge.
struct Cooling {
  std::int64_t hot;
  std::int64_t cold;
  std::int64_t hot_balance;   // price of the square of what a part has too much or too little, at the start
  std::int64_t cold_balance;  // and at the end
  std::int64_t peak;          // price of each unit of j_max's growth beyond the ceiling
  std::int64_t ceiling;       // what may leave a part for free, in edge weights
  Index steps;
  double until_left_s = 0;  // where a clock ends the search: how much of its time remains then, whatever the steps
};

// Moves single cells to neighbouring parts while the temperature falls: for so many steps, or by the clock.
void anneal(Partition& partition, const Cooling& cooling, Random& random, Effort& effort);

}  // namespace rankwise
