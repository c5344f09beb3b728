#include <utility>

#include "schedule/schedule.hpp"

namespace rankwise {

namespace {

std::vector<Index> layers(const std::vector<int>& cutoff) {
  if (cutoff.empty()) invalid("the cutoff has no axis: give the number of layers an axis");
  for (const int k : cutoff) {
    if (k < 1) invalid("cutoff " + std::to_string(k) + " is below 1: give at least one layer");
  }
  return {cutoff.begin(), cutoff.end()};
}

}  // namespace

Window::Window(const std::vector<int>& cutoff, Shell shell)
    : Window(shell == Shell::eighth ? std::vector<Index>(cutoff.size(), 0) : layers(cutoff), layers(cutoff), shell) {}

Window Window::all_pairs(const Grid& grid) {
  std::vector<Index> upper = grid.dims();
  for (Index& size : upper) --size;
  return {std::vector<Index>(upper.size(), 0), upper, Shell::all_pairs};
}

Window::Window(std::vector<Index> lower, std::vector<Index> upper, Shell shell)
    : lower_(std::move(lower)), upper_(std::move(upper)), shell_(shell) {
  constexpr Index limit = Index{1} << 40;
  for (std::size_t i = 0; i < lower_.size(); ++i) {
    const Index width = lower_[i] + upper_[i] + 1;
    if (slots_ > limit / width) invalid("the window has more than 2^40 slots: make the cutoff smaller");
    slots_ *= width;
    centre_ = centre_ * width + lower_[i];
  }
}

Index Window::slot(const Coords& offset) const {
  Index slot = 0;
  for (std::size_t i = 0; i < lower_.size(); ++i) slot = slot * (lower_[i] + upper_[i] + 1) + offset[i] + lower_[i];
  return slot;
}

Coords Window::offset(Index slot) const {
  Coords offset(lower_.size());
  for (std::size_t i = lower_.size(); i-- > 0;) {
    const Index width = lower_[i] + upper_[i] + 1;
    offset[i] = slot % width - lower_[i];
    slot /= width;
  }
  return offset;
}

}  // namespace rankwise
