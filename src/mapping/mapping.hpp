// Mapping ranks to nodes: which cell of the process grid each rank takes, so that few stencil messages cross nodes.
//
// The scheduler has placed the ranks: ranks 0 to n0-1 on node 0, the next n1 on node 1, and so on. A mapping moves no
// rank to another node; it gives each rank a new cell. A cell's node is that of the rank that takes it
// (hunold2020, section II).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "grid/grid.hpp"

namespace rankwise {

constexpr std::size_t max_axes = 8;
// One value an axis; the entries beyond the grid's axes are unused. Fixed, so that mapping one rank allocates nothing.
using AxisValues = std::array<Index, max_axes>;

using NodeId = std::int32_t;

// How many ranks each node holds. Takes O(1) memory where all nodes are equal.
class NodeSizes {
 public:
  // Throws std::invalid_argument on no node, a size below 1, 2^31 nodes or more, or more than 2^62 ranks.
  explicit NodeSizes(const std::vector<Index>& sizes);
  NodeSizes(Index nodes, Index ranks_per_node);

  [[nodiscard]] Index nodes() const { return nodes_; }
  [[nodiscard]] Index ranks() const { return ranks_; }
  [[nodiscard]] bool equal() const { return smallest_ == largest_; }
  [[nodiscard]] Index smallest() const { return smallest_; }
  [[nodiscard]] Index largest() const { return largest_; }
  [[nodiscard]] Index size(Index node) const;

 private:
  Index nodes_ = 0;
  Index ranks_ = 0;
  Index smallest_ = 0;
  Index largest_ = 0;
  std::vector<Index> sizes_;  // empty where all nodes are equal
};

// What is to be mapped. Whether an axis is periodic does not guide the algorithms of hunold2020, only the score.
struct MappingProblem {
  // Throws std::invalid_argument where the number of cells is not that of the ranks, the stencil is for another number
  // of axes, the grid has more than max_axes axes or 2^45 cells, or its edges weigh more than 2^62 in all (so that
  // every score fits 64 bits).
  MappingProblem(Grid grid_, NodeSizes nodes_, Stencil stencil_);

  Grid grid;
  NodeSizes nodes;
  Stencil stencil;
};

// Takes a whole map as runs, in the order of ranks: the next count ranks take first_cell, first_cell + stride, ...
class RunSink {
 public:
  virtual void run(Index first_cell, Index stride, Index count) = 0;

 protected:
  ~RunSink() = default;
};

// One algorithm, made ready for one problem.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  virtual ~Mapping() = default;

  // The new cell of one rank, 0 <= rank < ranks.
  [[nodiscard]] virtual Index cell_of_rank(Index rank) const = 0;
  // The new cells of all ranks: covers every cell once and agrees with cell_of_rank.
  virtual void all_runs(RunSink& sink) const = 0;
  // The algorithm that auto has picked; empty for all others.
  [[nodiscard]] virtual std::string_view picked() const { return {}; }
  // The steps of a search with which it comes out alike without a clock; 0 where nothing was searched.
  [[nodiscard]] virtual Index steps() const { return 0; }
};

// What an algorithm is to make little of, first of all.
enum class Objective { j_sum, j_max };

// For the algorithms that search or draw; the same options give the same map on every machine and rank, whatever the threads.
// A clock (stop, or left_s) may differ from run to run and from rank to rank: a caller that maps on several ranks at once
// must leave it out.
struct MappingOptions {
  // How long a search may be: about this many stencil edges are looked at. steps_per_second of them take about 1 s.
  Index steps = 1'800'000;
  Objective objective = Objective::j_sum;
  std::uint64_t seed = 1;
  // Asked now and then, by one thread or several; true ends the search with the best map so far.
  std::function<bool()> stop = {};
  // The caller's clock: how many seconds are left until the search is to end, by one thread or several. Then steps, about
  // what that allows, plan the constructions only.
  std::function<double()> left_s = {};
  int threads = 1;
  // A division that a search goes on from with little time: fewer tries each.
  bool hasty = false;
};
// How many steps of a search a core of 2020 does in a second, roughly: turns an effort in seconds into steps.
constexpr Index steps_per_second = 180'000'000;

struct MappingAlgorithm {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  bool in_all;       // part of "all"; false for a second reading of an algorithm that is there already
  bool equal_nodes;  // needs nodes of equal size
  bool local;        // cell_of_rank takes no time or memory that grows like the number of ranks
  // Throws std::invalid_argument with the reason where the algorithm cannot handle the problem.
  [[nodiscard]] std::unique_ptr<Mapping> prepare(const MappingProblem& problem, const MappingOptions& options = {}) const {
    return prepare_with(problem, options);
  }
  std::unique_ptr<Mapping> (*prepare_with)(const MappingProblem& problem, const MappingOptions& options);
};

// All algorithms, blocked first.
std::span<const MappingAlgorithm> mapping_algorithms();
// Throws std::invalid_argument, naming the ids that exist.
const MappingAlgorithm& mapping_algorithm(std::string_view name);

// The maps that refined finds between the least J_sum and the least J_max, none of them better than another in both; the
// least J_sum first. One where the grid is too large for a search as a whole.
std::vector<std::unique_ptr<Mapping>> refined_front(const MappingProblem& problem, const MappingOptions& options);

// The node of every cell; node_of_cell has one entry a cell (row-major).
void fill_node_of_cell(const Mapping& mapping, const NodeSizes& nodes, std::span<NodeId> node_of_cell);
// The new cell of every rank; cell_of_rank has one entry a rank.
void fill_cell_of_rank(const Mapping& mapping, std::span<Index> cell_of_rank);

// How good a mapping is: the stencil's messages that cross nodes (hunold2020, section II).

struct Score {
  Index j_sum = 0;  // directed edges between cells of different nodes, each as heavy as its offset's weight
  Index j_max = 0;  // those that leave the node with most of them
};

// node_of_cell: one node id (>= 0) a cell, row-major; any assignment, balanced or not. Every cell has one edge an
// offset, except where the offset leaves an open axis; on a periodic axis it wraps, and an edge that wraps to its own
// cell counts for nothing. Two offsets that wrap to the same cell are two edges.
// Takes O(cells * offsets) time, and memory for one row of cells and one number a node.
// Throws std::invalid_argument where sizes do not fit or a node id is negative or not below the number of cells.
Score score(const Grid& grid, const Stencil& stencil, std::span<const NodeId> node_of_cell);
// Likewise, what leaves each node up to the one with the largest id.
std::vector<Index> leaving_nodes(const Grid& grid, const Stencil& stencil, std::span<const NodeId> node_of_cell);

// The weight of all edges of the stencil, wherever they lead: the J_sum of a map with one cell a node.
Index total_edges(const Grid& grid, const Stencil& stencil);

// A mapping that is known cell by cell.

// node_of_cell: the node of every cell, each node as often as it has ranks. The ranks of a node take its cells in
// row-major order. Holds one Index a rank.
std::unique_ptr<Mapping> table_mapping(const NodeSizes& nodes, std::span<const NodeId> node_of_cell);

}  // namespace rankwise
