// Closed forms that are known, and sets that none may send less than.
#include "mapping/isoperimetry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "mapping/random.hpp"

namespace rankwise {
namespace {

Pairs endless(std::string_view stencil, int ndim) {
  return pairs_of(parse_stencil(stencil, ndim), Grid(std::vector<Index>(static_cast<std::size_t>(ndim), 1)));
}

Index root_up(Index square) {
  auto root = static_cast<Index>(std::sqrt(static_cast<double>(square)));
  while (root * root < square) ++root;
  while ((root - 1) * (root - 1) >= square) --root;
  return root;
}

TEST(Isoperimetry, IsTheClosedFormWhereOneIsKnown) {
  // Harary and Harborth 1976, Harborth 1974, Brass 1996.
  const Least squares = least_by_lines(endless("nearest-neighbor", 2), 100, 100);
  const Least kings = least_by_lines(endless("moore:1", 2), 100, 100);
  const Least triangles = least_by_lines(endless("1,0;-1,0;0,1;0,-1;1,1;-1,-1", 2), 100, 100);
  for (Index n = 1; n <= 100; ++n) {
    const auto at = static_cast<std::size_t>(n);
    EXPECT_EQ(squares[at], 2 * root_up(4 * n)) << n;
    EXPECT_EQ(kings[at], 2 * root_up(28 * n - 12)) << n;
    EXPECT_EQ(triangles[at], 2 * root_up(12 * n - 3)) << n;
  }
  const Least weighted = least_by_lines(endless("1,0*8;-1,0*8;0,1*8;0,-1*8;1,1;-1,-1;1,-1;-1,1", 2), 36, 36);
  EXPECT_EQ(weighted[36], 236);  // the 6x6 block
}

TEST(Isoperimetry, KnowsThe27PointStencil) {
  Pairs pairs = endless("moore:1", 3);
  const Least least = least_of_moore3(pairs, Grid({100, 100, 100}), 2, 64);
  EXPECT_TRUE(pairs.empty());
  // What is known, and what the best sets send that were found.
  for (const auto& [n, known, sent] : std::vector<std::tuple<std::size_t, Index, Index>>{{1, 26, 26},
                                                                                         {2, 50, 50},
                                                                                         {8, 144, 152},
                                                                                         {27, 338, 378},
                                                                                         {32, 380, 426},
                                                                                         {36, 410, 456},
                                                                                         {48, 494, 558},
                                                                                         {64, 592, 686}}) {
    EXPECT_GE(least[n], known) << n;
    EXPECT_LE(least[n], sent) << n;
  }
}

TEST(Isoperimetry, Of27PointsKnowsFlatGridsAndFullColumns) {
  // One level of cells: 18 of the 26 leave it, the others are the 9-point stencil's.
  Pairs pairs = endless("moore:1", 3);
  const Least flat = least_of_moore3(pairs, Grid({100, 100, 1}), 2, 40);
  for (Index n = 1; n <= 40; ++n) EXPECT_EQ(flat[static_cast<std::size_t>(n)], 18 * n + 2 * root_up(28 * n - 12)) << n;
  // Two levels are between that and any number of them.
  pairs = endless("moore:1", 3);
  const Least two = least_of_moore3(pairs, Grid({100, 100, 2}), 2, 40);
  pairs = endless("moore:1", 3);
  const Least deep = least_of_moore3(pairs, Grid({100, 100, 100}), 2, 40);
  EXPECT_EQ(two[8], 152);  // the cube
  EXPECT_GT(two[40], deep[40]);
  EXPECT_LT(two[40], flat[40]);
  // Columns all the way round an axis of four: one sends 4 * 24, a square of four of them 16 * 26 less what they share.
  pairs = endless("moore:1", 3);
  const Least around = least_of_moore3(pairs, Grid({100, 100, 4}, {false, false, true}), 2, 40);
  EXPECT_LE(around[4], 4 * 24);
  EXPECT_LE(around[16], 4 * 3 * 20);
  EXPECT_GE(around[36], 4 * 3 * 32 * 3 / 4);
  // On a long axis they are no better than what is compact.
  pairs = endless("moore:1", 3);
  EXPECT_EQ(least_of_moore3(pairs, Grid({100, 100, 24}, {false, false, true}), 2, 40), deep);
}

TEST(Isoperimetry, Of27PointsIsBelowEverySetThatGrows) {
  Random random(11);
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>((random.bits() >> 32) % most); };
  for (const bool round : {false, true}) {
    const Grid grid({7, 6, 5}, {round, round, round});
    const Stencil stencil = parse_stencil("moore:1", 3);
    Pairs pairs = pairs_of(stencil, grid);
    const Least least = least_of_moore3(pairs, grid, 2, 36);
    for (int turn = 0; turn < 4; ++turn) {
      // The neighbour that adds least, or one of the next few.
      std::set<Index> in{grid.cell({3, 3, 2})};
      Index sent = 26;
      for (std::size_t n = 1; n <= 36; ++n) {
        EXPECT_LE(least[n], sent) << n;
        std::vector<std::pair<Index, Index>> open;  // what it would add, and the cell
        for (const Index cell : in) {
          for (const Coords& offset : stencil.offsets()) {
            const Index other = grid.cell_at_offset(grid.coords(cell), offset, 1);
            const bool is_known = std::ranges::find(open, other, [](const auto& one) { return one.second; }) != open.end();
            if (other < 0 || in.contains(other) || is_known) continue;
            Index added = 26;
            for (const Coords& o : stencil.offsets())
              added -= in.contains(grid.cell_at_offset(grid.coords(other), o, 1)) ? 2 : 0;
            open.emplace_back(added, other);
          }
        }
        std::ranges::sort(open);
        const auto [added, cell] = open[below(std::min<std::size_t>(open.size(), 1 + 4 * static_cast<std::size_t>(turn)))];
        in.insert(cell);
        sent += added;
      }
    }
  }
}

TEST(Isoperimetry, IsBelowEverySet) {
  Random random(7);
  const auto below = [&](std::uint64_t most) { return static_cast<Index>((random.bits() >> 32) % most); };
  for (int round = 0; round < 300; ++round) {
    const Grid grid({2 + below(7), 2 + below(7)}, {below(2) == 1, below(2) == 1});
    std::set<Coords> offsets;
    for (Index i = 1 + below(5); i > 0; --i) offsets.insert({below(7) - 3, below(7) - 3});
    offsets.erase({0, 0});
    if (offsets.empty()) continue;
    std::vector<Index> weights(offsets.size());
    for (Index& weight : weights) weight = 1 + below(9);
    const Stencil stencil(2, {offsets.begin(), offsets.end()}, weights);
    const Pairs pairs = pairs_of(stencil, grid);
    if (pairs.empty()) continue;
    const Index most = grid.size();
    const Least lines = least_by_lines(pairs, most, most);
    const Least sets = least_by_sets(pairs, most);
    const Least layers = least_by_layers(pairs, grid, {0, 1}, most);
    // A set that grows from a corner; on the torus it counts for the layers, in the plane for the others.
    std::vector<bool> in(static_cast<std::size_t>(most), false);
    for (Index n = 1; n <= most; ++n) {
      Index cell = below(static_cast<std::uint64_t>(most));
      while (in[static_cast<std::size_t>(cell)]) cell = (cell + 1) % most;
      in[static_cast<std::size_t>(cell)] = true;
      Index plane = 0;
      Index torus = 0;
      for (Index from = 0; from < most; ++from) {
        if (!in[static_cast<std::size_t>(from)]) continue;
        const Coords at = grid.coords(from);
        for (const auto& [offset, weight] : pairs) {
          const Index x = at[0] + offset[0];
          const Index y = at[1] + offset[1];
          const bool inside = x >= 0 && x < grid.dim(0) && y >= 0 && y < grid.dim(1);
          if (!inside || !in[static_cast<std::size_t>(grid.cell({x, y}))]) plane += weight;
          const Index to = grid.cell_at_offset(at, offset, 1);
          if (to < 0 || !in[static_cast<std::size_t>(to)]) torus += weight;
        }
      }
      const auto size = static_cast<std::size_t>(n);
      if (!lines.empty()) {
        EXPECT_LE(lines[size], plane) << n;
      }
      EXPECT_LE(sets[size], plane) << n;
      if (!layers.empty()) {
        EXPECT_LE(layers[size], torus) << n;
      }
    }
  }
}

}  // namespace
}  // namespace rankwise
