#include "fft/block_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "exchange/shared_memory.hpp"
#include "fft/memory.hpp"
#include "mpi/mpi.hpp"
#include "schedule/programs.hpp"

namespace rankwise {

namespace {

constexpr int block_tag = 9;

}  // namespace

LongBlocks::LongBlocks(MPI_Comm comm, const std::vector<LongBlock>& sends, const std::vector<LongBlock>& receives,
                       const std::byte* from, std::byte* into, std::size_t piece_bytes)
    : comm_(comm), from_(from), into_(into) {
  const int rank = rank_of(comm);
  sends_ = cut(sends, rank, piece_bytes);
  receives_ = cut(receives, rank, piece_bytes);
  for (const LongBlock& block : sends) {
    if (block.peer == rank) own_from_ = block.offset, own_bytes_ = block.bytes;
  }
  for (const LongBlock& block : receives) {
    if (block.peer == rank) own_into_ = block.offset;
  }
}

// The pieces to one peer come in the order in which they are sent: one tag is enough.
std::vector<LongBlocks::Piece> LongBlocks::cut(const std::vector<LongBlock>& blocks, int own, std::size_t piece_bytes) {
  std::vector<Piece> pieces;
  for (const LongBlock& block : blocks) {
    for (std::size_t at = 0; block.peer != own && at < block.bytes; at += piece_bytes) {
      pieces.push_back({block.peer, block.offset + at, static_cast<int>(std::min(piece_bytes, block.bytes - at))});
    }
  }
  return pieces;
}

void LongBlocks::start() {
  requests_.assign(sends_.size() + receives_.size(), MPI_REQUEST_NULL);
  MPI_Request* request = requests_.data();
  for (const Piece& piece : receives_) {
    mpi(MPI_Irecv(into_ + piece.offset, piece.bytes, MPI_BYTE, piece.peer, block_tag, comm_, request++));
  }
  for (const Piece& piece : sends_) {
    mpi(MPI_Isend(from_ + piece.offset, piece.bytes, MPI_BYTE, piece.peer, block_tag, comm_, request++));
  }
  if (own_bytes_ > 0) std::memcpy(into_ + own_into_, from_ + own_from_, own_bytes_);
}

bool LongBlocks::test() {
  int done = 0;
  mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE));
  return done != 0;
}

void LongBlocks::wait() { wait_all(static_cast<int>(requests_.size()), requests_.data()); }

namespace {

constexpr int node_tag = 10;
constexpr std::size_t most = std::numeric_limits<int>::max();  // what MPI counts

int counted(std::size_t bytes) { return static_cast<int>(std::min(bytes, most)); }

}  // namespace

