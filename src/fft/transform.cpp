#include "fft/transform.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "fft/knowledge.hpp"
#include "fft/memory.hpp"
#include "mpi/error.hpp"

namespace rankwise {

namespace {

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
  if (spec.alone ? decomposition.ranks() < size : decomposition.ranks() != size) {
    invalid("the process grid " + std::to_string(decomposition.grid[0]) + "x" + std::to_string(decomposition.grid[1]) +
            " needs " + std::to_string(decomposition.ranks()) + " ranks but " + std::to_string(size) +
            " run: make them equal");
  }
  require_memory(comm, decomposition, value_bytes);
  return decomposition;
}

}  // namespace

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
      late_(is_sliced() ? array_.bytes() : 0, std::nothrow),
      panel_(sizeof(Value) * static_cast<std::size_t>(std::max(
                                 n0_ * whole_panel(n0_, most_columns, sizeof(Value), array_.bytes()),
                                 n1_ * whole_panel(n1_, most_columns, sizeof(Value), array_.bytes()))),
             std::nothrow) {
  if (!by_all(comm, array_.is_there() && work_.is_there() && late_.is_there() && panel_.is_there())) throw std::bad_alloc();
  const Box natural = spec_.decomposition.natural(rank_);
  const Box transposed = spec_.decomposition.transposed(rank_);
  own0_ = natural[0].count;
  own1_ = natural[1].count;
  own2_ = transposed[2].count;
  late1_ = transposed[1].count;
  if (p1_ * p2_ > 1 && !spec_.alone) {
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
  const bool is_kept = rank_ == 0 && !spec_.knowledge.empty() && spec_.planning != Planning::estimate;
  const std::string kept = is_kept ? read_file(spec_.knowledge) : "";
  library.take_wisdom<Real>(kept);
  if (rank_ == 0) try_to_plan();
  if (rank_ == 0) wisdom = library.wisdom<Real>();
  if (is_kept && !wisdom.empty() && wisdom != kept) replace_file(spec_.knowledge, wisdom);
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
  slices_forward_.clear();
  slices_backward_.clear();
  if (row_ != MPI_COMM_NULL) MPI_Comm_free(&row_);
  if (column_ != MPI_COMM_NULL) MPI_Comm_free(&column_);
}

template <typename Real>
Box Fft3d<Real>::output_box() const {
  return spec_.order == Order::natural ? spec_.decomposition.natural(rank_) : spec_.decomposition.transposed(rank_);
}

template <typename Real>
std::size_t Fft3d<Real>::memory_bytes() const {
  std::size_t bytes = array_.bytes() + work_.bytes() + late_.bytes() + panel_.bytes();
  for (const auto* exchange : {&row_forward_, &row_backward_, &column_forward_, &column_backward_}) {
    if (*exchange) bytes += (*exchange)->memory_bytes();
  }
  return bytes;
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
  if (is_sliced()) {
    connect_slices();
  } else if (p1_ > 1) {
    column_forward_.emplace(column_, way(), late, planes, work, array);
    column_backward_.emplace(column_, way(), planes, late, array, work);
  }
}

// Slices of a slab's exchange: planes of every rank's, straight from its blocks to where they belong.
template <typename Real>
void Fft3d<Real>::connect_slices() {
  for (Index chunk = 0; chunk < spec_.chunks; ++chunk) {
    const Share own = chunk_of(own0_, own1_ * n2_, chunk);
    BlocksOfRanks blocks, lines;  // of planes, by the lines of the peer; of this rank's lines, by the planes of the peer
    for (Index peer = 0; peer < p1_; ++peer) {
      const Share away = share_of(n1_, p1_, peer);
      const Share planes = share_of(n0_, p1_, peer);
      const Share theirs = chunk_of(planes.count, own1_ * n2_, chunk);
      blocks.add((away.first * own0_ + own.first * away.count) * n2_, own.count * away.count * n2_, sizeof(Value));
      lines.add((planes.first + theirs.first) * late1_ * n2_, theirs.count * late1_ * n2_, sizeof(Value));
    }
    slices_forward_.push_back(
        std::make_unique<BlockExchange>(column_, way(), blocks, lines, work_.as<std::byte>(), late_.as<std::byte>()));
    slices_backward_.push_back(
        std::make_unique<BlockExchange>(column_, way(), lines, blocks, late_.as<std::byte>(), work_.as<std::byte>()));
  }
}

// Whole batches of planes, so that all slices but the last need one plan.
template <typename Real>
Share Fft3d<Real>::chunk_of(Index planes, Index plane, Index chunk) const {
  if (!is_sliced()) return {0, planes};
  const Index step = planes_at_a_time(planes, plane, sizeof(Value), spec_.chunks);
  const Share units = share_of((planes + step - 1) / step, spec_.chunks, chunk);
  const Index first = std::min(planes, units.first * step);
  return {first, std::min(planes, (units.first + units.count) * step) - first};
}

// Exchanges that are under way get on.
template <typename Real>
void Fft3d<Real>::progress() const {
  int is_there = 0;
  mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &is_there, MPI_STATUS_IGNORE));
}

