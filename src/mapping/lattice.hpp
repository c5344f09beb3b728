// Stencils whose offsets do not generate the grid along its axes: only even offsets, diagonals, skew ones.
//
// The offsets span a sublattice of the grid. Cells of different cosets of it never talk, and within a coset strips run well
// along its short vectors, not along the axes.
#pragma once

#include <memory>
#include <vector>

#include "mapping/mapping.hpp"

namespace rankwise {

// The quotient rounded down; b > 0.
[[nodiscard]] constexpr Index floor_div(Index a, Index b) { return a / b - (a % b < 0 ? 1 : 0); }

// A basis of the lattice that some vectors span.
class Lattice {
 public:
  // echelon: in row echelon form (Hermite), pivots positive. Reduced: short under the stencil's own norm (stencil_norm.hpp).
  explicit Lattice(const Stencil& stencil);

  [[nodiscard]] std::size_t rank() const { return echelon_.size(); }
  [[nodiscard]] const std::vector<Coords>& basis() const { return basis_; }
  // Whether the basis is the axes', one step along each: the whole grid as it is.
  [[nodiscard]] bool is_along_axes() const;
  // Whether it is all of the grid's cells.
  [[nodiscard]] bool is_whole() const;
  // Turns a cell's coordinates into its coset's representative, and gives its coordinates in the reduced basis.
  void reduce(Coords& cell, Coords& place) const;

 private:
  std::vector<Coords> echelon_;
  std::vector<std::size_t> pivots_;
  std::vector<Coords> basis_;
  std::vector<Coords> change_;  // place = (place by echelon) * change
};

// An order of groups of these sizes in which as many nodes of n as may be hold whole groups or whole remainders of groups:
// those of whole nodes first, then the largest remainder left with the fewest others that fill up a node exactly (a
// bounded subset sum), at last what fits nowhere.
std::vector<std::size_t> packed(const std::vector<Index>& sizes, Index n);

// The best map of strips and tubes along the reduced basis, coset by coset: for each direction and many widths all cells
// are dealt out and scored. About most_work cells and edges are looked at. No map (null) where the basis is along the
// axes, for tubes do better there, or where not even one fits most_work.
std::unique_ptr<Mapping> lattice_strips(const MappingProblem& problem, Objective objective, Index most_work);

}  // namespace rankwise
