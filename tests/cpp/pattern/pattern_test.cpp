#include "pattern/describe.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "mapping/random.hpp"

namespace rankwise {
namespace {

struct Matrix {
  std::vector<Index> pointer;
  std::vector<std::uint32_t> peer;
  std::vector<std::uint64_t> messages;
  std::vector<std::uint64_t> bytes;

  [[nodiscard]] Traffic traffic() const { return {pointer, peer, messages, bytes}; }
};

// Ten messages of 1000 B to each nearest neighbour; rank_of_cell: empty for row-major.
Matrix nearest(const Grid& grid, const std::vector<Index>& rank_of_cell = {}) {
  const auto rank = [&](Index cell) { return rank_of_cell.empty() ? cell : rank_of_cell[static_cast<std::size_t>(cell)]; };
  std::map<std::pair<Index, Index>, std::uint64_t> flows;
  for (Index cell = 0; cell < grid.size(); ++cell) {
    for (int axis = 0; axis < grid.ndim(); ++axis) {
      Coords offset(static_cast<std::size_t>(grid.ndim()));
      offset[static_cast<std::size_t>(axis)] = 1;
      for (const int sign : {1, -1}) {
        const Index beside = grid.cell_at_offset(grid.coords(cell), offset, sign);
        if (beside >= 0 && beside != cell) flows[{rank(cell), rank(beside)}] += 10;
      }
    }
  }
  Matrix matrix;
  matrix.pointer.assign(static_cast<std::size_t>(grid.size()) + 1, 0);
  for (const auto& [pair, messages] : flows) {
    ++matrix.pointer[static_cast<std::size_t>(pair.first) + 1];
    matrix.peer.push_back(static_cast<std::uint32_t>(pair.second));
    matrix.messages.push_back(messages);
    matrix.bytes.push_back(1000 * messages);
  }
  std::partial_sum(matrix.pointer.begin(), matrix.pointer.end(), matrix.pointer.begin());
  return matrix;
}

std::vector<Index> shuffled(Index size) {
  std::vector<Index> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  Random random(3);
  for (std::size_t i = ranks.size(); i > 1; --i) std::swap(ranks[i - 1], ranks[random.bits() % i]);
  return ranks;
}

TEST(Pattern, ANaturalGridIsFoundWithItsPeriods) {
  const Pattern found = find_pattern(nearest(Grid({5, 6, 7}, {true, false, true})).traffic());
  EXPECT_EQ(found.kind, PatternKind::grid);
  EXPECT_EQ(found.dims, (std::vector<Index>{5, 6, 7}));
  EXPECT_EQ(found.periodic, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(found.offsets.size(), 6U);
  EXPECT_EQ(found.explained, 1);
  for (std::size_t rank = 0; rank < found.cell_of_rank.size(); ++rank) {
    EXPECT_EQ(found.cell_of_rank[rank], static_cast<Index>(rank));
  }
}

TEST(Pattern, ARingOfTwoSendsTwiceToOneRank) {
  const Pattern found = find_pattern(nearest(Grid({2, 6, 5}, {true, true, true})).traffic());
  EXPECT_EQ(found.dims, (std::vector<Index>{2, 6, 5}));
  EXPECT_EQ(found.periodic, (std::vector<bool>{true, true, true}));
  EXPECT_FALSE(find_pattern(nearest(Grid({2, 6, 5})).traffic()).periodic[0]);
}

TEST(Pattern, AnyNumberingIsFound) {
  for (const bool periodic : {true, false}) {
    const Grid grid({6, 7, 9}, {periodic, !periodic, periodic});
    const std::vector<Index> ranks = shuffled(grid.size());
    const Pattern found = find_pattern(nearest(grid, ranks).traffic());
    ASSERT_EQ(found.kind, PatternKind::grid);
    EXPECT_EQ(found.explained, 1);
    EXPECT_EQ(found.offsets.size(), 6U);
    // Neighbouring cells of the planted grid are neighbours in the found one.
    const Grid again(found.dims, found.periodic);
    for (Index cell = 0; cell + 1 < grid.size(); ++cell) {
      if (grid.coords(cell)[2] + 1 == grid.dim(2)) continue;
      const Coords a = again.coords(found.cell_of_rank[static_cast<std::size_t>(ranks[static_cast<std::size_t>(cell)])]);
      const Coords b = again.coords(found.cell_of_rank[static_cast<std::size_t>(ranks[static_cast<std::size_t>(cell + 1)])]);
      Index apart = 0;
      for (int axis = 0; axis < 3; ++axis) {
        const auto i = static_cast<std::size_t>(axis);
        const Index step = std::abs(a[i] - b[i]);
        apart += again.periodic(axis) ? std::min(step, again.dim(axis) - step) : step;
      }
      EXPECT_EQ(apart, 1);
    }
  }
}

TEST(Pattern, ARandomGraphIsNoGrid) {
  Matrix matrix;
  Random random(5);
  matrix.pointer.push_back(0);
  for (int rank = 0; rank < 200; ++rank) {
    for (int i = 0; i < 6; ++i) {
      matrix.peer.push_back(static_cast<std::uint32_t>(random.bits() >> 32) % 200);
      matrix.messages.push_back(10);
      matrix.bytes.push_back(10'000);
    }
    matrix.pointer.push_back(static_cast<Index>(matrix.peer.size()));
  }
  const Pattern found = find_pattern(matrix.traffic());
  EXPECT_EQ(found.kind, PatternKind::graph);
  EXPECT_TRUE(found.dims.empty());
}

TEST(Pattern, ArraysThatDoNotFitAreRefused) {
  Matrix matrix = nearest(Grid({3, 3}));
  matrix.peer.front() = 9;
  EXPECT_THROW(find_pattern(matrix.traffic()), std::invalid_argument);
  matrix.peer.pop_back();
  EXPECT_THROW(find_pattern(matrix.traffic()), std::invalid_argument);
  EXPECT_THROW(find_pattern({}), std::invalid_argument);
}

}  // namespace
}  // namespace rankwise
