// The local work of a 3-D transform, stage by stage.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "fft/transform.hpp"
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
      transform(planes_, plane, count, count * n1_ * n2_, direction);
      store_lines(plane, x * n1_, count * n1_, store);
      lap.to(own.compute_s);
      return count;
    });
  };
  const auto columns = [this](auto* at) { return Columns<std::remove_pointer_t<decltype(at)>>{at, n1_ * n2_, 0}; };
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
    transform_first(columns(static_cast<const Value*>(array)), columns(spectrum == nullptr ? array : spectrum), direction, true,
                    ends);
  } else {
    const auto* const from = static_cast<const Value*>(ends.from);
    transform_first(columns(from == nullptr ? array : from), columns(array), direction, true, ends);
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
void Fft3d<Real>::transform(const Planned& planned, Value* data, Index count, Index values, Direction direction) const {
  if (!is_moved_only_) return planned.run(data, count, direction);
  constexpr Index step = 64 / sizeof(Value);
  for (Index i = 0; i < values; i += step) data[i] = -data[i];
}

// Blocks for the row: [axis 1][field][axis 0][points of axis 2 of the peer]; for the column of a slab: [axis 0][field][lines of
// axis 1 of the peer][axis 2].
template <typename Real>
void Fft3d<Real>::scatter_planes(bool transforms, const Ends& ends, Index chunk) {
  const Share planes_here = chunk_of(own0_, own1_ * n2_, chunk);
  const Index batches = (planes_here.count + planes_.step - 1) / planes_.step;
  const Index fields = ends.fields;
  in_units(fields * batches, fields * planes_here.count, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index field = unit / batches;
    const Ends theirs = ends.of_field(field);
    const Index x0 = planes_here.first + unit % batches * planes_.step;
    const Index count = std::min(planes_.step, planes_here.first + planes_here.count - x0);
    Value* const own_planes = data() + (field * own0_ + x0) * own1_ * n2_;
    const Value* planes = own_planes;
    if (transforms) {
      // The caller's planes are transformed at the same place every time: it stays in cache.
      Value* const place = ends.from == nullptr ? own_planes : data();
      load_lines(theirs, x0 * own1_, count * own1_, place);
      lap.to(own.shuffle_s);
      transform(planes_, place, count, count * own1_ * n2_, Direction::forward);
      planes = place;
    } else if (ends.from != nullptr) {
      planes = static_cast<const Value*>(theirs.from) + x0 * own1_ * n2_;
    }
    lap.to(own.compute_s);
    Value* block = work_.as<Value>();
    for (Index peer = 0; peer < (p2_ > 1 ? p2_ : p1_); ++peer) {
      if (p2_ > 1) {
        const Share points = share_of(n2_, p2_, peer);
        for (Index x = 0; x < count; ++x) {
          for (Index y = 0; y < own1_; ++y) {
            std::copy_n(planes + (x * own1_ + y) * n2_ + points.first, points.count,
                        block + ((y * fields + field) * own0_ + x0 + x) * points.count);
          }
        }
        block += own1_ * fields * own0_ * points.count;
      } else {
        const Share lines = share_of(n1_, p1_, peer);
        for (Index x = 0; x < count; ++x) {
          std::copy_n(planes + (x * n1_ + lines.first) * n2_, lines.count * n2_,
                      block + ((x0 + x) * fields + field) * lines.count * n2_);
        }
        block += own0_ * fields * lines.count * n2_;
      }
    }
    lap.to(own.shuffle_s);
    return count;
  });
}

template <typename Real>
void Fft3d<Real>::gather_planes(bool transforms, const Ends& ends, Index chunk) {
  const Share planes_here = chunk_of(own0_, own1_ * n2_, chunk);
  const Index batches = (planes_here.count + planes_.step - 1) / planes_.step;
  const Index fields = ends.fields;
  in_units(fields * batches, fields * planes_here.count, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index field = unit / batches;
    const Ends theirs = ends.of_field(field);
    const Index x0 = planes_here.first + unit % batches * planes_.step;
    const Index count = std::min(planes_.step, planes_here.first + planes_here.count - x0);
    Value* planes = data() + (ends.into == nullptr ? (field * own0_ + x0) * own1_ * n2_ : 0);
    if (!transforms && ends.into != nullptr) planes = static_cast<Value*>(theirs.into) + x0 * own1_ * n2_;
    const Value* block = work_.as<Value>();
    for (Index peer = 0; peer < (p2_ > 1 ? p2_ : p1_); ++peer) {
      if (p2_ > 1) {
        const Share points = share_of(n2_, p2_, peer);
        for (Index x = 0; x < count; ++x) {
          for (Index y = 0; y < own1_; ++y) {
            std::copy_n(block + ((y * fields + field) * own0_ + x0 + x) * points.count, points.count,
                        planes + (x * own1_ + y) * n2_ + points.first);
          }
        }
        block += own1_ * fields * own0_ * points.count;
      } else {
        const Share lines = share_of(n1_, p1_, peer);
        for (Index x = 0; x < count; ++x) {
          std::copy_n(block + ((x0 + x) * fields + field) * lines.count * n2_, lines.count * n2_,
                      planes + (x * n1_ + lines.first) * n2_);
        }
        block += own0_ * fields * lines.count * n2_;
      }
    }
    lap.to(own.shuffle_s);
    if (transforms) transform(planes_, planes, count, count * own1_ * n2_, Direction::backward);
    lap.to(own.compute_s);
    if (transforms) store_lines(planes, x0 * own1_, count * own1_, theirs);
    lap.to(own.shuffle_s);
    return count;
  });
}

