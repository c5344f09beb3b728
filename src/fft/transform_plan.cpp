// Which plans of the local library a 3-D transform takes.
#include <algorithm>
#include <limits>

#include "fft/transform.hpp"

namespace rankwise {

namespace {

// What is transformed at a time should stay in the cache of a core.
constexpr std::size_t in_cache_bytes = std::size_t{192} << 10;

// Larger planes take less time where they lie, and to be copied then, than from one memory into another.
constexpr std::size_t most_apart_bytes = std::size_t{768} << 10;

}  // namespace

Index whole_panel(Index points, Index columns, std::size_t value_bytes, std::size_t array_bytes) {
  const std::size_t most_bytes = std::min(in_cache_bytes, array_bytes / 8);
  const auto fits = static_cast<Index>(most_bytes / (static_cast<std::size_t>(points) * value_bytes));
  return std::clamp<Index>(fits, 1, std::clamp<Index>(columns, 1, most_columns));
}

Index planes_at_a_time(Index planes, Index plane, std::size_t value_bytes, Index chunks) {
  if (plane == 0) return 1;
  const auto fits = static_cast<Index>(in_cache_bytes / (static_cast<std::size_t>(plane) * value_bytes));
  return std::clamp<Index>(fits, 1, std::max<Index>(1, planes / chunks));
}

template <typename Real>
void Fft3d<Real>::Planned::run(const Value* from, Value* into, Index count, Direction direction) const {
  const auto which = static_cast<std::size_t>(direction);
  if (const auto& fft = count == step ? whole[which] : rest[which]) fft->run(from, into);  // none where planes have no points
}

template <typename Real>
void Fft3d<Real>::plan(const FftLibrary& library) {
  planes_ = plan_planes(library, nullptr);
  const SharedTurns* const turns = p2_ > 1 ? row_turns_.get() : column_turns_.get();
  const bool is_small = static_cast<std::size_t>(own1_ * n2_) * sizeof(Value) <= most_apart_bytes;
  if (turns != nullptr && is_small && !spec_.decomposition.real)
    apart_ = plan_planes(library, reinterpret_cast<Value*>(turns->own()));
  if (p2_ > 1) middle_ = plan_panels(library, n1_, own2_);
  first_ = plan_panels(library, n0_, late1_ * own2_);
  if (p1_ * p2_ == 1 && spec_.planning != Planning::estimate) plan_all(library);
}

// The library's own transform of all axes, kept where it proves faster than planes and panels.
template <typename Real>
void Fft3d<Real>::plan_all(const FftLibrary& library) {
  const auto& n = spec_.decomposition.n;
  const LocalBatch batch{
      {static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2])}, 1, 1, 1, spec_.decomposition.real};
  for (const Direction d : {Direction::forward, Direction::backward}) {
    auto all = library.plan<Real>(batch, d, spec_.planning, data());
    std::fill_n(data(), array_.bytes() / sizeof(Value), Value{});
    double pieces_s = std::numeric_limits<double>::max();
    double all_s = pieces_s;
    constexpr int tries = 4;  // the first warms up; the quickest counts, whoever disturbs the others
    for (int i = 0; i < tries; ++i) {
      const double start_s = MPI_Wtime();
      run_field_alone(d, {.fields = 1}, data());
      const double middle_s = MPI_Wtime();
      all->run(data());
      pieces_s = std::min(pieces_s, middle_s - start_s);
      all_s = std::min(all_s, MPI_Wtime() - middle_s);
    }
    if (all_s < pieces_s) all_[static_cast<int>(d)] = std::move(all);
  }
}

// Planes of the natural order (fixed point of axis 0): lines along axis 2, or both axes where axis 1 is whole, too.
template <typename Real>
typename Fft3d<Real>::Planned Fft3d<Real>::plan_planes(const FftLibrary& library, Value* into) {
  Planned planned;
  const Index plane = own1_ * n2_;
  if (own0_ * plane == 0) return planned;
  planned.step = planes_at_a_time(own0_, plane, sizeof(Value), is_sliced() ? spec_.chunks : 1);
  const auto make = [&](Index planes, Direction direction) {
    const auto points = static_cast<int>(spec_.decomposition.n[2]);
    LocalBatch batch{{points}, static_cast<int>(planes * own1_), 1, static_cast<int>(n2_), spec_.decomposition.real};
    if (p2_ == 1) batch = {{static_cast<int>(n1_), points}, static_cast<int>(planes), 1, static_cast<int>(plane), batch.real};
    return library.plan<Real>(batch, direction, spec_.planning, data(), into);
  };
  for (const Direction d : {Direction::forward, Direction::backward}) {
    const auto which = static_cast<std::size_t>(d);
    planned.whole[which] = make(planned.step, d);
    if (own0_ % planned.step != 0) planned.rest[which] = make(own0_ % planned.step, d);
  }
  return planned;
}

// Panels: lines of `points`, so many columns of them that they fit in cache, in memory of their own.
template <typename Real>
typename Fft3d<Real>::Planned Fft3d<Real>::plan_panels(const FftLibrary& library, Index points, Index columns) {
  Planned planned;
  planned.step = whole_panel(points, columns, sizeof(Value), field_bytes());
  if (columns == 0) return planned;
  const auto make = [&](Index width, Direction direction) {
    const auto stride = static_cast<int>(width);
    return library.plan<Real>({{static_cast<int>(points)}, stride, stride, 1}, direction, spec_.planning, panel_.as<Value>());
  };
  for (const Direction d : {Direction::forward, Direction::backward}) {
    const auto which = static_cast<std::size_t>(d);
    planned.whole[which] = make(planned.step, d);
    if (columns % planned.step != 0) planned.rest[which] = make(columns % planned.step, d);
  }
  return planned;
}

#define RANKWISE_INSTANTIATE(Real)                                                       \
  template void Fft3d<Real>::Planned::run(const Value*, Value*, Index, Direction) const; \
  template void Fft3d<Real>::plan(const FftLibrary&);
RANKWISE_INSTANTIATE(double)
RANKWISE_INSTANTIATE(float)
#undef RANKWISE_INSTANTIATE

}  // namespace rankwise
