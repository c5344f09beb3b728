// The local work of a 3-D transform, stage by stage.
#include <algorithm>
#include <cstdint>

#include "fft/transform.hpp"
#include "fft/upcoming.hpp"
#include "mpi/error.hpp"

namespace rankwise {

namespace {

template <typename Value>
void copy_scaled(const Value* from, Index count, Value* into, double scale) {
  if (scale == 1.0) {
    std::copy_n(from, count, into);
    return;
  }
  const auto factor = static_cast<typename Value::value_type>(scale);
  std::transform(from, from + count, into, [factor](const Value& value) { return value * factor; });
}

}  // namespace

// Adds the time since the last mark to a phase.
template <typename Real>
class Fft3d<Real>::Lap {
 public:
  void to(double& phase_s) {
    const double now_s = MPI_Wtime();
    phase_s += now_s - last_s_;
    last_s_ = now_s;
  }

 private:
  double last_s_ = MPI_Wtime();
};

template <typename Real>
void Fft3d<Real>::load_lines(const Ends& ends, Index first, Index count, Value* into) const {
  if (ends.from == nullptr) return;
  if (!spec_.decomposition.real) {
    std::copy_n(static_cast<const Value*>(ends.from) + first * n2_, count * n2_, into);
    return;
  }
  const auto* from = static_cast<const Real*>(ends.from) + first * ends.line;
  for (Index i = 0; i < count; ++i) {
    std::copy_n(from + i * ends.line, spec_.decomposition.n[2], reinterpret_cast<Real*>(into + i * n2_));
  }
}

template <typename Real>
void Fft3d<Real>::store_lines(const Value* from, Index first, Index count, const Ends& ends) const {
  if (ends.into == nullptr) return;
  if (!spec_.decomposition.real) {
    std::copy_n(from, count * n2_, static_cast<Value*>(ends.into) + first * n2_);
    return;
  }
  auto* const into = static_cast<Real*>(ends.into) + first * ends.line;
  for (Index i = 0; i < count; ++i) {
    std::copy_n(reinterpret_cast<const Real*>(from + i * n2_), spec_.decomposition.n[2], into + i * ends.line);
  }
}

template <typename Real>
void Fft3d<Real>::run_alone(Direction direction, const Ends& ends) {
  for (Index field = 0; field < ends.fields; ++field) {
    run_field_alone(direction, ends.of_field(field), data() + field * n0_ * n1_ * n2_);
  }
  // All of it is the local FFT, whichever way proved faster: the two are to be comparable.
  phases_ = {phases_.compute_s + phases_.shuffle_s, 0.0, 0.0};
}

template <typename Real>
void Fft3d<Real>::run_field_alone(Direction direction, const Ends& ends, Value* array) {
  const auto planes = [&](const Ends& load, const Ends& store) {
    in_units((n0_ + planes_.step - 1) / planes_.step, n0_, [&](Index unit, PhaseTimes& own) {
      Lap lap;
      const Index x = unit * planes_.step;
      const Index count = std::min(planes_.step, n0_ - x);
      Value* const plane = array + x * n1_ * n2_;
      load_lines(load, x * n1_, count * n1_, plane);
      transform(planes_, plane, plane, count, count * n1_ * n2_, direction);
      store_lines(plane, x * n1_, count * n1_, store);
      lap.to(own.compute_s);
      return count;
    });
  };
  const bool is_forward = direction == Direction::forward;
  auto* const spectrum = static_cast<Value*>(ends.into);
  if (const auto& all = all_[static_cast<int>(direction)]) {
    Lap lap;
    const Index values = n0_ * n1_ * n2_;
    if (is_forward) load_lines(ends, 0, n0_ * n1_, array);
    if (!is_forward && ends.from != nullptr) std::copy_n(static_cast<const Value*>(ends.from), values, array);
    all->run(array);
    const bool is_there = !is_forward || spectrum == nullptr;
    if (!is_there || ends.scale != 1.0) copy_scaled(array, values, is_there ? array : spectrum, ends.scale);
    if (!is_forward) store_lines(array, 0, n0_ * n1_, ends);
    lap.to(phases_.compute_s);
  } else if (is_forward) {
    planes(ends, {});
    transform_first({columns<const Value>(array, 1)}, {columns(spectrum == nullptr ? array : spectrum, 1)}, direction, ends);
  } else {
    const auto* const from = static_cast<const Value*>(ends.from);
    transform_first({columns(from == nullptr ? array : from, 1)}, {columns(array, 1)}, direction, ends);
    planes({}, ends);
  }
}

template <typename Real>
template <class Work>
void Fft3d<Real>::in_units(Index units, Index total, Work work) {
  PhaseTimes own;
  Index done = 0;
  if (share_bytes_ == 0) {
    for (Index unit = 0; unit < units; ++unit) {
      done += work(unit, own);
      if (is_sliced() || spec_.by_turns) progress();
    }
  } else {
    done = in_some_units(units, own, work);
  }
  const double factor = done > 0 ? static_cast<double>(total) / static_cast<double>(done) : 0.0;
  phases_.compute_s += factor * own.compute_s;
  phases_.shuffle_s += factor * own.shuffle_s;
}

// Four runs of neighbours count, the first at the start and the last at the end, all ranks at once. The other units move their
// values without being transformed and uncounted: what counts then finds caches and memory as in a whole run.
template <typename Real>
template <class Work>
Index Fft3d<Real>::in_some_units(Index units, PhaseTimes& own, Work work) {
  constexpr Index runs = 4;
  Index length = (units + runs - 1) / runs;
  const std::size_t unit_bytes = std::max<std::size_t>(1, array_.bytes() / static_cast<std::size_t>(std::max<Index>(1, units)));
  length = std::min(length, (std::max(runs, static_cast<Index>(share_bytes_ / unit_bytes)) + runs - 1) / runs);
  PhaseTimes uncounted;
  Index next = 0;
  Index done = 0;
  for (Index run = 0; run < runs; ++run) {
    const Index first = std::max(next, run * (units - length) / (runs - 1));
    for (; next < first; ++next) {
      is_moved_only_ = next + 1 < first;  // the last of them warms up
      static_cast<void>(work(next, uncounted));
    }
    is_moved_only_ = false;
    mpi(MPI_Barrier(comm_));
    for (; next < std::min(units, first + length); ++next) done += work(next, own);
  }
  return done;
}

// FFTs of planes or of a panel; of units that are only moved, a write to every line of memory.
template <typename Real>
void Fft3d<Real>::transform(const Planned& planned, const Value* from, Value* into, Index count, Index values,
                            Direction direction) const {
  if (!is_moved_only_) return planned.run(from, into, count, direction);
  if (from != into) {
    std::copy_n(from, values, into);
    return;
  }
  constexpr Index step = 64 / sizeof(Value);
  for (Index i = 0; i < values; i += step) into[i] = -into[i];
}

template <typename Real>
bool Fft3d<Real>::is_straight(const void* memory) const {
  return apart_.whole[0] != nullptr && reinterpret_cast<std::uintptr_t>(memory) % sizeof(Value) == 0;
}

template <typename Real>
template <class Values, class Run>
void Fft3d<Real>::each_run(const Piece<Values>& piece, Index field, Share planes, Run run) const {
  Values* const at = piece.at + field * piece.field + planes.first * piece.x;
  const auto [first, part] = piece.share;
  for (Index x = 0; x < planes.count; ++x) {
    if (p2_ == 1) {  // so many lines
      run(at + x * piece.x, (x * n1_ + first) * n2_, part * n2_);
      continue;
    }
    for (Index y = 0; y < own1_; ++y) run(at + x * piece.x + y * piece.y, (x * own1_ + y) * n2_ + first, part);
  }
}

template <typename Real>
void Fft3d<Real>::scatter_planes(bool transforms, const Ends& ends, const Between& next, Index chunk) {
  const Share planes_here = chunk_of(own0_, own1_ * n2_, chunk);
  const Index batches = (planes_here.count + planes_.step - 1) / planes_.step;
  const bool are_real = transforms && spec_.decomposition.real;  // on the caller's side
  const auto pieces = next.to_write();
  in_units(ends.fields * batches, ends.fields * planes_here.count, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index field = unit / batches;
    const Ends theirs = ends.of_field(field);
    const Index x0 = planes_here.first + unit % batches * planes_.step;
    const Index count = std::min(planes_.step, planes_here.first + planes_here.count - x0);
    const Index plane = own1_ * n2_;
    Value* const own_planes = data() + (field * own0_ + x0) * plane;
    const Value* planes = ends.from == nullptr ? own_planes : nullptr;
    if (ends.from != nullptr && !are_real) planes = static_cast<const Value*>(theirs.from) + x0 * plane;
    if (transforms && planes != nullptr && is_straight(planes)) {
      transform(apart_, planes, pieces[0].at + field * pieces[0].field + x0 * plane, count, count * plane, Direction::forward);
      lap.to(own.compute_s);
      return count;
    }
    if (transforms) {
      // The caller's planes are transformed at the same place every time: it stays in cache.
      Value* const place = ends.from == nullptr ? own_planes : data();
      load_lines(theirs, x0 * own1_, count * own1_, place);
      lap.to(own.shuffle_s);
      transform(planes_, place, place, count, count * plane, Direction::forward);
      lap.to(own.compute_s);
      planes = place;
    }
    for (const auto& piece : pieces) {
      each_run(piece, field, {x0, count},
               [planes](Value* at, Index place, Index values) { std::copy_n(planes + place, values, at); });
    }
    lap.to(own.shuffle_s);
    return count;
  });
}

