// How long a description of traffic is when the ranks sit in the cells of a grid.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pattern/traffic.hpp"

namespace rankwise {

constexpr int most_axes = 8;
using Cell = std::array<std::int32_t, most_axes>;

struct KeptOffset {
  Cell offset{};
  std::uint64_t pairs = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

struct Description {
  double bits = 0;
  std::vector<Index> dims;
  std::vector<bool> periodic;
  std::vector<KeptOffset> offsets;  // the shortest first
  std::uint64_t explained = 0;      // flows that follow a kept offset
};

// Bits that name one flow's receiver without a pattern.
double noise_bits(Index ranks);

// Describes the flows by the offsets between the cells of their ranks, the shorter way around an axis. An offset o is kept
// when at least 0.3 of the m pairs have it that could, and when it is then cheaper than naming its n flows one by one: it
// costs 6 bits an axis + 6 + 4 sum |o_i| (half of that halfway around an axis, where the other way around is there, too) +
// m H(n / m), H the entropy of a share. An axis is periodic when 0.4 of the
// wraps are there that the frequent offsets imply. On an axis of two cells, and halfway around any, both ways are one:
// there nothing wraps. senders: how many ranks' flows are given, of all (a sample of rows).
Description describe(std::span<const Flow> flows, std::span<const Cell> cell_of_rank, const std::vector<Index>& dims,
                     Index senders);

// Whether that share of the flows follow offsets that look the same along each axis from both sides, as stencils do; an
// axis that is really two, or half a one, breaks that.
bool plain(const Description& description, std::span<const Flow> flows, double share);

// Offsets, those halfway around an axis once only (on an axis of two cells both ways are one).
std::size_t directions(const Description& description);

// Receivers of a rank that has more than so many percent of all, those to which all send left out.
std::size_t high_degree(std::span<const Flow> flows, Index ranks, Index percent = 98);

// Grids in which ranks are numbered row by row (or, the axes taken the other way round, column by column), or in any way: drawn,
// or node by node.

// The shortest description over all ordered factorisations of the number of ranks into one to four factors. Among more
// than 1024 ranks a sample of rows chooses at most twelve factorisations that all rows decide between.
// flows: sorted by sender. ranks: at least 2.
Description describe_natural(std::span<const Flow> flows, Index ranks);

// The row-major cell of each rank.
std::vector<Cell> natural_cells(const std::vector<Index>& dims);

struct Embedding {
  Description description;
  std::vector<Cell> cells;
};

// Lays the ranks out from several seeds and frames and returns the shortest description; nothing where no layout fills a
// grid. flows: sorted by sender.
std::optional<Embedding> describe_any_numbering(std::span<const Flow> flows, Index ranks);

// The pattern of traffic: a grid with the offsets along which its ranks talk, or a general graph.

enum class PatternKind { grid, graph, uncertain };

struct Pattern {
  PatternKind kind = PatternKind::graph;
  std::vector<Index> dims;  // empty for a graph
  std::vector<bool> periodic;
  std::vector<KeptOffset> offsets;
  std::vector<Index> cell_of_rank;  // row-major
  double explained = 0;             // the share of all bytes between ranks that follow the offsets
  double bits = 0;                  // of the description
  double noise_bits = 0;            // of naming each flow's receiver
};

// The shorter description of a grid numbered naturally and of one numbered in any way. uncertain: a grid describes the
// traffic, but not well enough to build on. Throws std::invalid_argument on arrays that do not fit.
Pattern find_pattern(const Traffic& traffic);

const char* to_string(PatternKind kind);

}  // namespace rankwise
