#include "mapping/stencil_norm.hpp"

#include <algorithm>

namespace rankwise {

StencilNorm::StencilNorm(const Stencil& stencil, std::size_t axes)
    : axes_(std::max(axes, static_cast<std::size_t>(stencil.ndim()))), form_(axes_ * axes_) {
  std::vector<double> q(form_.size());
  for (std::size_t o = 0; o < stencil.offsets().size(); ++o) {
    const Coords& offset = stencil.offsets()[o];
    for (std::size_t i = 0; i < offset.size(); ++i) {
      for (std::size_t k = 0; k < offset.size(); ++k) {
        q[i * axes_ + k] += static_cast<double>(stencil.weights()[o] * offset[i]) * static_cast<double>(offset[k]);
      }
    }
  }
  // Along what the offsets do not span every step is far, but not without end.
  double trace = 0;
  for (std::size_t i = 0; i < axes_; ++i) trace += q[i * axes_ + i];
  const auto ndim = static_cast<std::size_t>(stencil.ndim());
  for (std::size_t i = 0; i < axes_; ++i) q[i * axes_ + i] += i < ndim ? 1e-6 * trace / static_cast<double>(ndim) : trace;
  // The inverse by Gauss and Jordan; the matrix is symmetric and positive.
  for (std::size_t i = 0; i < axes_; ++i) form_[i * axes_ + i] = 1;
  for (std::size_t i = 0; i < axes_; ++i) {
    const double pivot = q[i * axes_ + i];
    for (std::size_t k = 0; k < axes_; ++k) {
      q[i * axes_ + k] /= pivot;
      form_[i * axes_ + k] /= pivot;
    }
    for (std::size_t row = 0; row < axes_; ++row) {
      if (row == i) continue;
      const double factor = q[row * axes_ + i];
      for (std::size_t k = 0; k < axes_; ++k) {
        q[row * axes_ + k] -= factor * q[i * axes_ + k];
        form_[row * axes_ + k] -= factor * form_[i * axes_ + k];
      }
    }
  }
}

}  // namespace rankwise
