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
            " needs " + std::to_string(decomposition.ranks()) + " ranks but " + std::to_string(size) + " run: make them equal");
  }
  if (spec.fields < 1 || spec.last_fields < 0 || spec.last_fields >= std::max<Index>(2, spec.fields)) {
    throw std::logic_error("fields that are transformed together");
  }
  require_memory(comm, decomposition, value_bytes * static_cast<std::size_t>(spec.fields));
  return decomposition;
}

// Rounded up to lines of cache, so that what follows is as well placed.
std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t array_bytes_of(const FftSpec& spec, int rank, const Decomposition& decomposition, std::size_t value_bytes) {
  return static_cast<std::size_t>(decomposition.local_values(rank) * spec.fields) * value_bytes;
}

}  // namespace

// Of arrays, for this one and the buffer beside it.
template <typename Real>
std::unique_ptr<SharedMemory> Fft3d<Real>::shared(std::size_t array_bytes) const {
  const bool is_of_use = spec_.shares_memory && spec_.method == TransposeMethod::alltoall && spec_.piece_bytes == 0 &&
                         spec_.ranks_per_node == 0 && !spec_.alone && p1_ * p2_ > 1 && !is_sliced();
  return is_of_use ? SharedMemory::among(comm_, 2 * whole_lines(array_bytes)) : nullptr;
}

