// Stencils whose offsets do not generate the grid along its axes: only even offsets, diagonals, skew ones.
//
// The offsets span a sublattice of the grid. Cells of different cosets of it never talk, and within a coset strips run well
// along its short vectors, not along the axes.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "grid/grid.hpp"
#include "mapping/mapping.hpp"

namespace rankwise {

// A basis of the lattice that some vectors span.
class Lattice {
 public:
  // echelon: in row echelon form (Hermite), pivots positive. Reduced: short under the stencil's own norm (StencilNorm).
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

// Groups of cells that talk to each other, directly or through others.

// The group of each cell, numbered by one of its cells. Each offset joins a cell with the one next to it, so that of two
// opposite ones either will do.
[[nodiscard]] std::vector<Index> groups_of(const Grid& grid, std::span<const Coords> offsets);

// How far a step is for a stencil: x^T Q^-1 x with Q = sum of weight * o o^T. What is short by it the stencil itself reaches; a
// shape that is round by it sends little.

class StencilNorm {
 public:
  // axes: of the vectors that it will be asked for; 0: the stencil's. Where they have more, the further ones mean nothing.
  explicit StencilNorm(const Stencil& stencil, std::size_t axes = 0);

  template <typename Vector>
  [[nodiscard]] double product(const Vector& a, const Vector& b) const {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t k = 0; k < a.size(); ++k) sum += form_[i * axes_ + k] * static_cast<double>(a[i] * b[k]);
    }
    return sum;
  }
  template <typename Vector>
  [[nodiscard]] double of(const Vector& a) const {
    return product(a, a);
  }

  // Shortens each vector by the others until none becomes shorter (in the plane that is Lagrange's reduction). shortened(i, k,
  // times): vector i has lost so many times vector k.
  template <typename Vectors, typename Shortened>
  void shorten(Vectors& vectors, Shortened shortened) const {
    for (bool shorter = true; shorter;) {
      shorter = false;
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        for (std::size_t k = 0; k < vectors.size(); ++k) {
          if (i == k) continue;
          const double wanted = std::nearbyint(product(vectors[i], vectors[k]) / of(vectors[k]));
          if (wanted == 0 || std::abs(wanted) > 1e9) continue;
          const auto times = static_cast<Index>(wanted);
          auto less = vectors[i];
          for (std::size_t axis = 0; axis < less.size(); ++axis) less[axis] -= times * vectors[k][axis];
          if (of(less) >= of(vectors[i]) * (1 - 1e-9)) continue;
          vectors[i] = less;
          shortened(i, k, times);
          shorter = true;
        }
      }
    }
  }

 private:
  std::size_t axes_;
  std::vector<double> form_;
};

// Nodes of one shape side by side, as a honeycomb or a brick wall is laid.

// Paves a grid of two or three axes with nodes of one shape. The shape holds one cell of each class of a lattice of as many
// classes as most nodes have ranks, so that its copies, shifted by the lattice, fill the plane: of many such lattices and the
// shapes that a search finds for each, that which sends least. What the border cuts off is divided as any graph.
// About most_work steps. No map (null) where the grid has fewer or more axes, the stencil leaves out cells, the border cuts
// off more than a fifth, fewer than half of the nodes would be whole, or the work is not enough.
std::unique_ptr<Mapping> paved(const MappingProblem& problem, Index most_work);

// Halves of a grid, again and again, between planes where little crosses: a start where tubes are poor, as along more than
// three axes that are not alike.

// Halves the nodes and the cells that they hold: across the axis along which least is sent through a plane of the box around
// these cells, the last plane being divided by the next best axis. Takes O(cells * axes * log(nodes)) time.
std::unique_ptr<Mapping> halved_by_planes(const MappingProblem& problem);

// Groups of nodes that follow each other, and the cells that they hold.
struct GridGroups {
  std::vector<NodeId> of_cell;
  std::vector<NodeId> first_nodes;  // of each group, and how many nodes there are
};
// Halved so often only: 2^times groups, or as many as there are nodes.
GridGroups grouped_by_planes(const MappingProblem& problem, int times);

}  // namespace rankwise
