#include "fft/transform.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "fft/library.hpp"
#include "fft/memory.hpp"
#include "fft/transform_stages.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

std::size_t array_bytes_of(const FftSpec& spec, int rank, const Decomposition& decomposition, std::size_t value_bytes) {
  return static_cast<std::size_t>(decomposition.local_values(rank) * spec.fields) * value_bytes;
}

const Decomposition& checked(MPI_Comm comm, const FftSpec& spec, std::size_t value_bytes) {
  const Decomposition& decomposition = spec.decomposition;
  const int size = size_of(comm);
  check(decomposition, spec.may_idle);
  if (spec.alone ? decomposition.ranks() < size : decomposition.ranks() != size) {
    invalid("the process grid " + std::to_string(decomposition.grid[0]) + "x" + std::to_string(decomposition.grid[1]) +
            " needs " + std::to_string(decomposition.ranks()) + " ranks but " + std::to_string(size) + " run: make them equal");
  }
  if (spec.fields < 1 || spec.last_fields < 0 || spec.last_fields >= std::max<Index>(2, spec.fields)) {
    throw std::logic_error("fields that are transformed together");
  }
  // The array, and as much for buffers.
  require_memory(comm, 2.0 * static_cast<double>(array_bytes_of(spec, rank_of(comm), decomposition, value_bytes)));
  return decomposition;
}

}  // namespace

template <typename Real>
Fft3d<Real>::Fft3d(MPI_Comm comm, const FftSpec& spec, const FftLibrary& library)
    : spec_(spec),
      comm_(comm),
      rank_(rank_of(comm)),
      p1_(spec.decomposition.grid[0]),
      p2_(spec.decomposition.grid[1]),
      n0_(spec.decomposition.n[0]),
      n1_(spec.decomposition.n[1]),
      n2_(spec.decomposition.complex_points()),
      array_(array_bytes_of(spec, rank_, checked(comm, spec, sizeof(Value)), sizeof(Value)), std::nothrow),
      work_(0, std::nothrow),
      late_(is_sliced() ? array_.bytes() : 0, std::nothrow),
      panel_(sizeof(Value) *
                 static_cast<std::size_t>(std::max(n0_ * whole_panel(n0_, most_columns, sizeof(Value), field_bytes()),
                                                   n1_ * whole_panel(n1_, most_columns, sizeof(Value), field_bytes()))),
             std::nothrow) {
  if (!by_all(comm, array_.is_there() && late_.is_there() && panel_.is_there())) throw std::bad_alloc();
  const Box natural = spec_.decomposition.natural(rank_);
  const Box transposed = spec_.decomposition.transposed(rank_);
  own0_ = natural[0].count;
  own1_ = natural[1].count;
  own2_ = transposed[2].count;
  late1_ = transposed[1].count;
  if (p1_ * p2_ > 1 && !spec_.alone) {
    MPI_Comm_split(comm, static_cast<int>(rank_ / p2_), rank_, &row_);
    MPI_Comm_split(comm, static_cast<int>(rank_ % p2_), rank_, &column_);
    share_memory();
  }
  const bool is_sent = (p2_ > 1 && !row_turns_) || (p1_ > 1 && !column_turns_);
  if (is_sent) work_ = Buffer(array_.bytes(), std::nothrow);
  if (!by_all(comm, !is_sent || work_.is_there())) throw std::bad_alloc();
  if (p1_ * p2_ > 1) connect(spec_.fields);
  if (p1_ * p2_ > 1 && spec_.last_fields > 0) connect(spec_.last_fields);
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
  const bool is_kept = rank_ == 0 && !spec_.knowledge.empty() && spec_.planning != Planning::estimate;
  const std::string kept = is_kept ? read_file(spec_.knowledge) : "";
  library.take_wisdom<Real>(kept);
  if (rank_ == 0) try_to_plan();
  if (rank_ == 0) wisdom = library.wisdom<Real>();
  if (is_kept && !wisdom.empty() && wisdom != kept) replace_file(spec_.knowledge, wisdom);
  share_text(comm, wisdom);
  if (rank_ != 0) {
    library.take_wisdom<Real>(wisdom);
    try_to_plan();
  }
  if (by_all(comm, failed.empty())) return;
  throw FftUnavailable(failed.empty() ? "another rank cannot plan a transform with " + library.name() : failed);
}

template <typename Real>
Box Fft3d<Real>::output_box() const {
  return spec_.order == Order::natural ? spec_.decomposition.natural(rank_) : spec_.decomposition.transposed(rank_);
}

template <typename Real>
std::size_t Fft3d<Real>::memory_bytes() const {
  return array_.bytes() + work_.bytes() + late_.bytes() + panel_.bytes() + passing_.bytes() +
         (row_turns_ ? row_turns_->bytes() : 0) + (column_turns_ ? column_turns_->bytes() : 0);
}

// Exchanges that are under way get on.
template <typename Real>
void Fft3d<Real>::progress() const {
  int is_there = 0;
  mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &is_there, MPI_STATUS_IGNORE));
}

template <typename Real>
void Fft3d<Real>::run(Direction direction, const Ends& ends) {
  phases_ = {};
  Stages stages;
  add(stages, direction, ends);
  stages.run();
}