template <typename Real>
void Fft3d<Real>::gather_planes(bool transforms, const Ends& ends, const Between& before, Index chunk) {
  const Share planes_here = chunk_of(own0_, own1_ * n2_, chunk);
  const Index batches = (planes_here.count + planes_.step - 1) / planes_.step;
  const bool are_real = transforms && spec_.decomposition.real;  // on the caller's side
  const auto pieces = before.to_read();
  const Index runs = ends.fields * planes_here.count * (p2_ == 1 ? 1 : own1_) * static_cast<Index>(pieces.size());
  Upcoming upcoming(transforms ? ends.next : nullptr, array_.bytes(), runs);
  in_units(ends.fields * batches, ends.fields * planes_here.count, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index field = unit / batches;
    const Ends theirs = ends.of_field(field);
    const Index x0 = planes_here.first + unit % batches * planes_.step;
    const Index count = std::min(planes_.step, planes_here.first + planes_here.count - x0);
    const Index plane = own1_ * n2_;
    Value* target = nullptr;  // the caller's, where its planes are as ours
    if (ends.into != nullptr && !are_real) target = static_cast<Value*>(theirs.into) + x0 * plane;
    Value* planes = data() + (ends.into == nullptr ? (field * own0_ + x0) * plane : 0);
    if (!transforms && target != nullptr) planes = target;
    for (const auto& piece : pieces) {
      each_run(piece, field, {x0, count}, [&](const Value* at, Index place, Index values) {
        upcoming.some();
        std::copy_n(at, values, planes + place);
      });
    }
    lap.to(own.shuffle_s);
    if (!transforms) return count;
    const bool goes_straight = target != nullptr && is_straight(target);
    transform(goes_straight ? apart_ : planes_, planes, goes_straight ? target : planes, count, count * plane,
              Direction::backward);
    lap.to(own.compute_s);
    if (!goes_straight) store_lines(planes, x0 * own1_, count * own1_, theirs);
    lap.to(own.shuffle_s);
    return count;
  });
}

