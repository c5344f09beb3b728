// What the algorithms that go axis by axis share: which slots travel along an axis, and between which ranks.
#pragma once

#include "schedule/schedule.hpp"

namespace rankwise {

class Axis {
 public:
  // The part of a rank on one axis. Axes are done from the last to the first, so that what travels is consecutive
  // slots (but for open borders).
  Axis(const ExchangeSpec& spec, Index rank, int axis)
      : spec_(spec), axis_(axis), coords_(spec.grid.coords(rank)), own_(coords_[static_cast<std::size_t>(axis)]) {}

  [[nodiscard]] Index own() const { return own_; }
  [[nodiscard]] Index length() const { return spec_.grid.dim(axis_); }
  [[nodiscard]] bool periodic() const { return spec_.grid.periodic(axis_); }
  [[nodiscard]] Index lower() const { return spec_.window.lower(axis_); }
  [[nodiscard]] Index upper() const { return spec_.window.upper(axis_); }
  // The coordinate at an offset; -1 beyond an open border.
  [[nodiscard]] Index at(Index offset) const { return spec_.grid.shifted(axis_, own_, offset); }
  [[nodiscard]] Index rank_at(Index coordinate) const;
  // The slots at offset o on this axis: on later axes all offsets gathered so far (those inside an open border), 0 on
  // earlier ones. Ranks of one line along the axis mean the same shape.
  [[nodiscard]] std::vector<SlotRange> slab(Index o) const;

 private:
  void add_box(int axis, Coords& offset, std::vector<SlotRange>& ranges) const;

  const ExchangeSpec& spec_;
  int axis_;
  Coords coords_;
  Index own_;
};

}  // namespace rankwise
