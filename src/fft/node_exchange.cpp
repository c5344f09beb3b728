#include "fft/node_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "mpi/error.hpp"
#include "mpi/wait.hpp"

namespace rankwise {

namespace {

constexpr int node_tag = 10;

}  // namespace

NodeExchange::NodeExchange(MPI_Comm comm, const std::vector<std::size_t>& send_offsets, const std::vector<std::size_t>& send_bytes,
                           const std::vector<std::size_t>& recv_offsets, const std::vector<std::size_t>& recv_bytes,
                           const std::byte* from, std::byte* into, int ranks_per_node)
    : comm_(comm), from_(from), into_(into) {
  int rank = 0;
  mpi(MPI_Comm_rank(comm, &rank));
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
  const auto received = [&](std::size_t d, std::size_t r) { return static_cast<std::size_t>(of_node[2 * ranks * d + ranks + r]); };

  bool fits = true;
  const auto close = [&fits](Counts& counts, std::size_t begin) {
    constexpr std::size_t most = std::numeric_limits<int>::max();
    fits = fits && counts.total <= most;
    counts.offsets.push_back(static_cast<int>(std::min(begin, most)));
    counts.bytes.push_back(static_cast<int>(std::min(counts.total - begin, most)));
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
    if (outgoing > begin) sends_.push_back({peer, begin, static_cast<int>(std::min<std::size_t>(outgoing - begin, std::numeric_limits<int>::max()))});
    landed[node] = incoming;
    for (const std::size_t r : nodes[node]) {
      for (std::size_t d = 0; d < locals; ++d) incoming += received(d, r);
    }
    const std::size_t bytes = incoming - landed[node];
    if (bytes > 0) receives_.push_back({peer, landed[node], static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()))});
    fits = fits && outgoing <= static_cast<std::size_t>(std::numeric_limits<int>::max()) && incoming <= static_cast<std::size_t>(std::numeric_limits<int>::max());
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
  packed_.resize(std::max({out_.total, outgoing, hand_out_.total}));
  gathered_.resize(gather_.total + std::max(arrive_.total, incoming));
  int good = fits && nodes.size() > 1 ? 1 : 0;
  mpi(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm));
  is_of_use_ = good != 0;
}

NodeExchange::~NodeExchange() {
  if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
}

void NodeExchange::apply(const std::vector<Move>& moves, const std::byte* from, std::byte* into) {
  for (const Move& move : moves) std::memcpy(into + move.into, from + move.from, move.bytes);
}

void NodeExchange::run() {
  std::byte* const packed = packed_.data();
  std::byte* const gathered = gathered_.data();
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

}  // namespace rankwise