// Lines along axis 1, panel by panel.
template <typename Real>
void Fft3d<Real>::transform_middle(bool transforms, Direction direction, Index fields, const Between& before,
                                   const Between& next) {
  auto* const panel = panel_.as<Value>();
  const Index panels = (own2_ + middle_.step - 1) / middle_.step;
  const Index all = fields * own0_;
  const auto from = before.to_read();
  const auto into = next.to_write();
  in_units(all * panels, all * own2_, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index field = unit / panels / own0_;
    const Index x = unit / panels % own0_;
    const Index z = unit % panels * middle_.step;
    const Index width = std::min(middle_.step, own2_ - z);
    const auto lines = [&](const auto& piece, const auto& copy) {
      auto* const at = piece.at + field * piece.field + x * piece.x + z;
      for (Index y = 0; y < piece.share.count; ++y) copy(at + y * piece.y, panel + (piece.share.first + y) * width);
    };
    for (const auto& piece : from) {
      lines(piece, [width](const Value* at, Value* line) { std::copy_n(at, width, line); });
    }
    lap.to(own.shuffle_s);
    if (transforms) transform(middle_, panel, panel, width, width * n1_, direction);
    lap.to(own.compute_s);
    for (const auto& piece : into) {
      lines(piece, [width](Value* at, const Value* line) { std::copy_n(line, width, at); });
    }
    lap.to(own.shuffle_s);
    return width;
  });
}