// The first rank has the most of everything, so that its largest blocks say it for all.
template <typename Real>
Way Fft3d<Real>::way() const {
  Way way{spec_.method, sizeof(Value), spec_.piece_bytes, spec_.ranks_per_node};
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
  if (row_forward_) row_forward_->run();
  if (column_forward_) column_forward_->run();
  for (const auto& slice : slices_forward_) slice->start();
  for (const auto& slice : slices_forward_) slice->wait();
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
  for (Index chunk = 0; chunk < (is_sliced() ? spec_.chunks : 1); ++chunk) {
    stages.add([this, transforms, ends, chunk] { scatter_planes(transforms, ends, chunk); });
    if (is_sliced()) stages.launch(*slices_forward_[static_cast<std::size_t>(chunk)], &phases_.exchange_s);
  }
  if (p2_ > 1) {
    if (row_forward_) stages.add(*row_forward_, &phases_.exchange_s);
    stages.add([this, transforms] { scatter_middle(transforms); });
  }
  for (const auto& slice : slices_forward_) stages.finish(*slice, &phases_.exchange_s);
  if (column_forward_) stages.add(*column_forward_, &phases_.exchange_s);
  stages.add([this, transforms, ends] {
    Value* const into = ends.into == nullptr ? data() : static_cast<Value*>(ends.into);
    transform_first(is_sliced() ? late_.as<Value>() : p1_ > 1 ? data() : work_.as<Value>(), into, Direction::forward, transforms,
                    ends.scale);
  });
}

template <typename Real>
void Fft3d<Real>::backward(Stages& stages, bool transforms, const Ends& ends) {
  stages.add([this, transforms, ends] {
    const Value* const from = ends.from == nullptr ? data() : static_cast<const Value*>(ends.from);
    transform_first(from, is_sliced() ? late_.as<Value>() : p1_ > 1 ? data() : work_.as<Value>(), Direction::backward, transforms,
                    ends.scale);
  });
  if (column_backward_) stages.add(*column_backward_, &phases_.exchange_s);
  for (const auto& slice : slices_backward_) stages.launch(*slice, &phases_.exchange_s);
  if (p2_ > 1) {
    stages.add([this, transforms] { gather_middle(transforms); });
    if (row_backward_) stages.add(*row_backward_, &phases_.exchange_s);
  }
  for (Index chunk = 0; chunk < (is_sliced() ? spec_.chunks : 1); ++chunk) {
    if (is_sliced()) stages.finish(*slices_backward_[static_cast<std::size_t>(chunk)], &phases_.exchange_s);
    stages.add([this, transforms, ends, chunk] { gather_planes(transforms, ends, chunk); });
  }
}

#define RANKWISE_INSTANTIATE(Real)                                                             \
  template Fft3d<Real>::Fft3d(MPI_Comm, const FftSpec&, const FftLibrary&);                    \
  template Fft3d<Real>::~Fft3d();                                                              \
  template Box Fft3d<Real>::output_box() const;                                                \
  template std::size_t Fft3d<Real>::memory_bytes() const;                                      \
  template void Fft3d<Real>::run(Direction, const Ends&);                                      \
  template void Fft3d<Real>::add(Stages&, Direction, const Ends&);                             \
  template ShortenedTimes Fft3d<Real>::run_shortened(Direction, std::size_t);                  \
  template void Fft3d<Real>::run_exchanges();                                                  \
  template void Fft3d<Real>::run_transforms(Direction);                                        \
  template Share Fft3d<Real>::chunk_of(Index, Index, Index) const;                             \
  template void Fft3d<Real>::progress() const;
RANKWISE_INSTANTIATE(double)
RANKWISE_INSTANTIATE(float)
#undef RANKWISE_INSTANTIATE

}  // namespace rankwise