NodeExchange::NodeExchange(MPI_Comm comm, const std::vector<std::size_t>& send_offsets,
                           const std::vector<std::size_t>& send_bytes, const std::vector<std::size_t>& recv_offsets,
                           const std::vector<std::size_t>& recv_bytes, const std::byte* from, std::byte* into,
                           int ranks_per_node, NodeMemory& memory)
    : comm_(comm), from_(from), into_(into), memory_(memory) {
  const int rank = rank_of(comm);
  const auto ranks = send_bytes.size();
  if (ranks_per_node > 0) {
    mpi(MPI_Comm_split(comm, rank / ranks_per_node, rank, &node_));
  } else {
    mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_));
  }
  // Nodes in the order of their first ranks, and the ranks of each.
  int first = rank;
  mpi(MPI_Bcast(&first, 1, MPI_INT, 0, node_));
  std::vector<int> firsts(ranks);
  mpi(MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, comm));
  std::vector<int> heads = firsts;
  std::ranges::sort(heads);
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  std::vector<std::vector<std::size_t>> nodes(heads.size());
  const auto node_of = [&](std::size_t r) {
    return static_cast<std::size_t>(std::ranges::lower_bound(heads, firsts[r]) - heads.begin());
  };
  for (std::size_t r = 0; r < ranks; ++r) nodes[node_of(r)].push_back(r);
  const std::size_t here = node_of(static_cast<std::size_t>(rank));
  const std::vector<std::size_t>& mine = nodes[here];
  const auto local = static_cast<std::size_t>(std::ranges::find(mine, static_cast<std::size_t>(rank)) - mine.begin());
  // Who of a node sends to another node, and receives from it.
  const auto in_charge = [&](std::size_t node, std::size_t other) { return other % nodes[node].size(); };
  // What the ranks of this node send to each rank, and receive from each.
  const std::size_t locals = mine.size();
  std::vector<std::uint64_t> own(ranks * 2), of_node(ranks * 2 * locals);
  for (std::size_t r = 0; r < ranks; ++r) own[r] = send_bytes[r], own[ranks + r] = recv_bytes[r];
  const auto count = static_cast<int>(2 * ranks);
  mpi(MPI_Allgather(own.data(), count, MPI_UINT64_T, of_node.data(), count, MPI_UINT64_T, node_));
  const auto sent = [&](std::size_t s, std::size_t r) { return static_cast<std::size_t>(of_node[2 * ranks * s + r]); };
  const auto received = [&](std::size_t d, std::size_t r) {
    return static_cast<std::size_t>(of_node[2 * ranks * d + ranks + r]);
  };

  bool fits = true;
  const auto close = [&fits](Counts& counts, std::size_t begin) {
    fits = fits && counts.total <= most;
    counts.offsets.push_back(counted(begin));
    counts.bytes.push_back(counted(counts.total - begin));
  };
  // To rank l of this node: its own block, then those for the nodes that it is in charge of.
  for (std::size_t l = 0; l < locals; ++l) {
    const std::size_t begin = out_.total;
    const auto add = [&](std::size_t r) {
      if (send_bytes[r] > 0) pack_.push_back({send_offsets[r], out_.total, send_bytes[r]});
      out_.total += send_bytes[r];
    };
    add(mine[l]);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (node == here || in_charge(here, node) != l) continue;
      for (const std::size_t r : nodes[node]) add(r);
    }
    close(out_, begin);
  }
  // What arrives of it from rank s of this node: the block for this rank, then bundles by node.
  std::vector<std::vector<Move>> bundles(nodes.size());
  for (std::size_t s = 0; s < locals; ++s) {
    const std::size_t begin = gather_.total;
    if (sent(s, mine[local]) > 0) unpack_.push_back({gather_.total, recv_offsets[mine[s]], sent(s, mine[local])});
    gather_.total += sent(s, mine[local]);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (node == here || in_charge(here, node) != local) continue;
      std::size_t bytes = 0;
      for (const std::size_t r : nodes[node]) bytes += sent(s, r);
      bundles[node].push_back({gather_.total, 0, bytes});
      gather_.total += bytes;
    }
    close(gather_, begin);
  }
  // Messages from node to node.
  std::size_t outgoing = 0;
  std::size_t incoming = 0;
  std::vector<std::size_t> landed(nodes.size(), 0);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (node == here || in_charge(here, node) != local) continue;
    const auto peer = static_cast<int>(nodes[node][in_charge(node, here)]);
    const std::size_t begin = outgoing;
    for (Move& move : bundles[node]) {
      move.into = outgoing;
      outgoing += move.bytes;
      if (move.bytes > 0) bundle_.push_back(move);
    }
    if (outgoing > begin) sends_.push_back({peer, begin, counted(outgoing - begin)});
    landed[node] = incoming;
    for (const std::size_t r : nodes[node]) {
      for (std::size_t d = 0; d < locals; ++d) incoming += received(d, r);
    }
    const std::size_t bytes = incoming - landed[node];
    if (bytes > 0) receives_.push_back({peer, landed[node], counted(bytes)});
    fits = fits && outgoing <= most && incoming <= most;
  }
  // They hold, by sender, the blocks of all ranks of this node: handed out by rank, then node, then sender.
  for (std::size_t d = 0; d < locals; ++d) {
    const std::size_t begin = hand_out_.total;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (node == here || in_charge(here, node) != local) continue;
      std::size_t at = landed[node];
      for (const std::size_t r : nodes[node]) {
        for (std::size_t other = 0; other < locals; ++other) {
          if (other == d && received(d, r) > 0) split_.push_back({at, hand_out_.total, received(d, r)});
          if (other == d) hand_out_.total += received(d, r);
          at += received(other, r);
        }
      }
    }
    close(hand_out_, begin);
  }
  for (std::size_t l = 0; l < locals; ++l) {
    const std::size_t begin = arrive_.total;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (node == here || in_charge(here, node) != l) continue;
      for (const std::size_t r : nodes[node]) {
        if (recv_bytes[r] > 0) unpack_.push_back({gather_.total + arrive_.total, recv_offsets[r], recv_bytes[r]});
        arrive_.total += recv_bytes[r];
      }
    }
    close(arrive_, begin);
  }
  memory_.packed.resize(std::max({memory_.packed.size(), out_.total, outgoing, hand_out_.total}));
  memory_.gathered.resize(std::max(memory_.gathered.size(), gather_.total + std::max(arrive_.total, incoming)));
  is_of_use_ = by_all(comm, fits && nodes.size() > 1);
}

NodeExchange::~NodeExchange() {
  if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
}

void NodeExchange::apply(const std::vector<Move>& moves, const std::byte* from, std::byte* into) {
  for (const Move& move : moves) std::memcpy(into + move.into, from + move.from, move.bytes);
}