template <typename Real>
template <class Values>
auto Fft3d<Real>::columns(Values* at, Index fields, std::size_t stride) const -> Piece<Values> {
  const Index step = late1_ * own2_;
  return {at, {0, n0_}, stride == 0 ? step : static_cast<Index>(stride / sizeof(Value)), fields * step, own2_};
}

// Lines along axis 0, panel by panel.
template <typename Real>
void Fft3d<Real>::transform_first(const std::vector<Piece<const Value>>& from, const std::vector<Piece<Value>>& into,
                                  Direction direction, const Ends& ends) {
  auto* const panel = panel_.as<Value>();
  const Index columns = late1_ * own2_;
  const Index panels = (columns + first_.step - 1) / first_.step;
  Upcoming upcoming(direction == Direction::forward ? ends.next : nullptr, array_.bytes(), ends.fields * panels * n0_);
  in_units(ends.fields * panels, ends.fields * columns, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index field = unit / panels;
    const Index c = unit % panels * first_.step;
    const Index width = std::min(first_.step, columns - c);
    for (const auto& piece : from) {
      const Value* const at = piece.at + field * piece.field + c;
      Value* const rows = panel + piece.share.first * width;
      for (Index x = 0; x < piece.share.count; ++x) std::copy_n(at + x * piece.x, width, rows + x * width);
    }
    lap.to(own.shuffle_s);
    transform(first_, panel, panel, width, width * n0_, direction);
    lap.to(own.compute_s);
    for (const auto& piece : into) {
      Value* const at = piece.at + field * piece.field + c;
      const Value* const rows = panel + piece.share.first * width;
      for (Index x = 0; x < piece.share.count; ++x) {
        copy_scaled(rows + x * width, width, at + x * piece.x, ends.scale);
        upcoming.some();
      }
    }
    lap.to(own.shuffle_s);
    return width;
  });
}

#define RANKWISE_INSTANTIATE(Real)                                                                                     \
  template void Fft3d<Real>::run_alone(Direction, const Ends&);                                                        \
  template void Fft3d<Real>::scatter_planes(bool, const Ends&, const Between&, Index);                                 \
  template void Fft3d<Real>::gather_planes(bool, const Ends&, const Between&, Index);                                  \
  template void Fft3d<Real>::transform_middle(bool, Direction, Index, const Between&, const Between&);                 \
  template void Fft3d<Real>::run_field_alone(Direction, const Ends&, Value*);                                          \
  template auto Fft3d<Real>::columns(Value*, Index, std::size_t) const -> Piece<Value>;                                \
  template auto Fft3d<Real>::columns(const Value*, Index, std::size_t) const -> Piece<const Value>;                    \
  template void Fft3d<Real>::transform_first(const std::vector<Piece<const Value>>&, const std::vector<Piece<Value>>&, \
                                             Direction, const Ends&);
RANKWISE_INSTANTIATE(double)
RANKWISE_INSTANTIATE(float)
#undef RANKWISE_INSTANTIATE

}  // namespace rankwise
