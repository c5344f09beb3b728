#include "exchange/transport.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "mpi/mpi.hpp"

namespace rankwise {

DirectTransport::DirectTransport(MPI_Comm comm, int tag, const std::vector<int>& to, const std::vector<int>& from,
                                 std::size_t piece_bytes, bool persistent)
    : comm_(comm), tag_(tag), piece_bytes_(piece_bytes), persistent_(persistent), out_(to.size()), in_(from.size()) {
  for (std::size_t i = 0; i < to.size(); ++i) out_[i].peer = to[i];
  for (std::size_t i = 0; i < from.size(); ++i) in_[i].peer = from[i];
}

DirectTransport::~DirectTransport() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over == 0) free_requests();
}

void DirectTransport::free_requests() {
  for (std::vector<Line>* lines : {&in_, &out_}) {
    for (Line& line : *lines) {
      if (line.kept != MPI_REQUEST_NULL) MPI_Request_free(&line.kept);
    }
  }
}

void DirectTransport::make_room(Line& line, std::size_t bytes) {
  if (line.buffer && bytes <= line.room) return;
  line.buffer.reset(new std::byte[std::max(bytes, std::size_t{1})]);
  // The first pages are there before the first message; long messages may never be packed.
  std::memset(line.buffer.get(), 0, std::min(bytes, std::size_t{1} << 20));
  line.room = bytes;
  line.pieces = std::max(std::size_t{1}, (bytes + piece_bytes_ - 1) / piece_bytes_);
  grown_ = true;
}

void DirectTransport::ready() {
  if (!grown_) return;
  grown_ = false;
  std::size_t count = 0;
  const auto number = [&](std::vector<Line>& lines) {
    for (Line& line : lines) {
      line.first = count;
      count += line.pieces;
    }
  };
  number(in_);
  number(out_);
  requests_.assign(count, MPI_REQUEST_NULL);
  kept_.assign(count, nullptr);
  receive_of_.assign(count, -1);
  pending_.clear();
  pending_.reserve(count);
  for (std::size_t i = 0; i < in_.size(); ++i) {
    std::fill_n(receive_of_.begin() + static_cast<std::ptrdiff_t>(in_[i].first), in_[i].pieces, static_cast<int>(i));
  }
  if (persistent_) keep_requests();
}

void DirectTransport::keep_requests() {
  free_requests();
  for (Line& line : in_) {
    if (line.pieces != 1) continue;
    mpi(MPI_Recv_init(line.buffer.get(), static_cast<int>(line.room), MPI_BYTE, line.peer, tag_, comm_, &line.kept));
  }
  for (Line& line : out_) {
    if (line.pieces != 1) continue;
    mpi(MPI_Send_init(line.buffer.get(), static_cast<int>(line.room), MPI_BYTE, line.peer, tag_, comm_, &line.kept));
  }
}

void DirectTransport::start_kept(Line& line) {
  mpi(MPI_Start(&line.kept));
  kept_[line.first] = &line.kept;
  pending_.push_back(static_cast<int>(line.first));
}

template <class Post>
void DirectTransport::each_piece(std::size_t bytes, Post post) const {
  std::size_t start = 0;
  std::size_t piece = 0;
  do {
    const std::size_t length = std::min(bytes - start, piece_bytes_);
    post(piece++, start, static_cast<int>(length));
    start += length;
  } while (start < bytes);
}

void DirectTransport::send(std::size_t i, std::size_t bytes, const std::byte* data) {
  Line& line = out_[i];
  if (line.kept != MPI_REQUEST_NULL && data == nullptr && bytes == line.room) {
    start_kept(line);
    return;
  }
  const std::byte* from = data == nullptr ? line.buffer.get() : data;
  each_piece(bytes, [&](std::size_t piece, std::size_t start, int length) {
    mpi(MPI_Isend(from + start, length, MPI_BYTE, line.peer, tag_, comm_, &requests_[line.first + piece]));
    pending_.push_back(static_cast<int>(line.first + piece));
  });
}

void DirectTransport::expect(std::size_t i, std::size_t bytes, std::byte* data) {
  Line& line = in_[i];
  line.came = 0;
  line.left = 0;
  if (line.kept != MPI_REQUEST_NULL && data == nullptr) {
    line.left = 1;
    start_kept(line);
    return;
  }
  std::byte* into = data == nullptr ? line.buffer.get() : data;
  each_piece(bytes, [&](std::size_t piece, std::size_t start, int length) {
    mpi(MPI_Irecv(into + start, length, MPI_BYTE, line.peer, tag_, comm_, &requests_[line.first + piece]));
    pending_.push_back(static_cast<int>(line.first + piece));
    ++line.left;
  });
}

