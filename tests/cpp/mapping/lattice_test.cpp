// Stencils that span a sublattice: its basis, how its cosets are packed, and how good the strips along it are.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include "mapping/lattice.hpp"
#include "mapping/mapping.hpp"
#include "problem.hpp"
#include "random_problem.hpp"

namespace rankwise {
namespace {

TEST(Lattice, FindsTheShortBasisThatTheStencilItselfUses) {
  EXPECT_TRUE(Lattice(parse_stencil("nearest-neighbor", 3)).is_along_axes());
  EXPECT_TRUE(Lattice(parse_stencil("moore:2", 2)).is_along_axes());
  EXPECT_FALSE(Lattice(parse_stencil("component", 2)).is_along_axes());  // lines
  const std::vector<std::pair<std::string_view, std::set<Coords>>> known{
      {"2,0;-2,0;0,2;0,-2", {{2, 0}, {0, 2}}},
      {"1,0;-1,0;1,4;-1,-4", {{1, 0}, {1, 4}}},
      {"1,1;-1,-1", {{1, 1}}},
      {"2,1;-2,-1;-1,3;1,-3", {{2, 1}, {-1, 3}}},
  };
  for (const auto& [stencil, expected] : known) {
    std::set<Coords> found;
    const Lattice lattice(parse_stencil(stencil, 2));
    for (const Coords& vector : lattice.basis()) {
      Coords opposite = vector;
      for (Index& component : opposite) component = -component;
      found.insert(expected.contains(opposite) ? opposite : vector);
    }
    EXPECT_EQ(found, expected) << stencil;
  }
}

TEST(Lattice, PlacesCellsOneBasisVectorApart) {
  for (const std::string_view stencil : {"2,0;-2,0;0,2;0,-2", "3,1;1,-2", "1,1;2,2", "4,6;6,4;0,10"}) {
    const Lattice lattice(parse_stencil(stencil, 2));
    Coords place(lattice.rank());
    Coords other(lattice.rank());
    for (const Coords& cell : {Coords{0, 0}, Coords{7, 3}, Coords{-5, 11}}) {
      for (std::size_t i = 0; i < lattice.rank(); ++i) {
        Coords here = cell;
        Coords there{cell[0] + lattice.basis()[i][0], cell[1] + lattice.basis()[i][1]};
        lattice.reduce(here, place);
        lattice.reduce(there, other);
        EXPECT_EQ(here, there) << stencil;
        ++place[i];
        EXPECT_EQ(place, other) << stencil;
      }
    }
  }
}

TEST(Packed, FillsNodesWithRemaindersThatSumUp) {
  const std::vector<Index> sizes{7, 10, 3, 5, 4, 1, 6, 8, 2};
  const std::vector<std::size_t> order = packed(sizes, 10);
  ASSERT_EQ(order.size(), sizes.size());
  EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), sizes.size());
  // 10 alone, then 8 + 2, 7 + 3, 6 + 4; 5 + 1 fit nowhere.
  Index sum = 0;
  int full = 0;
  for (const std::size_t i : order) full += (sum += sizes[i]) % 10 == 0 ? 1 : 0;
  EXPECT_EQ(full, 4);
}

TEST(LatticeStrips, AreKnownBestWhereCosetsTalkApart) {
  struct Known {
    std::vector<Index> dims;
    Index ranks_per_node;
    std::string_view stencil;
    Index j_sum;
  };
  for (const auto& [dims, n, stencil, j_sum] :
       std::vector<Known>{{{32, 24}, 24, "2,0;-2,0;0,2;0,-2", 416},  // proved optimal
                          {{48, 36}, 36, "1,1;-1,-1", 0},
                          {{50, 30}, 25, "1,1;-1,-1", 58},  // 29 lines are longer than a node, each is cut
                          {{40, 40}, 40, "1,0;-1,0;1,4;-1,-4", 632},
                          {{12, 12, 8}, 32, "2,0,0;-2,0,0;0,2,0;0,-2,0;0,0,2;0,0,-2", 1024}}) {
    const MappingProblem problem = problem_of(dims, n, stencil);
    EXPECT_LE(score_of(*mapping_algorithm("auto").prepare(problem), problem).j_sum, j_sum) << stencil;
  }
  const MappingProblem large = problem_of({256, 256}, 64, "2,0;-2,0;0,2;0,-2");
  EXPECT_EQ(score_of(*lattice_strips(large, Objective::j_sum, steps_per_second / 2), large).j_sum, 30720);
}

TEST(LatticeStrips, CutNoLineThatNodesCanHoldWhole) {
  // All is sent along one direction. Lines and nodes that fill each other exactly come first, whichever is the larger.
  const struct {
    std::vector<Index> dims, nodes;
    std::string_view stencil;
    Index j_sum;
  } known[] = {
      {{10, 6}, {20, 40}, "1,0;-1,0", 0},
      {{10, 6}, {25, 35}, "1,0;-1,0", 2},          // one line of ten in halves
      {{40, 2}, {10, 30, 25, 15}, "1,0;-1,0", 4},  // each line is two nodes
      {{5, 5}, {12, 13}, "1,1;-1,-1", 0},          // diagonals of 1 to 5 cells
      {{5, 5}, {5, 4, 4, 3, 3, 2, 2, 1, 1}, "1,1", 0},
  };
  for (const auto& [dims, nodes, stencil, j_sum] : known) {
    const MappingProblem problem = problem_of(dims, nodes, stencil);
    const auto mapping = lattice_strips(problem, Objective::j_sum, 1'000'000);
    ASSERT_NE(mapping, nullptr);
    EXPECT_EQ(score_of(*mapping, problem).j_sum, j_sum) << stencil << " on nodes of " << nodes[0];
  }
}

TEST(LatticeStrips, FillEveryNodeWhateverTheStencil) {
  RandomProblems random(21);
  int made = 0;
  for (int i = 0; i < 200; ++i) {
    const MappingProblem problem = random.problem();
    SCOPED_TRACE(describe(problem));
    const auto mapping = lattice_strips(problem, Objective::j_sum, 1'000'000);
    if (mapping == nullptr) continue;
    ++made;
    std::vector<NodeId> node_of_cell(static_cast<std::size_t>(problem.grid.size()), -1);
    fill_node_of_cell(*mapping, problem.nodes, node_of_cell);
    std::vector<Index> held(static_cast<std::size_t>(problem.nodes.nodes()));
    for (const NodeId node : node_of_cell) ++held.at(static_cast<std::size_t>(node));
    for (Index node = 0; node < problem.nodes.nodes(); ++node) {
      EXPECT_EQ(held[static_cast<std::size_t>(node)], problem.nodes.size(node));
    }
  }
  EXPECT_GT(made, 20);
}

}  // namespace
}  // namespace rankwise
