// The stages of a 3-D transform: the rest of fft/transform.cpp, which alone includes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cart/nodes.hpp"
#include "fft/memory.hpp"
#include "fft/transform.hpp"
#include "grid/grid.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

// Memory that is read soon is brought into the cache bit by bit: while a processor computes, its memory is idle.
class Prefetch {
 public:
  // bytes: that will be read at next (null: nothing); times: that `some` is called.
  Prefetch(const void* next, std::size_t bytes, Index times)
      : at_(static_cast<const std::byte*>(next)), end_(next == nullptr ? at_ : at_ + std::min(bytes, most_bytes)) {
    step_ = static_cast<std::size_t>(end_ - at_) / static_cast<std::size_t>(std::max<Index>(1, times)) + 1;
  }
  void some() {
    for (const std::byte* const until = at_ + std::min(step_, static_cast<std::size_t>(end_ - at_)); at_ < until;) {
      __builtin_prefetch(at_, 0, 2);
      at_ += std::min(line, static_cast<std::size_t>(end_ - at_));
    }
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{256} << 10;  // a part of a core's own cache
  static constexpr std::size_t line = 64;
  const std::byte* at_;
  const std::byte* end_;
  std::size_t step_;
};

// Where the values of a transform lie between its stages, and how they get from one rank to another.

template <typename Real>
auto Fft3d<Real>::Between::to_write() const -> std::vector<Piece<Value>> {
  Value* const at = turns == nullptr ? write_at : reinterpret_cast<Value*>(turns->own());
  std::vector<Piece<Value>> pieces;
  for (const Part& part : written) pieces.push_back({at + part.offset, part.share, part.field, part.x, part.y});
  return pieces;
}

template <typename Real>
auto Fft3d<Real>::Between::to_read() const -> std::vector<Piece<const Value>> {
  std::vector<Piece<const Value>> pieces;
  for (const Part& part : read) {
    const auto* shared = turns == nullptr ? nullptr : turns->of(static_cast<std::size_t>(part.rank));
    const Value* const at = turns == nullptr ? read_at : reinterpret_cast<const Value*>(shared);
    pieces.push_back({at + part.offset, part.share, part.field, part.x, part.y});
  }
  return pieces;
}

// Memory that is shared is twice an array for each exchange, in place of a buffer of one.
constexpr std::size_t most_array_bytes = std::size_t{64} << 20;

template <typename Real>
void Fft3d<Real>::share_memory() {
  const bool is_of_use = spec_.shares_memory && spec_.method == TransposeMethod::alltoall && spec_.piece_bytes == 0 &&
                         spec_.ranks_per_node == 0 && !is_sliced() && !is_simulated;
  if (!is_of_use || RankNodes(comm_).sizes().nodes() > 1) return;
  const std::size_t exchanges = (p1_ > 1 ? 1 : 0) + (p2_ > 1 ? 1 : 0);
  if (!by_all(comm_, array_.bytes() <= most_array_bytes) || !is_little(comm_, 2 * exchanges * array_.bytes())) return;
  if (p2_ > 1) row_turns_ = SharedTurns::among(row_.get(), array_.bytes());
  if (p1_ > 1) column_turns_ = SharedTurns::among(column_.get(), array_.bytes());
}

template <typename Real>
typename Fft3d<Real>::Exchanges& Fft3d<Real>::exchanges_of(Index fields) {
  if (fields != spec_.fields && fields != spec_.last_fields) throw std::logic_error("a run of fields without exchanges");
  return exchanges_[fields == spec_.fields ? 0 : 1];
}

template <typename Real>
void Fft3d<Real>::connect(Index fields) {
  Exchanges& exchanges = exchanges_[fields == spec_.fields ? 0 : 1];
  if (p2_ > 1) connect_row(exchanges, fields);
  connect_column(exchanges, fields);
  if (is_sliced()) connect_slices(exchanges, fields);
}

// Every rank writes the box of the stage before, and reads of the others' what lies in its box of the stage behind.
template <typename Real>
void Fft3d<Real>::share(std::array<Between, 2>& both, SharedTurns& turns, const std::vector<Index>& ranks, const Boxes& first,
                        const Boxes& second) {
  const Decomposition& d = spec_.decomposition;
  const auto part_of = [](const Box& box, std::size_t axis) {
    return Part{box[axis], 0, 0, volume(box), box[1].count * box[2].count, box[2].count};
  };
  for (const bool there : {true, false}) {
    const Boxes& before = there ? first : second;
    const Boxes& behind = there ? second : first;
    Between& between = both[there ? 0 : 1];
    between.turns = &turns;
    between.written = {part_of((d.*before.of)(rank_), before.whole)};
    const Box own = (d.*behind.of)(rank_);
    for (std::size_t peer = 0; peer < ranks.size(); ++peer) {
      const Box theirs = (d.*before.of)(ranks[peer]);
      Part part = part_of(theirs, behind.whole);
      part.rank = static_cast<Index>(peer);
      const std::array<Index, 3> steps{part.x, part.y, 1};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (axis != behind.whole) part.offset += (own[axis].first - theirs[axis].first) * steps[axis];
      }
      between.read.push_back(part);
    }
  }
}