// Requests are asked one by one: of several at once, MPI need not hand an error to the communicator's handler.
bool DirectTransport::go_on(bool wait, Arrival arrived) {
  // Some tens of microseconds of testing before waiting, as in wait_all.
  int tests = is_simulated ? 0 : 64;
  while (!pending_.empty()) {
    const bool block = wait && tests-- <= 0;
    for (std::size_t k = 0; k < pending_.size();) {
      std::size_t bytes = 0;
      const int request = pending_[k];
      if (!is_complete(request, block, &bytes)) {
        ++k;
        continue;
      }
      pending_[k] = pending_.back();
      pending_.pop_back();
      const int i = receive_of_[static_cast<std::size_t>(request)];
      if (i < 0) continue;
      Line& line = in_[static_cast<std::size_t>(i)];
      line.came += bytes;
      if (--line.left == 0) arrived(static_cast<std::size_t>(i), line.came);
    }
    if (!wait) return pending_.empty();
  }
  return true;
}

bool DirectTransport::is_complete(int request, bool block, std::size_t* bytes) {
  MPI_Status status;
  int done = 1;
  const auto r = static_cast<std::size_t>(request);
  MPI_Request* asked = kept_[r] != nullptr ? kept_[r] : &requests_[r];
  const int code = block ? MPI_Wait(asked, &status) : MPI_Test(asked, &done, &status);
  if (code != MPI_SUCCESS) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    if (kind != MPI_ERR_TRUNCATE || receive_of_[r] < 0) throw MpiError(code);
    throw WrongLength("the message of rank " + std::to_string(in_[static_cast<std::size_t>(receive_of_[r])].peer) +
                      " is longer than what is expected of it");
  }
  if (done == 0) return false;
  kept_[r] = nullptr;
  if (receive_of_[r] < 0) return true;
  int count = 0;
  mpi(MPI_Get_count(&status, MPI_BYTE, &count));
  *bytes = static_cast<std::size_t>(count);
  return true;
}

namespace {

constexpr int knowledge_tag = 3;
constexpr int answer_tag = 4;
constexpr int leaders_tag = 5;

// What every rank of a communicator has, one after the other.
std::vector<Index> gathered(MPI_Comm comm, const std::vector<Index>& own) {
  const int ranks = size_of(comm);
  const auto count = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  mpi(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm));
  std::vector<int> starts(counts.size(), 0);
  for (std::size_t i = 1; i < counts.size(); ++i) starts[i] = starts[i - 1] + counts[i - 1];
  std::vector<Index> all(static_cast<std::size_t>(starts.back() + counts.back()));
  mpi(MPI_Allgatherv(own.data(), count, MPI_INT64_T, all.data(), counts.data(), starts.data(), MPI_INT64_T, comm));
  return all;
}

}  // namespace

