// How far a step is for a stencil: x^T Q^-1 x with Q = sum of weight * o o^T. What is short by it the stencil itself reaches; a
// shape that is round by it sends little.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "grid/stencil.hpp"

namespace rankwise {

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

  // Shortens each vector by the others until none becomes shorter (in the plane that is Lagrange's reduction). told(i, k,
  // times): vector i has lost so many times vector k.
  template <typename Vectors, typename Told>
  void shorten(Vectors& vectors, Told told) const {
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
          told(i, k, times);
          shorter = true;
        }
      }
    }
  }

 private:
  std::size_t axes_;
  std::vector<double> form_;
};

}  // namespace rankwise
