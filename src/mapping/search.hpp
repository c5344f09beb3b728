// The search behind refined: from the best of several maps to a better one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mapping/effort.hpp"
#include "mapping/mapping.hpp"
#include "mapping/partition.hpp"
#include "mapping/random.hpp"

namespace rankwise {

// Improves the best of the starts, all of them with exact part sizes, until the effort is spent or no better map can
// be. bound: no map has a smaller j_sum.
Partition search(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound);
// The same, and what it took.
Partition search(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound, Effort& effort);

// Half of the effort for a small j_sum, half for a small j_max: the maps of which none is better than another in both, the
// least j_sum first.
std::vector<Partition> search_front(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound,
                                    Effort& effort);

// Local search on a partition: annealing in which part sizes may be off a little (repair() makes them exact).

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

// Chains of gifts: each part gives a cell to the next one, so that only the sizes of the first and the last change.

// What counts first, second and third: less is better. The parts at j_max are counted so that a search that takes one
// after the other below it sees progress.
using Quality = std::array<std::int64_t, 3>;

Quality quality(const Partition& partition, Objective objective);

// Gives cells along chains from parts with too many to parts with too few, at little cost, until all sizes are right.
// False where the effort has ended before that.
bool repair(Partition& partition, Effort& effort);

// Gives cells around cycles of parts, which keeps all sizes, as long as that makes the partition better.
void polish(Partition& partition, Objective objective, Effort& effort);

// Search for maps too large to be searched as a whole: a few neighbouring nodes at a time, the rest held fast.

// Whether a map is better searched by windows than as a whole, with so many steps.
bool prefers_windows(const MappingProblem& problem, Index steps);
// Whether so many steps are enough for both, one after the other.
bool pays_windows(const MappingProblem& problem, Index steps);

// Improves a map with exact node sizes: takes nodes around a random one, anneals their cells among them, and keeps what is not
// worse. Edges that leave a window are cut whatever happens inside, so windows without a common node do not disturb each
// other: they are drawn a handful at a time and given to the threads, and the map is the same for any number of them.
// For a small J_sum, which is never raised; with the objective J_max around the nodes that send most.
void improve_by_windows(const MappingProblem& problem, std::vector<NodeId>& node_of_cell, const MappingOptions& options,
                        Effort& effort);

// Levels below the node: which of a node's sockets (or NUMA domains, or any other groups) each of its cells goes to.

// A division of the grid's cells into parts. The parts of a deeper level lie within those of the level above it, and
// are numbered in their order.
struct Level {
  std::vector<NodeId> part_of_cell;
  std::vector<Index> sizes;  // cells of each part
};

// Divides each part into parts_of_each parts whose sizes differ by at most one, the larger ones first (a part of fewer cells
// than that into single cells), so that little is sent between them: a search in each part alone, with the effort of
// options shared out by size. Without steps the cells of a part are taken in ascending order, as a launcher that knows
// nothing of the grid would. A part too large to be searched is divided like that, too.
// Throws std::invalid_argument where parts_of_each is below 1, the level does not fit the grid, or 2^31 parts or more result.
Level divide(const Grid& grid, const Stencil& stencil, const Level& level, Index parts_of_each, const MappingOptions& options);

}  // namespace rankwise