NodeKnowledge::NodeKnowledge(MPI_Comm comm, const std::vector<PartnerLists>& edges, int ranks_per_node)
    : comm_(comm), ranks_per_node_(ranks_per_node), traffic_(edges.size()) {
  mpi(MPI_Comm_rank(comm, &rank_));
  const OwnedComm node = comm_of_node(comm, ranks_per_node);
  const std::vector<Index> members = gathered(node.get(), {rank_});
  const Index own = members.front();
  std::vector<Index> messages;  // the set, source, dest, the other node, bytes
  for (std::size_t set = 0; set < edges.size(); ++set) {
    traffic_[set].members = members;
    // Its node along every edge, both ways; with it, where something goes out, how much.
    const auto& [to, from, bytes_out] = edges[set];
    std::vector<std::array<Index, 2>> sent(to.size());
    std::vector<std::array<Index, 2>> heard(from.size());
    std::vector<Index> node_to(to.size());
    std::vector<MPI_Request> requests;
    for (std::size_t i = 0; i < to.size(); ++i) {
      sent[i] = {own, bytes_out[i]};
      mpi(MPI_Irecv(&node_to[i], 1, MPI_INT64_T, to[i], answer_tag, comm, &requests.emplace_back()));
      mpi(MPI_Isend(sent[i].data(), 2, MPI_INT64_T, to[i], knowledge_tag, comm, &requests.emplace_back()));
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      mpi(MPI_Irecv(heard[i].data(), 2, MPI_INT64_T, from[i], knowledge_tag, comm, &requests.emplace_back()));
      mpi(MPI_Isend(&own, 1, MPI_INT64_T, from[i], answer_tag, comm, &requests.emplace_back()));
    }
    wait_all(static_cast<int>(requests.size()), requests.data());
    const auto number = static_cast<Index>(set);
    for (std::size_t i = 0; i < to.size(); ++i) {
      messages.insert(messages.end(), {number, rank_, to[i], node_to[i], bytes_out[i]});
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (heard[i][0] != own) messages.insert(messages.end(), {number, from[i], rank_, heard[i][0], heard[i][1]});
    }
  }
  const std::vector<Index> all = gathered(node.get(), messages);
  for (std::size_t i = 0; i < all.size(); i += 5) {
    NodeTraffic& traffic = traffic_[static_cast<std::size_t>(all[i])];
    const NodeTraffic::Message message{{all[i + 1], all[i + 2]}, all[i + 3], all[i + 4]};
    (message.node == own ? traffic.inside : is_here(message.packet.source) ? traffic.out : traffic.in).push_back(message);
  }
  int use = members.size() > 1 && traffic_.front().out.size() + traffic_.front().in.size() > 0 ? 1 : 0;
  mpi(MPI_Allreduce(MPI_IN_PLACE, &use, 1, MPI_INT, MPI_MAX, comm));
  is_of_use_ = use != 0;
}

bool NodeKnowledge::is_here(Index rank) const { return std::ranges::binary_search(traffic_.front().members, rank); }

// The first rank of a node speaks for it: it sends and hears one message for each other node.
std::vector<NodeLeaders> NodeKnowledge::hear(NodeAwareKind kind) const {
  const OwnedComm node = comm_of_node(comm_, ranks_per_node_);
  std::vector<Index> heard;
  if (rank_ == this->node()) {
    const std::vector<NodeLeaders> own = node_leaders(kind, traffic_.front());
    std::vector<std::vector<Index>> sent;
    std::vector<MPI_Request> requests;
    for (const NodeLeaders& leaders : own) {
      std::vector<Index>& numbers = sent.emplace_back(std::vector<Index>{leaders.sender, leaders.receiver});
      numbers.insert(numbers.end(), leaders.members.begin(), leaders.members.end());
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      mpi(MPI_Isend(sent[i].data(), static_cast<int>(sent[i].size()), MPI_INT64_T, static_cast<int>(own[i].node), leaders_tag,
                    comm_, &requests.emplace_back()));
    }
    for (const NodeLeaders& leaders : own) {
      MPI_Status status;
      int count = 0;
      mpi(MPI_Probe(static_cast<int>(leaders.node), leaders_tag, comm_, &status));
      mpi(MPI_Get_count(&status, MPI_INT64_T, &count));
      heard.insert(heard.end(), {leaders.node, count});
      heard.resize(heard.size() + static_cast<std::size_t>(count));
      mpi(MPI_Recv(heard.data() + heard.size() - count, count, MPI_INT64_T, static_cast<int>(leaders.node), leaders_tag, comm_,
                   MPI_STATUS_IGNORE));
    }
    wait_all(static_cast<int>(requests.size()), requests.data());
  }
  heard = gathered(node.get(), heard);
  std::vector<NodeLeaders> there;
  for (auto at = heard.begin(); at != heard.end();) {
    const Index count = at[1];
    there.push_back({at[0], at[2], at[3], {at + 4, at + 2 + count}});
    at += 2 + count;
  }
  std::ranges::sort(there, {}, &NodeLeaders::node);
  return there;
}

// One exchange -----------------------------------------------------------------------------------------------------

void NodeAwareTransport::Room::grow(std::size_t bytes, std::size_t kept) {
  if (buffer && bytes <= room) return;
  auto larger = std::make_unique<std::byte[]>(std::max(bytes, std::size_t{1}));
  if (kept > 0) std::memcpy(larger.get(), buffer.get(), kept);
  buffer = std::move(larger);
  room = bytes;
}

