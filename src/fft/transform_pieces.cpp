// Where the values of a transform lie between its stages, and how they get from one rank to another.
#include <algorithm>
#include <limits>

#include "cart/nodes.hpp"
#include "fft/memory.hpp"
#include "fft/transform.hpp"
#include "mpi/simulated.hpp"

namespace rankwise {

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
  if (p2_ > 1) row_turns_ = SharedTurns::among(row_, array_.bytes());
  if (p1_ > 1) column_turns_ = SharedTurns::among(column_, array_.bytes());
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
  join(row_, exchanges.row, blocks, lines, work_, array_);
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
  join(column_, exchanges.column, blocks, planes, from, p1_ == 1 ? from : is_sliced() ? late_ : array_);
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
  forward.blocks = std::make_unique<BlockExchange>(comm, way(), blocks, lines, there, here);
  backward.blocks = std::make_unique<BlockExchange>(comm, way(), lines, blocks, here, there);
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
        std::make_unique<BlockExchange>(column_, way(), blocks, lines, work_.as<std::byte>(), late_.as<std::byte>()));
    exchanges.slices[1].push_back(
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

// The first rank has the most of everything, so that its largest blocks say it for all.
template <typename Real>
Way Fft3d<Real>::way() {
  Way way{spec_.method, sizeof(Value), spec_.piece_bytes, spec_.ranks_per_node, &node_memory_};
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

#define RANKWISE_INSTANTIATE(Real)                                            \
  template struct Fft3d<Real>::Between;                                       \
  template void Fft3d<Real>::share_memory();                                  \
  template void Fft3d<Real>::connect(Index);                                  \
  template typename Fft3d<Real>::Exchanges& Fft3d<Real>::exchanges_of(Index); \
  template Share Fft3d<Real>::chunk_of(Index, Index, Index) const;
RANKWISE_INSTANTIATE(double)
RANKWISE_INSTANTIATE(float)
#undef RANKWISE_INSTANTIATE

}  // namespace rankwise