void NodeExchange::run() {
  std::byte* const packed = memory_.packed.data();
  std::byte* const gathered = memory_.gathered.data();
  std::byte* const behind = gathered + gather_.total;
  std::vector<MPI_Request> requests(sends_.size() + receives_.size(), MPI_REQUEST_NULL);
  MPI_Request* request = requests.data();
  for (const Message& message : receives_) {
    mpi(MPI_Irecv(behind + message.offset, message.bytes, MPI_BYTE, message.peer, node_tag, comm_, request++));
  }
  apply(pack_, from_, packed);
  mpi(MPI_Alltoallv(packed, out_.bytes.data(), out_.offsets.data(), MPI_BYTE, gathered, gather_.bytes.data(),
                    gather_.offsets.data(), MPI_BYTE, node_));
  apply(bundle_, gathered, packed);
  for (const Message& message : sends_) {
    mpi(MPI_Isend(packed + message.offset, message.bytes, MPI_BYTE, message.peer, node_tag, comm_, request++));
  }
  wait_all(static_cast<int>(requests.size()), requests.data());
  apply(split_, behind, packed);
  mpi(MPI_Alltoallv(packed, hand_out_.bytes.data(), hand_out_.offsets.data(), MPI_BYTE, behind, arrive_.bytes.data(),
                    arrive_.offsets.data(), MPI_BYTE, node_));
  apply(unpack_, gathered, into_);
}

namespace {

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

std::vector<LongBlock> long_blocks(const BlocksOfRanks& blocks) {
  std::vector<LongBlock> all;
  for (std::size_t peer = 0; peer < blocks.sizes.size(); ++peer) {
    all.push_back({static_cast<int>(peer), blocks.offsets[peer], blocks.sizes[peer]});
  }
  return all;
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

TransposeMethod parse_transpose_method(const std::string& name) {
  if (name == "alltoall") return TransposeMethod::alltoall;
  if (name == "pairwise") return TransposeMethod::pairwise;
  if (name == "node-aware") return TransposeMethod::node_aware;
  invalid("transpose method '" + name + "' is unknown: choose alltoall, pairwise or node-aware");
}

std::string to_string(TransposeMethod method) {
  return method == TransposeMethod::alltoall ? "alltoall" : method == TransposeMethod::pairwise ? "pairwise" : "node-aware";
}

BlockExchange::BlockExchange(MPI_Comm comm, const Way& way, const BlocksOfRanks& sends, const BlocksOfRanks& receives,
                             std::byte* from, std::byte* into)
    : comm_(comm), from_(from), into_(into) {
  const bool in_pieces = way.piece_bytes > 0;
  if (in_pieces || way.method != TransposeMethod::alltoall) {
    pieces_ = std::make_unique<LongBlocks>(comm, long_blocks(sends), long_blocks(receives), from, into,
                                           in_pieces ? way.piece_bytes : LongBlocks::usual_piece_bytes);
  }
  if (in_pieces) return;
  if (way.method == TransposeMethod::node_aware) {
    if (way.memory == nullptr) throw std::logic_error("node-aware exchanges need memory to share");
    nodes_ = std::make_unique<NodeExchange>(comm, sends.offsets, sends.sizes, receives.offsets, receives.sizes, from, into,
                                            way.ranks_per_node, *way.memory);
    if (!nodes_->is_of_use()) nodes_.reset();
    return;
  }
  if (way.method == TransposeMethod::alltoall) {
    lay_out(sends, way.value_bytes, send_counts_, send_offsets_);
    lay_out(receives, way.value_bytes, recv_counts_, recv_offsets_);
    MPI_Type_contiguous(static_cast<int>(way.value_bytes), MPI_BYTE, &value_);
    MPI_Type_commit(&value_);
    return;
  }
  const int rank = rank_of(comm);
  schedule_ = make_transpose(static_cast<Index>(sends.sizes.size()), rank);
  std::vector<SlotBuffer> slots;
  for (std::size_t peer = 0; peer < sends.sizes.size(); ++peer) {
    slots.push_back({from + sends.offsets[peer], sends.sizes[peer]});
  }
  for (std::size_t peer = 0; peer < sends.sizes.size(); ++peer) {
    slots.push_back({into + receives.offsets[peer], receives.sizes[peer]});
  }
  pairwise_ = std::make_unique<Executor>(comm, schedule_, SendMode::isend, slots);
}

BlockExchange::~BlockExchange() {
  if (value_ != MPI_DATATYPE_NULL) MPI_Type_free(&value_);
}

void BlockExchange::run() {
  if (pairwise_) return pairwise_->run();
  if (nodes_) return nodes_->run();
  if (pieces_) return pieces_->run();
  mpi(MPI_Alltoallv(from_, send_counts_.data(), send_offsets_.data(), value_, into_, recv_counts_.data(), recv_offsets_.data(),
                    value_, comm_));
}

void BlockExchange::start() {
  if (pieces_) return pieces_->start();
  mpi(MPI_Ialltoallv(from_, send_counts_.data(), send_offsets_.data(), value_, into_, recv_counts_.data(), recv_offsets_.data(),
                     value_, comm_, &request_));
}

bool BlockExchange::test() {
  if (pieces_) return pieces_->test();
  int done = 0;
  mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

void BlockExchange::wait() {
  if (pieces_) return pieces_->wait();
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
  return look_until_all(comm_, wait, [this] {
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