NodeAwareTransport::NodeAwareTransport(MPI_Comm comm, int tag, NodeAwareSchedule part, const std::vector<int>& to,
                                       const std::vector<int>& from, std::vector<std::size_t> most_bytes,
                                       std::size_t piece_bytes)
    : comm_(comm),
      piece_bytes_(piece_bytes),
      is_known_(!most_bytes.empty()),
      slots_(part.slots.size()),
      out_(to.size()),
      in_(from.size()) {
  const int rank = rank_of(comm);
  for (std::size_t s = 0; s < slots_.size() && is_known_; ++s) slots_[s].most = most_bytes[s];
  const auto slot_of = [&](const Packet& packet) {
    return static_cast<std::size_t>(std::ranges::lower_bound(part.slots, packet) - part.slots.begin());
  };
  for (std::size_t i = 0; i < to.size(); ++i) out_[i].slot = slot_of({rank, to[i]});
  for (std::size_t i = 0; i < from.size(); ++i) {
    in_[i].slot = slot_of({from[i], rank});
    slots_[in_[i].slot].in = static_cast<int>(i);
  }
  for (const Step& step : part.schedule.steps) {
    Leg& leg = legs_.emplace_back();
    for (const Op& op : step.ops) {
      Message& message = (op.kind == Op::Kind::send ? leg.sends : leg.receives).emplace_back();
      message.peer = static_cast<int>(op.peer);
      message.tag = tag + op.tag;
      message.requests.reserve(1);
      for (const SlotRange& range : op.slots) message.slots.push_back(static_cast<std::size_t>(range.first));
    }
  }
  at_ = legs_.size();
}

void NodeAwareTransport::make_room_out(std::size_t i, std::size_t bytes) {
  out_[i].grow(bytes);
  Slot& slot = slots_[out_[i].slot];
  grown_ = grown_ || bytes > slot.most;
  slot.most = std::max(slot.most, bytes);
}

void NodeAwareTransport::make_room_in(std::size_t i, std::size_t bytes) {
  Slot& slot = slots_[in_[i].slot];
  grown_ = grown_ || bytes > slot.most;
  slot.most = std::max(slot.most, bytes);
}

std::size_t NodeAwareTransport::most_bytes(const Message& message) const {
  std::size_t bytes = message.slots.size() * sizeof(std::uint64_t);
  for (const std::size_t slot : message.slots) bytes += slots_[slot].most;
  return bytes;
}

void NodeAwareTransport::ready() {
  if (!is_known_ || !grown_) return;
  grown_ = false;
  for (Leg& leg : legs_) {
    for (Message& message : leg.sends) message.grow(most_bytes(message));
    for (Message& message : leg.receives) message.grow(most_bytes(message));
  }
}

void NodeAwareTransport::expect(std::size_t i, std::size_t bytes, std::byte* data) {
  in_[i].into = data;
  in_[i].most = bytes;
  in_[i].is_expected = true;
}

void NodeAwareTransport::send(std::size_t i, std::size_t bytes, const std::byte* data) {
  slots_[out_[i].slot].data = data == nullptr ? out_[i].buffer.get() : data;
  slots_[out_[i].slot].bytes = bytes;
}

void NodeAwareTransport::post(Message& message) {
  message.has_come = false;
  message.is_posted = is_known_ && message.room <= piece_bytes_;
  if (!message.is_posted) return;
  message.requests.assign(1, MPI_REQUEST_NULL);
  mpi(MPI_Irecv(message.buffer.get(), static_cast<int>(message.room), MPI_BYTE, message.peer, message.tag, comm_,
                message.requests.data()));
}

void NodeAwareTransport::sent() {
  for (Leg& leg : legs_) {
    for (Message& message : leg.receives) post(message);
  }
  at_ = 0;
  send_leg(legs_.front());
}

void NodeAwareTransport::send_leg(Leg& leg) {
  for (Message& message : leg.sends) {
    std::size_t bytes = message.slots.size() * sizeof(std::uint64_t);
    for (const std::size_t slot : message.slots) bytes += slots_[slot].bytes;
    message.grow(bytes);
    std::byte* head = message.buffer.get();
    std::byte* next = head + message.slots.size() * sizeof(std::uint64_t);
    for (const std::size_t s : message.slots) {
      const std::uint64_t own = slots_[s].bytes;
      std::memcpy(head, &own, sizeof own);
      head += sizeof own;
      if (own > 0) std::memcpy(next, slots_[s].data, own);
      next += own;
    }
    message.requests.clear();
    for (std::size_t start = 0; start < bytes; start += piece_bytes_) {
      mpi(MPI_Isend(message.buffer.get() + start, static_cast<int>(std::min(bytes - start, piece_bytes_)), MPI_BYTE,
                    message.peer, message.tag, comm_, &message.requests.emplace_back(MPI_REQUEST_NULL)));
    }
  }
}