template <typename Real>
void Fft3d<Real>::add(Stages& stages, Direction direction, const Ends& asked) {
  Ends ends = asked;
  if (ends.fields == 0) ends.fields = spec_.fields;
  if (p1_ * p2_ == 1) {
    stages.add([this, direction, ends] { run_alone(direction, ends); });
    return;
  }
  const bool is_forward = direction == Direction::forward;
  const bool goes = is_forward || spec_.order == Order::natural;
  const bool comes = !is_forward || spec_.order == Order::natural;
  if (goes) go(stages, is_forward, ends);
  stages.add([=, this, &exchanges = exchanges_of(ends.fields)] {
    const auto from = [&]() -> std::vector<Piece<const Value>> {
      if (goes) return exchanges.column[0].to_read();
      if (ends.from == nullptr) return {columns<const Value>(data(), ends.fields)};
      return {columns(static_cast<const Value*>(ends.from), 1, ends.from_stride)};
    };
    const auto into = [&]() -> std::vector<Piece<Value>> {
      if (comes) return exchanges.column[1].to_write();
      if (ends.into == nullptr) return {columns(data(), ends.fields)};
      return {columns(static_cast<Value*>(ends.into), 1, ends.into_stride)};
    };
    transform_first(from(), into(), direction, ends);
  });
  if (comes) come(stages, !is_forward, ends);
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
  stages.run([&](const Transfer&) {
    end_stage();
    mpi(MPI_Barrier(comm_));
  });
  end_stage();
  share_bytes_ = 0;
  times.phases = phases_;
  return times;
}

template <typename Real>
void Fft3d<Real>::run_exchanges() {
  const Exchanges& exchanges = exchanges_[0];
  for (const auto* between : {&exchanges.row[0], &exchanges.column[0]}) {
    if (Transfer* transfer = between->transfer()) transfer->run();
  }
  for (const auto& slice : exchanges.slices[0]) slice->start();
  for (const auto& slice : exchanges.slices[0]) slice->wait();
}

template <typename Real>
void Fft3d<Real>::run_transforms(Direction direction) {
  const auto in_pieces = [](Index total, Index step, auto work) {
    for (Index first = 0; first < total; first += step) work(first, std::min(step, total - first));
  };
  const auto run_panel = [&](const Planned& planned, Index width) {
    planned.run(panel_.as<Value>(), panel_.as<Value>(), width, direction);
  };
  for (Index field = 0; field < spec_.fields; ++field) {
    Value* const array = data() + field * own0_ * own1_ * n2_;
    if (const auto& all = all_[static_cast<int>(direction)]) {
      all->run(array);
      continue;
    }
    in_pieces(own0_, planes_.step, [&](Index x, Index count) {
      Value* const planes = array + x * own1_ * n2_;
      planes_.run(planes, planes, count, direction);
    });
    for (Index x = 0; p2_ > 1 && x < own0_; ++x) {
      in_pieces(own2_, middle_.step, [&](Index, Index width) { run_panel(middle_, width); });
    }
    in_pieces(late1_ * own2_, first_.step, [&](Index, Index width) { run_panel(first_, width); });
  }
}

template <typename Real>
void Fft3d<Real>::go(Stages& stages, bool transforms, const Ends& ends) {
  const Exchanges& exchanges = exchanges_of(ends.fields);
  const Between& row = exchanges.row[0];
  const Between& column = exchanges.column[0];
  const auto& slices = exchanges.slices[0];
  for (Index chunk = 0; chunk < (is_sliced() ? spec_.chunks : 1); ++chunk) {
    stages.add([=, this, &row, &column] { scatter_planes(transforms, ends, p2_ > 1 ? row : column, chunk); });
    if (!slices.empty()) stages.launch(*slices[static_cast<std::size_t>(chunk)], &phases_.exchange_s);
  }
  if (p2_ > 1) {
    if (Transfer* transfer = row.transfer()) stages.add(*transfer, &phases_.exchange_s);
    stages.add([=, this, &row, &column] { transform_middle(transforms, Direction::forward, ends.fields, row, column); });
  }
  for (const auto& slice : slices) stages.finish(*slice, &phases_.exchange_s);
  if (Transfer* transfer = column.transfer()) stages.add(*transfer, &phases_.exchange_s);
}

template <typename Real>
void Fft3d<Real>::come(Stages& stages, bool transforms, const Ends& ends) {
  const Exchanges& exchanges = exchanges_of(ends.fields);
  const Between& row = exchanges.row[1];
  const Between& column = exchanges.column[1];
  const auto& slices = exchanges.slices[1];
  if (Transfer* transfer = column.transfer()) stages.add(*transfer, &phases_.exchange_s);
  for (const auto& slice : slices) stages.launch(*slice, &phases_.exchange_s);
  if (p2_ > 1) {
    stages.add([=, this, &row, &column] { transform_middle(transforms, Direction::backward, ends.fields, column, row); });
    if (Transfer* transfer = row.transfer()) stages.add(*transfer, &phases_.exchange_s);
  }
  for (Index chunk = 0; chunk < (is_sliced() ? spec_.chunks : 1); ++chunk) {
    if (!slices.empty()) stages.finish(*slices[static_cast<std::size_t>(chunk)], &phases_.exchange_s);
    stages.add([=, this, &row, &column] { gather_planes(transforms, ends, p2_ > 1 ? row : column, chunk); });
  }
}

// Which plans of the local library a 3-D transform takes.

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
      const double start_s = steady_s();
      run_field_alone(d, {.fields = 1}, data());
      const double middle_s = steady_s();
      all->run(data());
      pieces_s = std::min(pieces_s, middle_s - start_s);
      all_s = std::min(all_s, steady_s() - middle_s);
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
  planned.plan(own0_, make);
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
  planned.plan(columns, make);
  return planned;
}

template class Fft3d<double>;
template class Fft3d<float>;

}  // namespace rankwise