// Planes have whole lines along axis 2, the stage in the middle has whole lines along axis 1, of this rank's points of axis 2.
template <typename Real>
void Fft3d<Real>::connect_row(Exchanges& exchanges, Index fields) {
  const Index all = fields * own0_;
  auto& forward = exchanges.row[0];
  if (row_turns_) {
    std::vector<Index> ranks;
    for (Index peer = 0; peer < p2_; ++peer) ranks.push_back(rank_ / p2_ * p2_ + peer);
    share(exchanges.row, *row_turns_, ranks, {&Decomposition::natural, 2}, {&Decomposition::middle, 1});
    return;
  }
  // Blocks: [axis 1][field][axis 0][points of axis 2 of the peer]; behind the exchange [axis 1][field][axis 0][axis 2].
  BlocksOfRanks blocks, lines;
  Index offset = 0;
  for (Index peer = 0; peer < p2_; ++peer) {
    const Share points = share_of(n2_, p2_, peer);
    forward.written.push_back({points, peer, offset, own0_ * points.count, points.count, all * points.count});
    blocks.add(offset, all * own1_ * points.count, sizeof(Value));
    offset += all * own1_ * points.count;
    const Share theirs = share_of(n1_, p2_, peer);
    lines.add(theirs.first * all * own2_, theirs.count * all * own2_, sizeof(Value));
  }
  forward.read = {{{0, n1_}, 0, 0, own0_ * own2_, own2_, all * own2_}};
  join(row_.get(), exchanges.row, blocks, lines, work_, array_);
}

// Before lines along axis 0 are whole, lines along axis 1 are.
template <typename Real>
void Fft3d<Real>::connect_column(Exchanges& exchanges, Index fields) {
  auto& forward = exchanges.column[0];
  if (column_turns_) {
    std::vector<Index> ranks;
    for (Index peer = 0; peer < p1_; ++peer) ranks.push_back(peer * p2_ + rank_ % p2_);
    share(exchanges.column, *column_turns_, ranks, {&Decomposition::middle, 1}, {&Decomposition::transposed, 0});
    return;
  }
  // Blocks: [axis 0][field][lines of axis 1 of the peer][axis 2]; behind the exchange all planes of axis 0.
  BlocksOfRanks blocks, planes;
  Index offset = 0;
  const Index plane = fields * late1_ * own2_;
  for (Index peer = 0; peer < p1_; ++peer) {
    const Share lines = share_of(n1_, p1_, peer);
    const Index block = lines.count * own2_;
    forward.written.push_back({lines, peer, offset, block, fields * block, own2_});
    blocks.add(offset, own0_ * fields * block, sizeof(Value));
    offset += own0_ * fields * block;
    const Share theirs = share_of(n0_, p1_, peer);
    planes.add(theirs.first * plane, theirs.count * plane, sizeof(Value));
  }
  forward.read = {{{0, n0_}, 0, 0, late1_ * own2_, plane, own2_}};
  const Buffer& from = p1_ == 1 && row_turns_ ? array_ : work_;  // where the array is not in use meanwhile
  join(column_.get(), exchanges.column, blocks, planes, from, p1_ == 1 ? from : is_sliced() ? late_ : array_);
}