bool NodeAwareTransport::take(Message& message, bool block, const Arrival& arrived) {
  MPI_Status status;
  int is_here = 1;
  int count = 0;
  if (message.is_posted) {
    const int code = block ? MPI_Wait(message.requests.data(), &status) : MPI_Test(message.requests.data(), &is_here, &status);
    if (code != MPI_SUCCESS) {
      int kind = MPI_SUCCESS;
      MPI_Error_class(code, &kind);
      if (kind != MPI_ERR_TRUNCATE) throw MpiError(code);
      throw WrongLength("the message of rank " + std::to_string(message.peer) + " is longer than what is expected of it");
    }
    if (is_here == 0) return false;
    mpi(MPI_Get_count(&status, MPI_BYTE, &count));
    read(message, static_cast<std::size_t>(count), arrived);
    return true;
  }
  if (block) {
    mpi(MPI_Probe(message.peer, message.tag, comm_, &status));
  } else {
    mpi(MPI_Iprobe(message.peer, message.tag, comm_, &is_here, &status));
    if (is_here == 0) return false;
  }
  mpi(MPI_Get_count(&status, MPI_BYTE, &count));
  message.grow(static_cast<std::size_t>(count));
  mpi(MPI_Recv(message.buffer.get(), count, MPI_BYTE, message.peer, message.tag, comm_, MPI_STATUS_IGNORE));
  read(message, static_cast<std::size_t>(count), arrived);
  return true;
}

void NodeAwareTransport::read(Message& message, std::size_t bytes, const Arrival& arrived) {
  const std::size_t head = message.slots.size() * sizeof(std::uint64_t);
  const auto refuse = [&] {
    throw WrongLength("the message of rank " + std::to_string(message.peer) + " of " + std::to_string(bytes) +
                      " B is not what is expected of it");
  };
  if (bytes < head) refuse();
  std::size_t whole = head;
  for (std::size_t k = 0; k < message.slots.size(); ++k) {
    std::uint64_t own = 0;
    std::memcpy(&own, message.buffer.get() + k * sizeof own, sizeof own);
    slots_[message.slots[k]].bytes = own;
    whole += own;
  }
  if (whole < bytes || (whole > bytes && bytes != piece_bytes_)) refuse();
  message.grow(whole, bytes);
  for (std::size_t start = bytes; start < whole; start += piece_bytes_) {
    mpi(MPI_Recv(message.buffer.get() + start, static_cast<int>(std::min(whole - start, piece_bytes_)), MPI_BYTE, message.peer,
                 message.tag, comm_, MPI_STATUS_IGNORE));
  }
  message.has_come = true;
  const std::byte* next = message.buffer.get() + head;
  for (const std::size_t s : message.slots) {
    Slot& slot = slots_[s];
    slot.data = next;
    next += slot.bytes;
    if (slot.in < 0) continue;
    In& in = in_[static_cast<std::size_t>(slot.in)];
    if (!in.is_expected) continue;
    if (in.into != nullptr && slot.bytes <= in.most) std::memcpy(in.into, slot.data, slot.bytes);
    arrived(static_cast<std::size_t>(slot.in), slot.bytes);
  }
}

bool NodeAwareTransport::go_on(bool wait, Arrival arrived) {
  int tests = is_simulated ? 0 : 64;
  while (at_ < legs_.size()) {
    bool all_here = true;
    const bool block = wait && tests-- <= 0;
    for (Message& message : legs_[at_].receives) {
      if (!message.has_come && !take(message, block, arrived)) all_here = false;
    }
    if (!all_here) {
      if (!wait) return false;
      continue;
    }
    tests = is_simulated ? 0 : 64;
    if (++at_ < legs_.size()) send_leg(legs_[at_]);
  }
  for (Leg& leg : legs_) {
    for (Message& message : leg.sends) {
      for (MPI_Request& request : message.requests) {
        int done = 1;
        mpi(wait ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done == 0) return false;
      }
    }
  }
  for (const Out& out : out_) slots_[out.slot].bytes = 0;
  for (In& in : in_) in.is_expected = false;
  return true;
}

}  // namespace rankwise
