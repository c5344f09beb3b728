#include "fft/transform.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "fft/memory.hpp"
#include "mpi/error.hpp"

namespace rankwise {

namespace {

// What is transformed at a time should stay in the cache of a core.
constexpr std::size_t in_cache_bytes = std::size_t{192} << 10;
constexpr Index most_columns = 64;

int comm_rank(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

const Decomposition& checked(MPI_Comm comm, const FftSpec& spec, std::size_t value_bytes) {
  const Decomposition& decomposition = spec.decomposition;
  int size = 1;
  MPI_Comm_size(comm, &size);
  check(decomposition, spec.may_idle);
  if (decomposition.ranks() != size) {
    invalid("the process grid " + std::to_string(decomposition.grid[0]) + "x" + std::to_string(decomposition.grid[1]) +
            " needs " + std::to_string(decomposition.ranks()) + " ranks but " + std::to_string(size) +
            " run: make them equal");
  }
  require_memory(comm, decomposition, value_bytes);
  return decomposition;
}

// How many columns of so many points make a panel, beside an array of array_bytes: it is small against that, too.
Index whole_panel(Index points, Index columns, std::size_t value_bytes, std::size_t array_bytes) {
  const std::size_t most_bytes = std::min(in_cache_bytes, array_bytes / 8);
  const auto fits = static_cast<Index>(most_bytes / (static_cast<std::size_t>(points) * value_bytes));
  return std::clamp<Index>(fits, 1, std::clamp<Index>(columns, 1, most_columns));
}

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
void Fft3d<Real>::Planned::run(Value* data, Index count, Direction direction) const {
  const auto which = static_cast<std::size_t>(direction);
  if (const auto& fft = count == step ? whole[which] : rest[which]) fft->run(data);  // none where planes have no points
}

template <typename Real>
Fft3d<Real>::Fft3d(MPI_Comm comm, const FftSpec& spec, const FftLibrary& library)
    : spec_(spec),
      comm_(comm),
      rank_(comm_rank(comm)),
      p1_(spec.decomposition.grid[0]),
      p2_(spec.decomposition.grid[1]),
      n0_(spec.decomposition.n[0]),
      n1_(spec.decomposition.n[1]),
      n2_(spec.decomposition.complex_points()),
      array_(static_cast<std::size_t>(checked(comm, spec, sizeof(Value)).local_values(rank_)) * sizeof(Value), std::nothrow),
      work_(p1_ * p2_ == 1 ? 0 : array_.bytes(), std::nothrow),
      panel_(sizeof(Value) * static_cast<std::size_t>(std::max(
                                 n0_ * whole_panel(n0_, most_columns, sizeof(Value), array_.bytes()),
                                 n1_ * whole_panel(n1_, most_columns, sizeof(Value), array_.bytes()))),
             std::nothrow) {
  if (!by_all(comm, array_.is_there() && work_.is_there() && panel_.is_there())) throw std::bad_alloc();
  const Box natural = spec_.decomposition.natural(rank_);
  const Box transposed = spec_.decomposition.transposed(rank_);
  own0_ = natural[0].count;
  own1_ = natural[1].count;
  own2_ = transposed[2].count;
  late1_ = transposed[1].count;
  if (p1_ * p2_ > 1) {
    MPI_Comm_split(comm, static_cast<int>(rank_ / p2_), rank_, &row_);
    MPI_Comm_split(comm, static_cast<int>(rank_ % p2_), rank_, &column_);
    connect();
  }
  // What one rank has found out by measuring serves the others. Who cannot plan takes part all the same, so that nobody
  // waits for it.
  std::string failed;
  const auto try_to_plan = [&] {
    try {
      plan(library);
    } catch (const FftUnavailable& error) {
      failed = error.what();
    }
  };
  std::string wisdom;
  if (rank_ == 0) try_to_plan();
  if (rank_ == 0) wisdom = library.wisdom<Real>();
  int length = static_cast<int>(wisdom.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, comm);
  wisdom.resize(static_cast<std::size_t>(length));
  MPI_Bcast(wisdom.data(), length, MPI_CHAR, 0, comm);
  if (rank_ != 0) {
    library.take_wisdom<Real>(wisdom);
    try_to_plan();
  }
  if (by_all(comm, failed.empty())) return;
  close();
  throw FftUnavailable(failed.empty() ? "another rank cannot plan a transform with " + library.name() : failed);
}

template <typename Real>
Fft3d<Real>::~Fft3d() {
  close();
}

template <typename Real>
void Fft3d<Real>::close() {
  row_forward_.reset();
  row_backward_.reset();
  column_forward_.reset();
  column_backward_.reset();
  if (row_ != MPI_COMM_NULL) MPI_Comm_free(&row_);
  if (column_ != MPI_COMM_NULL) MPI_Comm_free(&column_);
}

template <typename Real>
Box Fft3d<Real>::output_box() const {
  return spec_.order == Order::natural ? spec_.decomposition.natural(rank_) : spec_.decomposition.transposed(rank_);
}

template <typename Real>
std::size_t Fft3d<Real>::memory_bytes() const {
  return array_.bytes() + work_.bytes() + panel_.bytes();
}

template <typename Real>
void Fft3d<Real>::connect() {
  const Decomposition& d = spec_.decomposition;
  // Blocks by peer in the row: lines of axis 1 that the peer has in natural order, points of axis 2 that it has later.
  std::vector<std::size_t> lines, points, planes, late;
  for (Index peer = 0; peer < p2_; ++peer) {
    lines.push_back(sizeof(Value) * static_cast<std::size_t>(share_of(n1_, p2_, peer).count * own0_ * own2_));
    points.push_back(sizeof(Value) * static_cast<std::size_t>(share_of(n2_, p2_, peer).count * own0_ * own1_));
  }
  for (Index peer = 0; peer < p1_; ++peer) {
    planes.push_back(sizeof(Value) * static_cast<std::size_t>(share_of(d.n[0], p1_, peer).count * late1_ * own2_));
    late.push_back(sizeof(Value) * static_cast<std::size_t>(share_of(n1_, p1_, peer).count * own0_ * own2_));
  }
  auto* const array = array_.as<std::byte>();
  auto* const work = work_.as<std::byte>();
  if (p2_ > 1) {
    row_forward_.emplace(row_, way(), points, lines, work, array);
    row_backward_.emplace(row_, way(), lines, points, array, work);
  }
  if (p1_ > 1) {
    column_forward_.emplace(column_, way(), late, planes, work, array);
    column_backward_.emplace(column_, way(), planes, late, array, work);
  }
}

// The first rank has the most of everything, so that its largest blocks say it for all.
template <typename Real>
Way Fft3d<Real>::way() const {
  Way way{spec_.method, sizeof(Value), spec_.piece_bytes};
  const Decomposition& d = spec_.decomposition;
  constexpr auto most = static_cast<double>(std::numeric_limits<int>::max());
  const Box natural = d.natural(0);
  const Box middle = d.middle(0);
  const auto row = static_cast<double>(natural[0].count * natural[1].count * middle[2].count);
  const auto column = static_cast<double>(middle[0].count * d.transposed(0)[1].count * middle[2].count);
  const bool is_counted = spec_.method == TransposeMethod::alltoall
                              ? static_cast<double>(d.local_values(0)) <= most
                              : std::max(row, column) * static_cast<double>(sizeof(Value)) <= most;
  if (!is_counted && way.piece_bytes == 0) way.piece_bytes = LongBlocks::usual_piece_bytes;
  return way;
}

template <typename Real>
void Fft3d<Real>::plan(const FftLibrary& library) {
  planes_ = plan_planes(library);
  if (p2_ > 1) middle_ = plan_panels(library, n1_, own2_);
  first_ = plan_panels(library, n0_, late1_ * own2_);
  if (p1_ * p2_ == 1 && spec_.planning != Planning::estimate) plan_all(library);
}

// The library's own transform of all axes, kept where it proves faster than planes and panels.
template <typename Real>
void Fft3d<Real>::plan_all(const FftLibrary& library) {
  const auto& n = spec_.decomposition.n;
  const LocalBatch batch{{static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2])}, 1, 1, 1,
                         spec_.decomposition.real};
  for (const Direction d : {Direction::forward, Direction::backward}) {
    auto all = library.plan<Real>(batch, d, spec_.planning, data());
    std::fill_n(data(), array_.bytes() / sizeof(Value), Value{});
    double pieces_s = std::numeric_limits<double>::max();
    double all_s = pieces_s;
    constexpr int tries = 4;  // the first warms up; the quickest counts, whoever disturbs the others
    for (int i = 0; i < tries; ++i) {
      const double start_s = MPI_Wtime();
      run_alone(d, {});
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
typename Fft3d<Real>::Planned Fft3d<Real>::plan_planes(const FftLibrary& library) {
  Planned planned;
  const Index plane = own1_ * n2_;
  if (own0_ * plane == 0) return planned;
  planned.step = std::clamp<Index>(
      static_cast<Index>(in_cache_bytes / (static_cast<std::size_t>(plane) * sizeof(Value))), 1, std::max<Index>(1, own0_));
  const auto make = [&](Index planes, Direction direction) {
    const auto points = static_cast<int>(spec_.decomposition.n[2]);
    LocalBatch batch{{points}, static_cast<int>(planes * own1_), 1, static_cast<int>(n2_), spec_.decomposition.real};
    if (p2_ == 1) batch = {{static_cast<int>(n1_), points}, static_cast<int>(planes), 1, static_cast<int>(plane), batch.real};
    return library.plan<Real>(batch, direction, spec_.planning, data());
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
  planned.step = whole_panel(points, columns, sizeof(Value), array_.bytes());
  if (columns == 0) return planned;
  const auto make = [&](Index width, Direction direction) {
    const auto stride = static_cast<int>(width);
    return library.plan<Real>({{static_cast<int>(points)}, stride, stride, 1}, direction, spec_.planning,
                              panel_.as<Value>());
  };
  for (const Direction d : {Direction::forward, Direction::backward}) {
    const auto which = static_cast<std::size_t>(d);
    planned.whole[which] = make(planned.step, d);
    if (columns % planned.step != 0) planned.rest[which] = make(columns % planned.step, d);
  }
  return planned;
}

template <typename Real>
void Fft3d<Real>::run(Direction direction, const Ends& ends) {
  phases_ = {};
  Stages stages;
  add(stages, direction, ends);
  stages.run();
}

template <typename Real>
void Fft3d<Real>::add(Stages& stages, Direction direction, const Ends& ends) {
  if (p1_ * p2_ == 1) {
    stages.add([this, direction, ends] { run_alone(direction, ends); });
    return;
  }
  // What lies between the way there and the way back is in the own array; one of the two multiplies.
  const Ends first{ends.from, nullptr, ends.line, ends.scale};
  const Ends second{nullptr, ends.into, ends.line, 1.0};
  const bool natural = spec_.order == Order::natural;
  if (direction == Direction::forward) {
    forward(stages, true, natural ? first : ends);
    if (natural) backward(stages, false, second);
  } else {
    if (natural) forward(stages, false, {ends.from, nullptr, ends.line, 1.0});
    backward(stages, true, natural ? Ends{nullptr, ends.into, ends.line, ends.scale} : ends);
  }
}

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
  const auto planes = [&](const Ends& load, const Ends& store) {
    in_units((n0_ + planes_.step - 1) / planes_.step, n0_, [&](Index unit, PhaseTimes& own) {
      Lap lap;
      const Index x = unit * planes_.step;
      const Index count = std::min(planes_.step, n0_ - x);
      Value* const plane = data() + x * n1_ * n2_;
      load_lines(load, x * n1_, count * n1_, plane);
      planes_.run(plane, count, direction);
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
    if (is_forward) load_lines(ends, 0, n0_ * n1_, data());
    if (!is_forward && ends.from != nullptr) std::copy_n(static_cast<const Value*>(ends.from), values, data());
    all->run(data());
    const bool is_there = !is_forward || spectrum == nullptr;
    if (!is_there || ends.scale != 1.0) copy_scaled(data(), values, is_there ? data() : spectrum, ends.scale);
    if (!is_forward) store_lines(data(), 0, n0_ * n1_, ends);
    lap.to(phases_.compute_s);
  } else if (is_forward) {
    planes(ends, {});
    transform_first(data(), spectrum == nullptr ? data() : spectrum, direction, true, ends.scale);
  } else {
    const auto* const from = static_cast<const Value*>(ends.from);
    transform_first(from == nullptr ? data() : from, data(), direction, true, ends.scale);
    planes({}, ends);
  }
  // All of it is the local FFT, whichever way proved faster: the two are to be comparable.
  phases_ = {phases_.compute_s + phases_.shuffle_s, 0.0, 0.0};
}

template <typename Real>
template <class Work>
void Fft3d<Real>::in_units(Index units, Index total, Work work) {
  // Four runs of neighbours, the first at the start and the last at the end.
  constexpr Index runs = 4;
  Index length = units;
  if (share_bytes_ > 0 && units > runs) {
    const std::size_t unit_bytes = std::max<std::size_t>(1, array_.bytes() / static_cast<std::size_t>(units));
    const Index wanted = std::max(runs, static_cast<Index>(share_bytes_ / unit_bytes));
    if (wanted < units) length = (wanted + runs - 1) / runs;
  }
  PhaseTimes own;
  Index done = 0;
  for (Index run = 0; run < (length < units ? runs : 1); ++run) {
    const Index first = run * (units - length) / (runs - 1);
    for (Index unit = first; unit < first + length; ++unit) done += work(unit, own);
  }
  const double factor = done > 0 ? static_cast<double>(total) / static_cast<double>(done) : 0.0;
  phases_.compute_s += factor * own.compute_s;
  phases_.shuffle_s += factor * own.shuffle_s;
}

template <typename Real>
ShortenedTimes Fft3d<Real>::run_shortened(Direction direction, std::size_t share_bytes) {
  ShortenedTimes times;
  phases_ = {};
  share_bytes_ = share_bytes;
  double before_s = 0.0;
  const auto end_stage = [&] {
    const double local_s = phases_.compute_s + phases_.shuffle_s;
    times.stage_s.push_back(local_s - before_s);
    before_s = local_s;
  };
  Stages stages;
  add(stages, direction, {});
  stages.run([&](const Transfer& transfer) {
    end_stage();
    // What is sent was written by this rank just before, also where the stage was shortened.
    const bool is_forward = (row_forward_ && &transfer == &*row_forward_) || (column_forward_ && &transfer == &*column_forward_);
    Buffer& sent = is_forward ? work_ : array_;
    std::memset(sent.template as<std::byte>(), 0, sent.bytes());
    mpi(MPI_Barrier(comm_));
  });
  end_stage();
  share_bytes_ = 0;
  times.phases = phases_;
  return times;
}

template <typename Real>
void Fft3d<Real>::run_exchanges() {
  if (row_forward_) row_forward_->run();
  if (column_forward_) column_forward_->run();
}

template <typename Real>
void Fft3d<Real>::run_transforms(Direction direction) {
  if (const auto& all = all_[static_cast<int>(direction)]) return all->run(data());
  const auto in_pieces = [](Index total, Index step, auto work) {
    for (Index first = 0; first < total; first += step) work(first, std::min(step, total - first));
  };
  for (Index x = 0; x < own0_; x += planes_.step) {
    planes_.run(data() + x * own1_ * n2_, std::min(planes_.step, own0_ - x), direction);
  }
  const auto run_panel = [&](const Planned& planned, Index width) { planned.run(panel_.as<Value>(), width, direction); };
  for (Index x = 0; p2_ > 1 && x < own0_; ++x) {
    in_pieces(own2_, middle_.step, [&](Index, Index width) { run_panel(middle_, width); });
  }
  in_pieces(late1_ * own2_, first_.step, [&](Index, Index width) { run_panel(first_, width); });
}

template <typename Real>
void Fft3d<Real>::forward(Stages& stages, bool transforms, const Ends& ends) {
  stages.add([this, transforms, ends] { scatter_planes(transforms, ends); });
  if (p2_ > 1) {
    stages.add(*row_forward_, &phases_.exchange_s);
    stages.add([this, transforms] { scatter_middle(transforms); });
  }
  if (p1_ > 1) stages.add(*column_forward_, &phases_.exchange_s);
  stages.add([this, transforms, ends] {
    Value* const into = ends.into == nullptr ? data() : static_cast<Value*>(ends.into);
    transform_first(p1_ > 1 ? data() : work_.as<Value>(), into, Direction::forward, transforms, ends.scale);
  });
}

template <typename Real>
void Fft3d<Real>::backward(Stages& stages, bool transforms, const Ends& ends) {
  stages.add([this, transforms, ends] {
    const Value* const from = ends.from == nullptr ? data() : static_cast<const Value*>(ends.from);
    transform_first(from, p1_ > 1 ? data() : work_.as<Value>(), Direction::backward, transforms, ends.scale);
  });
  if (p1_ > 1) stages.add(*column_backward_, &phases_.exchange_s);
  if (p2_ > 1) {
    stages.add([this, transforms] { gather_middle(transforms); });
    stages.add(*row_backward_, &phases_.exchange_s);
  }
  stages.add([this, transforms, ends] { gather_planes(transforms, ends); });
}

// Blocks for the row: [axis 1][axis 0][points of axis 2 of the peer]; for the column of a slab: [axis 0][lines of axis 1
// of the peer][axis 2].
template <typename Real>
void Fft3d<Real>::scatter_planes(bool transforms, const Ends& ends) {
  in_units((own0_ + planes_.step - 1) / planes_.step, own0_, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index x0 = unit * planes_.step;
    const Index count = std::min(planes_.step, own0_ - x0);
    const Value* planes = data() + x0 * own1_ * n2_;
    if (transforms) {
      // The caller's planes are transformed at the same place every time: it stays in cache.
      Value* const place = data() + (ends.from == nullptr ? x0 * own1_ * n2_ : 0);
      load_lines(ends, x0 * own1_, count * own1_, place);
      lap.to(own.shuffle_s);
      planes_.run(place, count, Direction::forward);
      planes = place;
    } else if (ends.from != nullptr) {
      planes = static_cast<const Value*>(ends.from) + x0 * own1_ * n2_;
    }
    lap.to(own.compute_s);
    Value* block = work_.as<Value>();
    for (Index peer = 0; peer < (p2_ > 1 ? p2_ : p1_); ++peer) {
      if (p2_ > 1) {
        const Share points = share_of(n2_, p2_, peer);
        for (Index x = 0; x < count; ++x) {
          for (Index y = 0; y < own1_; ++y) {
            std::copy_n(planes + (x * own1_ + y) * n2_ + points.first, points.count,
                        block + (y * own0_ + x0 + x) * points.count);
          }
        }
        block += own1_ * own0_ * points.count;
      } else {
        const Share lines = share_of(n1_, p1_, peer);
        for (Index x = 0; x < count; ++x) {
          std::copy_n(planes + (x * n1_ + lines.first) * n2_, lines.count * n2_, block + (x0 + x) * lines.count * n2_);
        }
        block += own0_ * lines.count * n2_;
      }
    }
    lap.to(own.shuffle_s);
    return count;
  });
}

template <typename Real>
void Fft3d<Real>::gather_planes(bool transforms, const Ends& ends) {
  in_units((own0_ + planes_.step - 1) / planes_.step, own0_, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index x0 = unit * planes_.step;
    const Index count = std::min(planes_.step, own0_ - x0);
    Value* planes = data() + (ends.into == nullptr ? x0 * own1_ * n2_ : 0);
    if (!transforms && ends.into != nullptr) planes = static_cast<Value*>(ends.into) + x0 * own1_ * n2_;
    const Value* block = work_.as<Value>();
    for (Index peer = 0; peer < (p2_ > 1 ? p2_ : p1_); ++peer) {
      if (p2_ > 1) {
        const Share points = share_of(n2_, p2_, peer);
        for (Index x = 0; x < count; ++x) {
          for (Index y = 0; y < own1_; ++y) {
            std::copy_n(block + (y * own0_ + x0 + x) * points.count, points.count,
                        planes + (x * own1_ + y) * n2_ + points.first);
          }
        }
        block += own1_ * own0_ * points.count;
      } else {
        const Share lines = share_of(n1_, p1_, peer);
        for (Index x = 0; x < count; ++x) {
          std::copy_n(block + (x0 + x) * lines.count * n2_, lines.count * n2_, planes + (x * n1_ + lines.first) * n2_);
        }
        block += own0_ * lines.count * n2_;
      }
    }
    lap.to(own.shuffle_s);
    if (transforms) planes_.run(planes, count, Direction::backward);
    lap.to(own.compute_s);
    if (transforms) store_lines(planes, x0 * own1_, count * own1_, ends);
    lap.to(own.shuffle_s);
    return count;
  });
}

// The array is [axis 1][axis 0][axis 2]; blocks for the column are [axis 0][lines of axis 1 of the peer][axis 2].
template <typename Real>
void Fft3d<Real>::scatter_middle(bool transforms) {
  auto* const panel = panel_.as<Value>();
  const Index panels = (own2_ + middle_.step - 1) / middle_.step;
  in_units(own0_ * panels, own0_ * own2_, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index x = unit / panels;
    const Index z = unit % panels * middle_.step;
    const Index width = std::min(middle_.step, own2_ - z);
    for (Index y = 0; y < n1_; ++y) std::copy_n(data() + (y * own0_ + x) * own2_ + z, width, panel + y * width);
    lap.to(own.shuffle_s);
    if (transforms) middle_.run(panel, width, Direction::forward);
    lap.to(own.compute_s);
    Value* block = work_.as<Value>();
    for (Index peer = 0; peer < p1_; ++peer) {
      const Share lines = share_of(n1_, p1_, peer);
      for (Index y = 0; y < lines.count; ++y) {
        std::copy_n(panel + (lines.first + y) * width, width, block + (x * lines.count + y) * own2_ + z);
      }
      block += own0_ * lines.count * own2_;
    }
    lap.to(own.shuffle_s);
    return width;
  });
}

template <typename Real>
void Fft3d<Real>::gather_middle(bool transforms) {
  auto* const panel = panel_.as<Value>();
  const Index panels = (own2_ + middle_.step - 1) / middle_.step;
  in_units(own0_ * panels, own0_ * own2_, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index x = unit / panels;
    const Index z = unit % panels * middle_.step;
    const Index width = std::min(middle_.step, own2_ - z);
    const Value* block = work_.as<Value>();
    for (Index peer = 0; peer < p1_; ++peer) {
      const Share lines = share_of(n1_, p1_, peer);
      for (Index y = 0; y < lines.count; ++y) {
        std::copy_n(block + (x * lines.count + y) * own2_ + z, width, panel + (lines.first + y) * width);
      }
      block += own0_ * lines.count * own2_;
    }
    lap.to(own.shuffle_s);
    if (transforms) middle_.run(panel, width, Direction::backward);
    lap.to(own.compute_s);
    for (Index y = 0; y < n1_; ++y) std::copy_n(panel + y * width, width, data() + (y * own0_ + x) * own2_ + z);
    lap.to(own.shuffle_s);
    return width;
  });
}

// Lines along axis 0, panel by panel, from one array into another or the same.
template <typename Real>
void Fft3d<Real>::transform_first(const Value* from, Value* into, Direction direction, bool transforms, double scale) {
  if (!transforms && from == into) return;
  auto* const panel = panel_.as<Value>();
  const Index columns = late1_ * own2_;
  in_units((columns + first_.step - 1) / first_.step, columns, [&](Index unit, PhaseTimes& own) {
    Lap lap;
    const Index c = unit * first_.step;
    const Index width = std::min(first_.step, columns - c);
    for (Index x = 0; x < n0_; ++x) std::copy_n(from + x * columns + c, width, panel + x * width);
    lap.to(own.shuffle_s);
    if (transforms) first_.run(panel, width, direction);
    lap.to(own.compute_s);
    for (Index x = 0; x < n0_; ++x) copy_scaled(panel + x * width, width, into + x * columns + c, scale);
    lap.to(own.shuffle_s);
    return width;
  });
}

template class Fft3d<double>;
template class Fft3d<float>;

}  // namespace rankwise