// The way there by messages, and the way back, which is the same in reverse.
template <typename Real>
void Fft3d<Real>::join(MPI_Comm comm, std::array<Between, 2>& both, const BlocksOfRanks& blocks, const BlocksOfRanks& lines,
                       const Buffer& from, const Buffer& into) {
  auto& [forward, backward] = both;
  backward.written = forward.read;
  backward.read = forward.written;
  forward.write_at = backward.read_at = from.template as<Value>();
  forward.read_at = backward.write_at = into.template as<Value>();
  if (&from == &into || is_sliced() || spec_.alone) return;
  auto* const there = from.template as<std::byte>();
  auto* const here = into.template as<std::byte>();
  forward.blocks = std::make_unique<BlockExchange>(comm, variant(), blocks, lines, there, here);
  backward.blocks = std::make_unique<BlockExchange>(comm, variant(), lines, blocks, here, there);
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
    exchanges.slices[0].push_back(
        std::make_unique<BlockExchange>(column_.get(), variant(), blocks, lines, work_.as<std::byte>(), late_.as<std::byte>()));
    exchanges.slices[1].push_back(
        std::make_unique<BlockExchange>(column_.get(), variant(), lines, blocks, late_.as<std::byte>(), work_.as<std::byte>()));
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

// The first rank has the most of everything, so that its largest blocks say it for all.
template <typename Real>
BlockVariant Fft3d<Real>::variant() {
  BlockVariant variant{spec_.method, sizeof(Value), spec_.piece_bytes, spec_.ranks_per_node, &passing_};
  const Decomposition& d = spec_.decomposition;
  constexpr auto most = static_cast<double>(std::numeric_limits<int>::max());
  const Box natural = d.natural(0);
  const Box middle = d.middle(0);
  const auto row = static_cast<double>(spec_.fields * natural[0].count * natural[1].count * middle[2].count);
  const auto column = static_cast<double>(spec_.fields * middle[0].count * d.transposed(0)[1].count * middle[2].count);
  const bool is_counted = spec_.method == TransposeMethod::alltoall
                              ? static_cast<double>(spec_.fields * d.local_values(0)) <= most
                              : std::max(row, column) * static_cast<double>(sizeof(Value)) <= most;
  if (!is_counted && variant.piece_bytes == 0) variant.piece_bytes = BlockVariant::usual_piece_bytes;
  return variant;
}

// The local work of a 3-D transform, stage by stage.

template <typename Value>
void copy_scaled(const Value* from, Index count, Value* into, double scale) {
  if (scale == 1.0) {
    std::copy_n(from, count, into);
    return;
  }
  const auto factor = static_cast<typename Value::value_type>(scale);
  std::transform(from, from + count, into, [factor](const Value& value) { return value * factor; });
}

// Adds the time since the last mark to a phase.
template <typename Real>
class Fft3d<Real>::Lap {
 public:
  void to(double& phase_s) {
    const double now_s = steady_s();
    phase_s += now_s - last_s_;
    last_s_ = now_s;
  }

 private:
  double last_s_ = steady_s();
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

// Works on the planes of a chunk, some of one field at a time: work(field, its ends, planes, times).
template <typename Real>
template <class Work>
void Fft3d<Real>::in_planes(const Ends& ends, Index chunk, Work work) {
  const Share here = chunk_of(own0_, own1_ * n2_, chunk);
  const Index batches = (here.count + planes_.step - 1) / planes_.step;
  in_units(ends.fields * batches, ends.fields * here.count, [&](Index unit, PhaseTimes& own) {
    const Index field = unit / batches;
    const Index first = here.first + unit % batches * planes_.step;
    return work(field, ends.of_field(field), Share{first, std::min(planes_.step, here.first + here.count - first)}, own);
  });
}

template <typename Real>
void Fft3d<Real>::scatter_planes(bool transforms, const Ends& ends, const Between& next, Index chunk) {
  const bool are_real = transforms && spec_.decomposition.real;  // on the caller's side
  const auto pieces = next.to_write();
  in_planes(ends, chunk, [&](Index field, const Ends& theirs, Share here, PhaseTimes& own) {
    Lap lap;
    const auto [x0, count] = here;
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
      each_run(piece, field, here, [planes](Value* at, Index place, Index values) { std::copy_n(planes + place, values, at); });
    }
    lap.to(own.shuffle_s);
    return count;
  });
}

template <typename Real>
void Fft3d<Real>::gather_planes(bool transforms, const Ends& ends, const Between& before, Index chunk) {
  const bool are_real = transforms && spec_.decomposition.real;  // on the caller's side
  const auto pieces = before.to_read();
  const Index planes_here = chunk_of(own0_, own1_ * n2_, chunk).count;
  const Index runs = ends.fields * planes_here * (p2_ == 1 ? 1 : own1_) * static_cast<Index>(pieces.size());
  Prefetch prefetch(transforms ? ends.next : nullptr, array_.bytes(), runs);
  in_planes(ends, chunk, [&](Index field, const Ends& theirs, Share here, PhaseTimes& own) {
    Lap lap;
    const auto [x0, count] = here;
    const Index plane = own1_ * n2_;
    Value* target = nullptr;  // the caller's, where its planes are as ours
    if (ends.into != nullptr && !are_real) target = static_cast<Value*>(theirs.into) + x0 * plane;
    Value* planes = data() + (ends.into == nullptr ? (field * own0_ + x0) * plane : 0);
    if (!transforms && target != nullptr) planes = target;
    for (const auto& piece : pieces) {
      each_run(piece, field, here, [&](const Value* at, Index place, Index values) {
        prefetch.some();
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
  Prefetch prefetch(direction == Direction::forward ? ends.next : nullptr, array_.bytes(), ends.fields * panels * n0_);
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
        prefetch.some();
      }
    }
    lap.to(own.shuffle_s);
    return width;
  });
}

}  // namespace rankwise