// The array is [axis 1][field][axis 0][axis 2]; blocks for the column are [axis 0][field][lines of axis 1 of the peer][axis 2].
template <typename Real>
void Fft3d<Real>::scatter_middle(bool transforms, Index fields) {
  auto* const panel = panel_.as<Value>();
  const Index panels = (own2_ + middle_.step - 1) / middle_.step;
  const Index all = fields * own0_;
  in_units(all * panels, all * own2_, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index x = unit / panels;  // of all fields
    const Index z = unit % panels * middle_.step;
    const Index width = std::min(middle_.step, own2_ - z);
    for (Index y = 0; y < n1_; ++y) std::copy_n(data() + (y * all + x) * own2_ + z, width, panel + y * width);
    lap.to(own.shuffle_s);
    if (transforms) transform(middle_, panel, width, width * n1_, Direction::forward);
    lap.to(own.compute_s);
    Value* block = work_.as<Value>();
    for (Index peer = 0; peer < p1_; ++peer) {
      const Share lines = share_of(n1_, p1_, peer);
      const Index line = (x % own0_ * fields + x / own0_) * lines.count;
      for (Index y = 0; y < lines.count; ++y) {
        std::copy_n(panel + (lines.first + y) * width, width, block + (line + y) * own2_ + z);
      }
      block += fields * own0_ * lines.count * own2_;
    }
    lap.to(own.shuffle_s);
    return width;
  });
}

template <typename Real>
void Fft3d<Real>::gather_middle(bool transforms, Index fields) {
  auto* const panel = panel_.as<Value>();
  const Index panels = (own2_ + middle_.step - 1) / middle_.step;
  const Index all = fields * own0_;
  in_units(all * panels, all * own2_, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index x = unit / panels;  // of all fields
    const Index z = unit % panels * middle_.step;
    const Index width = std::min(middle_.step, own2_ - z);
    const Value* block = work_.as<Value>();
    for (Index peer = 0; peer < p1_; ++peer) {
      const Share lines = share_of(n1_, p1_, peer);
      const Index line = (x % own0_ * fields + x / own0_) * lines.count;
      for (Index y = 0; y < lines.count; ++y) {
        std::copy_n(block + (line + y) * own2_ + z, width, panel + (lines.first + y) * width);
      }
      block += fields * own0_ * lines.count * own2_;
    }
    lap.to(own.shuffle_s);
    if (transforms) transform(middle_, panel, width, width * n1_, Direction::backward);
    lap.to(own.compute_s);
    for (Index y = 0; y < n1_; ++y) std::copy_n(panel + y * width, width, data() + (y * all + x) * own2_ + z);
    lap.to(own.shuffle_s);
    return width;
  });
}

// Lines along axis 0, panel by panel, from one array into another or the same.
template <typename Real>
void Fft3d<Real>::transform_first(Columns<const Value> from, Columns<Value> into, Direction direction, bool transforms,
                                  const Ends& ends) {
  if (!transforms && from.at == into.at) return;
  auto* const panel = panel_.as<Value>();
  const Index columns = late1_ * own2_;
  const Index panels = (columns + first_.step - 1) / first_.step;
  in_units(ends.fields * panels, ends.fields * columns, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index field = unit / panels;
    const Index c = unit % panels * first_.step;
    const Index width = std::min(first_.step, columns - c);
    const Value* const source = from.at + field * from.step + c;
    for (Index x = 0; x < n0_; ++x) std::copy_n(source + x * from.row, width, panel + x * width);
    lap.to(own.shuffle_s);
    if (transforms) transform(first_, panel, width, width * n0_, direction);
    lap.to(own.compute_s);
    Value* const target = into.at + field * into.step + c;
    for (Index x = 0; x < n0_; ++x) copy_scaled(panel + x * width, width, target + x * into.row, ends.scale);
    lap.to(own.shuffle_s);
    return width;
  });
}

#define RANKWISE_INSTANTIATE(Real)                                            \
  template void Fft3d<Real>::run_alone(Direction, const Ends&);               \
  template void Fft3d<Real>::scatter_planes(bool, const Ends&, Index);        \
  template void Fft3d<Real>::gather_planes(bool, const Ends&, Index);         \
  template void Fft3d<Real>::scatter_middle(bool, Index);                     \
  template void Fft3d<Real>::gather_middle(bool, Index);                      \
  template void Fft3d<Real>::run_field_alone(Direction, const Ends&, Value*); \
  template void Fft3d<Real>::transform_first(Columns<const Value>, Columns<Value>, Direction, bool, const Ends&);
RANKWISE_INSTANTIATE(double)
RANKWISE_INSTANTIATE(float)
#undef RANKWISE_INSTANTIATE

}  // namespace rankwise