template <typename Real>
Buffer Fft3d<Real>::buffer(std::size_t behind, std::size_t bytes) const {
  return shared_ ? Buffer(bytes, shared_->data() + whole_lines(behind)) : Buffer(bytes, std::nothrow);
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
      shared_(shared(array_bytes_of(spec, rank_, checked(comm, spec, sizeof(Value)), sizeof(Value)))),
      array_(buffer(0, array_bytes_of(spec, rank_, spec_.decomposition, sizeof(Value)))),
      work_(p1_ * p2_ == 1 ? Buffer(0) : buffer(array_.bytes(), array_.bytes())),
      late_(is_sliced() ? array_.bytes() : 0, std::nothrow),
      panel_(sizeof(Value) *
                 static_cast<std::size_t>(std::max(n0_ * whole_panel(n0_, most_columns, sizeof(Value), field_bytes()),
                                                   n1_ * whole_panel(n1_, most_columns, sizeof(Value), field_bytes()))),
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
    connect(spec_.fields);
    if (spec_.last_fields > 0) connect(spec_.last_fields);
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
  for (Exchanges& exchanges : exchanges_) {
    for (auto* one : {&exchanges.row_forward, &exchanges.row_backward, &exchanges.column_forward, &exchanges.column_backward}) {
      one->reset();
    }
    exchanges.slices_forward.clear();
    exchanges.slices_backward.clear();
  }
  if (row_ != MPI_COMM_NULL) MPI_Comm_free(&row_);
  if (column_ != MPI_COMM_NULL) MPI_Comm_free(&column_);
}

template <typename Real>
Box Fft3d<Real>::output_box() const {
  return spec_.order == Order::natural ? spec_.decomposition.natural(rank_) : spec_.decomposition.transposed(rank_);
}

template <typename Real>
std::size_t Fft3d<Real>::memory_bytes() const {
  return array_.bytes() + work_.bytes() + late_.bytes() + panel_.bytes() + node_memory_.packed.size() +
         node_memory_.gathered.size();
}

template <typename Real>
typename Fft3d<Real>::Exchanges& Fft3d<Real>::exchanges_of(Index fields) {
  if (fields != spec_.fields && fields != spec_.last_fields) throw std::logic_error("a run of fields without exchanges");
  return exchanges_[fields == spec_.fields ? 0 : 1];
}

template <typename Real>
void Fft3d<Real>::connect(Index fields) {
  const Decomposition& d = spec_.decomposition;
  Exchanges& exchanges = exchanges_[fields == spec_.fields ? 0 : 1];
  // Blocks by peer in the row: lines of axis 1 that the peer has in natural order, points of axis 2 that it has later.
  std::vector<std::size_t> lines, points, planes, late;
  const auto bytes = [fields](Index values) { return sizeof(Value) * static_cast<std::size_t>(fields * values); };
  for (Index peer = 0; peer < p2_; ++peer) {
    lines.push_back(bytes(share_of(n1_, p2_, peer).count * own0_ * own2_));
    points.push_back(bytes(share_of(n2_, p2_, peer).count * own0_ * own1_));
  }
  for (Index peer = 0; peer < p1_; ++peer) {
    planes.push_back(bytes(share_of(d.n[0], p1_, peer).count * late1_ * own2_));
    late.push_back(bytes(share_of(n1_, p1_, peer).count * own0_ * own2_));
  }
  auto* const array = array_.as<std::byte>();
  auto* const work = work_.as<std::byte>();
  if (p2_ > 1) {
    exchanges.row_forward.emplace(row_, way(), points, lines, work, array);
    exchanges.row_backward.emplace(row_, way(), lines, points, array, work);
  }
  if (is_sliced()) {
    connect_slices(exchanges, fields);
  } else if (p1_ > 1) {
    exchanges.column_forward.emplace(column_, way(), late, planes, work, array);
    exchanges.column_backward.emplace(column_, way(), planes, late, array, work);
  }
}

// Slices of a slab's exchange: planes of every rank's, straight from its blocks to where they belong.
template <typename Real>
void Fft3d<Real>::connect_slices(Exchanges& exchanges, Index fields) {
  for (Index chunk = 0; chunk < spec_.chunks; ++chunk) {
    const Share own = chunk_of(own0_, own1_ * n2_, chunk);
    BlocksOfRanks blocks, lines;  // of planes, by the lines of the peer; of this rank's lines, by the planes of the peer
    for (Index peer = 0; peer < p1_; ++peer) {
      const Share away = share_of(n1_, p1_, peer);
      const Share planes = share_of(n0_, p1_, peer);
      const Share theirs = chunk_of(planes.count, own1_ * n2_, chunk);
      const Index line = fields * n2_;
      blocks.add((away.first * own0_ + own.first * away.count) * line, own.count * away.count * line, sizeof(Value));
      lines.add((planes.first + theirs.first) * late1_ * line, theirs.count * late1_ * line, sizeof(Value));
    }
    exchanges.slices_forward.push_back(
        std::make_unique<BlockExchange>(column_, way(), blocks, lines, work_.as<std::byte>(), late_.as<std::byte>()));
    exchanges.slices_backward.push_back(
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
Way Fft3d<Real>::way() {
  Way way{spec_.method, sizeof(Value), spec_.piece_bytes, spec_.ranks_per_node, &node_memory_, shared_.get()};
  const Decomposition& d = spec_.decomposition;
  constexpr auto most = static_cast<double>(std::numeric_limits<int>::max());
  const Box natural = d.natural(0);
  const Box middle = d.middle(0);
  const auto row = static_cast<double>(spec_.fields * natural[0].count * natural[1].count * middle[2].count);
  const auto column = static_cast<double>(spec_.fields * middle[0].count * d.transposed(0)[1].count * middle[2].count);
  const bool is_counted = spec_.method == TransposeMethod::alltoall
                              ? static_cast<double>(spec_.fields * d.local_values(0)) <= most
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
void Fft3d<Real>::add(Stages& stages, Direction direction, const Ends& asked) {
  Ends ends = asked;
  if (ends.fields == 0) ends.fields = spec_.fields;
  if (p1_ * p2_ == 1) {
    stages.add([this, direction, ends] { run_alone(direction, ends); });
    return;
  }
  // What lies between the way there and the way back is in the own array; the one that transforms multiplies.
  Ends first = ends;
  Ends second = ends;
  const bool natural = spec_.order == Order::natural;
  const bool is_forward = direction == Direction::forward;
  if (natural) {
    first.into = nullptr;
    second.from = nullptr;
    (is_forward ? second : first).scale = 1.0;
  }
  if (is_forward || natural) forward(stages, is_forward, first);
  if (!is_forward || natural) backward(stages, !is_forward, second);
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
  Exchanges& exchanges = exchanges_[0];
  if (exchanges.row_forward) exchanges.row_forward->run();
  if (exchanges.column_forward) exchanges.column_forward->run();
  for (const auto& slice : exchanges.slices_forward) slice->start();
  for (const auto& slice : exchanges.slices_forward) slice->wait();
}

template <typename Real>
void Fft3d<Real>::run_transforms(Direction direction) {
  const auto in_pieces = [](Index total, Index step, auto work) {
    for (Index first = 0; first < total; first += step) work(first, std::min(step, total - first));
  };
  const auto run_panel = [&](const Planned& planned, Index width) { planned.run(panel_.as<Value>(), width, direction); };
  for (Index field = 0; field < spec_.fields; ++field) {
    Value* const array = data() + field * own0_ * own1_ * n2_;
    if (const auto& all = all_[static_cast<int>(direction)]) {
      all->run(array);
      continue;
    }
    in_pieces(own0_, planes_.step, [&](Index x, Index count) { planes_.run(array + x * own1_ * n2_, count, direction); });
    for (Index x = 0; p2_ > 1 && x < own0_; ++x) {
      in_pieces(own2_, middle_.step, [&](Index, Index width) { run_panel(middle_, width); });
    }
    in_pieces(late1_ * own2_, first_.step, [&](Index, Index width) { run_panel(first_, width); });
  }
}

template <typename Real>
typename Fft3d<Real>::template Columns<typename Fft3d<Real>::Value> Fft3d<Real>::own_columns(Value* at, Index fields) const {
  return {at, fields * late1_ * own2_, late1_ * own2_};
}

template <typename Real>
void Fft3d<Real>::forward(Stages& stages, bool transforms, const Ends& ends) {
  Exchanges& exchanges = exchanges_of(ends.fields);
  for (Index chunk = 0; chunk < (is_sliced() ? spec_.chunks : 1); ++chunk) {
    stages.add([this, transforms, ends, chunk] { scatter_planes(transforms, ends, chunk); });
    if (!exchanges.slices_forward.empty()) {
      stages.launch(*exchanges.slices_forward[static_cast<std::size_t>(chunk)], &phases_.exchange_s);
    }
  }
  if (p2_ > 1) {
    if (exchanges.row_forward) stages.add(*exchanges.row_forward, &phases_.exchange_s);
    stages.add([this, transforms, fields = ends.fields] { scatter_middle(transforms, fields); });
  }
  for (const auto& slice : exchanges.slices_forward) stages.finish(*slice, &phases_.exchange_s);
  if (exchanges.column_forward) stages.add(*exchanges.column_forward, &phases_.exchange_s);
  stages.add([this, transforms, ends] {
    const auto from = own_columns(is_sliced() ? late_.as<Value>() : p1_ > 1 ? data() : work_.as<Value>(), ends.fields);
    const Columns<Value> own = own_columns(data(), ends.fields);
    const Columns<Value> theirs{static_cast<Value*>(ends.into), own.step, static_cast<Index>(ends.into_stride / sizeof(Value))};
    transform_first({from.at, from.row, from.step}, ends.into == nullptr ? own : theirs, Direction::forward, transforms, ends);
  });
}

template <typename Real>
void Fft3d<Real>::backward(Stages& stages, bool transforms, const Ends& ends) {
  Exchanges& exchanges = exchanges_of(ends.fields);
  stages.add([this, transforms, ends] {
    const auto into = own_columns(is_sliced() ? late_.as<Value>() : p1_ > 1 ? data() : work_.as<Value>(), ends.fields);
    const Columns<const Value> own{data(), into.row, into.step};
    const Columns<const Value> theirs{static_cast<const Value*>(ends.from), into.step,
                                      static_cast<Index>(ends.from_stride / sizeof(Value))};
    transform_first(ends.from == nullptr ? own : theirs, into, Direction::backward, transforms, ends);
  });
  if (exchanges.column_backward) stages.add(*exchanges.column_backward, &phases_.exchange_s);
  for (const auto& slice : exchanges.slices_backward) stages.launch(*slice, &phases_.exchange_s);
  if (p2_ > 1) {
    stages.add([this, transforms, fields = ends.fields] { gather_middle(transforms, fields); });
    if (exchanges.row_backward) stages.add(*exchanges.row_backward, &phases_.exchange_s);
  }
  for (Index chunk = 0; chunk < (is_sliced() ? spec_.chunks : 1); ++chunk) {
    if (!exchanges.slices_backward.empty()) {
      stages.finish(*exchanges.slices_backward[static_cast<std::size_t>(chunk)], &phases_.exchange_s);
    }
    stages.add([this, transforms, ends, chunk] { gather_planes(transforms, ends, chunk); });
  }
}

#define RANKWISE_INSTANTIATE(Real)                                            \
  template Fft3d<Real>::Fft3d(MPI_Comm, const FftSpec&, const FftLibrary&);   \
  template Fft3d<Real>::~Fft3d();                                             \
  template Box Fft3d<Real>::output_box() const;                               \
  template std::size_t Fft3d<Real>::memory_bytes() const;                     \
  template void Fft3d<Real>::run(Direction, const Ends&);                     \
  template void Fft3d<Real>::add(Stages&, Direction, const Ends&);            \
  template ShortenedTimes Fft3d<Real>::run_shortened(Direction, std::size_t); \
  template void Fft3d<Real>::run_exchanges();                                 \
  template void Fft3d<Real>::run_transforms(Direction);                       \
  template Share Fft3d<Real>::chunk_of(Index, Index, Index) const;            \
  template void Fft3d<Real>::progress() const;
RANKWISE_INSTANTIATE(double)
RANKWISE_INSTANTIATE(float)
#undef RANKWISE_INSTANTIATE

}  // namespace rankwise
