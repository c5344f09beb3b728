#include "fft/block_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <utility>

#include "exchange/transport.hpp"
#include "exchange/shared_memory.hpp"
#include "fft/memory.hpp"
#include "grid/names.hpp"
#include "mpi/mpi.hpp"
#include "schedule/programs.hpp"

namespace rankwise {

namespace {

constexpr int block_tag = 9;
constexpr std::array<Name<TransposeMethod>, 3> transpose_methods{{{"alltoall", TransposeMethod::alltoall},
                                                                  {"pairwise", TransposeMethod::pairwise},
                                                                  {"node-aware", TransposeMethod::node_aware}}};

// Counts in values, and where each block begins.
void lay_out(const BlocksOfRanks& blocks, std::size_t value_bytes, std::vector<int>& counts, std::vector<int>& offsets) {
  for (std::size_t peer = 0; peer < blocks.sizes.size(); ++peer) {
    if ((blocks.offsets[peer] + blocks.sizes[peer]) / value_bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw std::logic_error("a rank's blocks of more than 2^31 values must travel in pieces");
    }
    offsets.push_back(static_cast<int>(blocks.offsets[peer] / value_bytes));
    counts.push_back(static_cast<int>(blocks.sizes[peer] / value_bytes));
  }
}

}  // namespace

BlocksOfRanks BlocksOfRanks::in_a_row(const std::vector<std::size_t>& sizes) {
  BlocksOfRanks blocks{{}, sizes};
  std::size_t offset = 0;
  for (const std::size_t bytes : sizes) {
    blocks.offsets.push_back(offset);
    offset += bytes;
  }
  return blocks;
}

TransposeMethod parse_transpose_method(const std::string& name) { return parsed(transpose_methods, name, "transpose method"); }
std::string to_string(TransposeMethod method) { return named(transpose_methods, method); }

std::byte* PassingMemory::room(std::size_t bytes) {
  const auto fits = std::ranges::find_if(rooms_, [bytes](const auto& room) { return room.size() >= bytes; });
  return fits != rooms_.end() ? fits->data() : rooms_.emplace_back(bytes).data();
}

std::size_t PassingMemory::bytes() const {
  std::size_t bytes = 0;
  for (const auto& room : rooms_) bytes += room.size();
  return bytes;
}

BlockExchange::BlockExchange(MPI_Comm comm, const BlockVariant& variant, const BlocksOfRanks& sends,
                             const BlocksOfRanks& receives, std::byte* from, std::byte* into)
    : comm_(comm), sends_(sends), receives_(receives), from_(from), into_(into) {
  if (variant.piece_bytes > 0) {
    straight_ = straight(variant.piece_bytes);
  } else if (variant.method == TransposeMethod::alltoall) {
    lay_out(sends, variant.value_bytes, send_counts_, send_offsets_);
    lay_out(receives, variant.value_bytes, recv_counts_, recv_offsets_);
    MPI_Type_contiguous(static_cast<int>(variant.value_bytes), MPI_BYTE, &value_);
    MPI_Type_commit(&value_);
  } else {
    straight_ = straight(BlockVariant::usual_piece_bytes);
    steps_ = variant.method == TransposeMethod::pairwise ? pairwise() : by_nodes(variant);
  }
  for (Carried* carried : {&straight_, &steps_}) {
    if (carried->slots.empty()) continue;
    carried->executor = std::make_unique<Executor>(comm, carried->schedule, SendMode::isend, carried->slots);
  }
}

// Every block to its rank, in pieces where it is long: those to one peer come in the order in which they are sent.
BlockExchange::Carried BlockExchange::straight(std::size_t piece_bytes) const {
  const int rank = rank_of(comm_);
  Carried carried;
  Step& step = carried.schedule.steps.emplace_back();
  const auto slot = [&carried](std::byte* data, std::size_t bytes) -> std::vector<SlotRange> {
    carried.slots.push_back({data, bytes});
    return {{static_cast<Index>(carried.slots.size()) - 1, 1}};
  };
  const auto cut = [&](Op::Kind kind, const BlocksOfRanks& blocks, std::byte* data) {
    for (std::size_t peer = 0; peer < blocks.sizes.size(); ++peer) {
      for (std::size_t at = 0; static_cast<int>(peer) != rank && at < blocks.sizes[peer]; at += piece_bytes) {
        const std::size_t bytes = std::min(piece_bytes, blocks.sizes[peer] - at);
        step.ops.push_back({kind, static_cast<Index>(peer), block_tag, slot(data + blocks.offsets[peer] + at, bytes), {}, {}});
      }
    }
  };
  cut(Op::Kind::recv, receives_, into_);
  cut(Op::Kind::send, sends_, from_);
  const auto own = static_cast<std::size_t>(rank);
  const std::vector<SlotRange> here = slot(into_ + receives_.offsets[own], receives_.sizes[own]);
  step.ops.push_back({Op::Kind::copy, rank, 0, here, slot(from_ + sends_.offsets[own], sends_.sizes[own]), {}});
  carried.schedule.slots = static_cast<Index>(carried.slots.size());
  return carried;
}

BlockExchange::Carried BlockExchange::pairwise() const {
  Carried carried{make_transpose(static_cast<Index>(sends_.sizes.size()), rank_of(comm_))};
  for (std::size_t peer = 0; peer < sends_.sizes.size(); ++peer) {
    carried.slots.push_back({from_ + sends_.offsets[peer], sends_.sizes[peer]});
  }
  for (std::size_t peer = 0; peer < sends_.sizes.size(); ++peer) {
    carried.slots.push_back({into_ + receives_.offsets[peer], receives_.sizes[peer]});
  }
  return carried;
}

// Nothing, on all ranks, where it does not serve: one node, or one rank on each, or a message that MPI cannot count.
BlockExchange::Carried BlockExchange::by_nodes(const BlockVariant& variant) const {
  if (variant.memory == nullptr) throw std::logic_error("node-aware exchanges need memory to share");
  const int rank = rank_of(comm_);
  PartnerLists partners;
  for (std::size_t peer = 0; peer < sends_.sizes.size(); ++peer) {
    const auto number = static_cast<int>(peer);
    if (number == rank) continue;
    if (receives_.sizes[peer] > 0) partners.from.push_back(number);
    if (sends_.sizes[peer] == 0) continue;
    partners.to.push_back(number);
    partners.bytes_out.push_back(static_cast<Index>(sends_.sizes[peer]));
  }
  const NodeKnowledge nodes(comm_, {partners}, variant.ranks_per_node);
  if (!nodes.is_of_use()) return {};
  const NodeTraffic& traffic = nodes.traffic().front();
  NodeAwareSchedule part = node_aware_schedule(NodeAwareKind::three_step, rank, traffic, nodes.hear(NodeAwareKind::three_step));
  std::map<Packet, std::size_t> bytes_of;
  for (const auto* messages : {&traffic.out, &traffic.in}) {
    for (const NodeTraffic::Message& message : *messages) bytes_of[message.packet] = static_cast<std::size_t>(message.bytes);
  }
  Carried carried{std::move(part.schedule)};
  std::size_t passing = 0;
  for (const auto& [source, dest] : part.slots) {
    if (source != rank && dest != rank) passing += bytes_of.at({source, dest});
  }
  std::byte* passed = variant.memory->room(passing);
  const auto add = [&](std::byte* data, const BlocksOfRanks& blocks, Index peer) {
    const auto i = static_cast<std::size_t>(peer);
    carried.slots.push_back({data + blocks.offsets[i], blocks.sizes[i]});
  };
  for (const auto& [source, dest] : part.slots) {
    if (source == rank) {
      add(from_, sends_, dest);
    } else if (dest == rank) {
      add(into_, receives_, source);
    } else {
      carried.slots.push_back({passed, bytes_of.at({source, dest})});
      passed += carried.slots.back().bytes;
    }
  }
  bool is_counted = true;
  for (const Op& op : carried.schedule.ops()) {
    std::size_t bytes = 0;
    for (const SlotRange& slot : op.slots) bytes += carried.slots[static_cast<std::size_t>(slot.first)].bytes;
    is_counted = is_counted && bytes <= std::numeric_limits<int>::max();
  }
  if (!by_all(comm_, is_counted)) return {};
  add(into_, receives_, rank);
  add(from_, sends_, rank);
  const Index own = carried.schedule.slots;
  carried.schedule.steps.front().ops.push_back({Op::Kind::copy, rank, 0, {{own, 1}}, {{own + 1, 1}}, {}});
  carried.schedule.slots += 2;
  return carried;
}

BlockExchange::~BlockExchange() {
  if (value_ != MPI_DATATYPE_NULL) MPI_Type_free(&value_);
}

void BlockExchange::run() {
  if (steps_) return steps_.executor->run();
  if (straight_) return straight_.executor->run();
  mpi(MPI_Alltoallv(from_, send_counts_.data(), send_offsets_.data(), value_, into_, recv_counts_.data(), recv_offsets_.data(),
                    value_, comm_));
}

void BlockExchange::start() {
  if (straight_) return straight_.executor->start();
  mpi(MPI_Ialltoallv(from_, send_counts_.data(), send_offsets_.data(), value_, into_, recv_counts_.data(), recv_offsets_.data(),
                     value_, comm_, &request_));
}

bool BlockExchange::test() {
  if (straight_) return straight_.executor->test();
  int done = 0;
  mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

void BlockExchange::wait() {
  if (straight_) return straight_.executor->wait();
  wait_all(1, &request_);
}

namespace {

std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

std::unique_ptr<SharedTurns> SharedTurns::among(MPI_Comm comm, std::size_t bytes) {
  std::unique_ptr<SharedTurns> turns;
  try {
    turns.reset(new SharedTurns(comm, bytes));
  } catch (const std::bad_alloc&) {  // the others are told
  }
  if (!by_all(comm, turns != nullptr) || !by_all(comm, turns->reaches_all())) return nullptr;
  return turns;
}

SharedTurns::SharedTurns(MPI_Comm comm, std::size_t bytes) : comm_(comm), own_(flag_bytes + 2 * whole_lines(bytes)) {
  std::memset(own_.data(), 0, own_.name().bytes);  // here, that is
  new (own_.data()) Flag;
}

bool SharedTurns::reaches_all() {
  const int size = size_of(comm_);
  const int rank = rank_of(comm_);
  first_ = static_cast<std::size_t>(rank);
  std::vector<SegmentName> names(static_cast<std::size_t>(size));
  mpi(MPI_Allgather(&own_.name(), sizeof(SegmentName), MPI_BYTE, names.data(), sizeof(SegmentName), MPI_BYTE, comm_));
  for (const SegmentName& name : names) ranks_.push_back(MappedSegment::map(name));
  return std::ranges::all_of(ranks_, [](const auto& one) { return one != nullptr; });
}

void SharedTurns::start() {
  ++turn_;
  seen_ = 0;
  reinterpret_cast<Flag*>(own_.data())->turn.store(turn_, std::memory_order_release);
}

bool SharedTurns::advance(bool wait) {
  return poll_until_all(comm_, wait, [this] {
    const std::size_t before = seen_;
    for (; seen_ < ranks_.size(); ++seen_) {
      const auto& rank = *ranks_[(first_ + seen_) % ranks_.size()];
      if (reinterpret_cast<const Flag*>(rank.data())->turn.load(std::memory_order_acquire) < turn_) break;
    }
    return seen_ == ranks_.size() ? Seen::all : seen_ > before ? Seen::some : Seen::nothing;
  });
}

void SharedTurns::run() {
  start();
  wait();
}

bool SharedTurns::test() { return advance(false); }

void SharedTurns::wait() { static_cast<void>(advance(true)); }

}  // namespace rankwise
