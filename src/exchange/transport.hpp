// What carries packed messages: at most one to each partner and one from each, in buffers that are kept from exchange to
// exchange.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "halo/node_aware.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

// A partner sent a message of another length than was expected.
class WrongLength : public std::runtime_error {
 public:
  explicit WrongLength(const std::string& message) : std::runtime_error(message) {}
};

class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // Room for messages of so many bytes; takes memory only where there was less. Not while messages are under way.
  virtual void make_room_out(std::size_t i, std::size_t bytes) = 0;
  virtual void make_room_in(std::size_t i, std::size_t bytes) = 0;
  // After make_room, before messages of an exchange: all is set up that was not before.
  virtual void ready() = 0;

  [[nodiscard]] virtual std::byte* out(std::size_t i) = 0;
  [[nodiscard]] virtual const std::byte* in(std::size_t i) const = 0;

  // Expects a message of at most so many bytes; puts message i under way, from its buffer or from `data`. All that is expected
  // in an exchange is said before anything is sent; `sent` after the last.
  virtual void expect(std::size_t i, std::size_t bytes, std::byte* data = nullptr) = 0;
  virtual void send(std::size_t i, std::size_t bytes, const std::byte* data = nullptr) = 0;
  virtual void sent() {}

  // Calls arrived(i, bytes) for every message that has come since. True when all are complete. wait: returns only then.
  // Throws MpiError, and WrongLength for a message that is too long.
  template <class Arrived>
  bool advance(bool wait, Arrived arrived) {
    return go_on(
        wait, {[](void* context, std::size_t i, std::size_t bytes) { (*static_cast<Arrived*>(context))(i, bytes); }, &arrived});
  }

 protected:
  Transport() = default;
  Transport(Transport&&) = default;
  struct Arrival {
    void (*call)(void* context, std::size_t i, std::size_t bytes);
    void* context;
    void operator()(std::size_t i, std::size_t bytes) const { call(context, i, bytes); }
  };
  virtual bool go_on(bool wait, Arrival arrived) = 0;
};

// Messages straight to their partners.

class DirectTransport final : public Transport {
 public:
  // Messages above piece_bytes travel in pieces, for MPI counts in int.
  static constexpr std::size_t usual_piece_bytes = std::size_t{1} << 30;

  // to, from: the partners, each at most once. No memory is taken before `make_room`. persistent: requests are kept; what is
  // sent from elsewhere, with another length than there is room for, or in pieces, takes one of its own all the same.
  DirectTransport(MPI_Comm comm, int tag, const std::vector<int>& to, const std::vector<int>& from,
                  std::size_t piece_bytes = usual_piece_bytes, bool persistent = false);
  ~DirectTransport() override;

  void make_room_out(std::size_t i, std::size_t bytes) override { make_room(out_[i], bytes); }
  void make_room_in(std::size_t i, std::size_t bytes) override { make_room(in_[i], bytes); }
  void ready() override;
  [[nodiscard]] std::byte* out(std::size_t i) override { return out_[i].buffer.get(); }
  [[nodiscard]] const std::byte* in(std::size_t i) const override { return in_[i].buffer.get(); }
  void expect(std::size_t i, std::size_t bytes, std::byte* data = nullptr) override;
  void send(std::size_t i, std::size_t bytes, const std::byte* data = nullptr) override;

 private:
  struct Line {
    int peer = 0;
    std::size_t room = 0;
    std::unique_ptr<std::byte[]> buffer;
    std::size_t pieces = 0;
    std::size_t first = 0;  // its first request
    std::size_t left = 0;   // pieces that have not come
    std::size_t came = 0;   // bytes that have
    MPI_Request kept = MPI_REQUEST_NULL;
  };
  bool go_on(bool wait, Arrival arrived) override;
  void make_room(Line& line, std::size_t bytes);
  void keep_requests();
  void free_requests();
  void start_kept(Line& line);
  // bytes: of a receive that is complete.
  [[nodiscard]] bool is_complete(int request, bool block, std::size_t* bytes);
  template <class Post>
  void each_piece(std::size_t bytes, Post post) const;

  MPI_Comm comm_;
  int tag_;
  std::size_t piece_bytes_;
  bool persistent_;
  bool grown_ = true;  // since the last `ready`
  std::vector<Line> out_;
  std::vector<Line> in_;
  std::vector<MPI_Request> requests_;
  std::vector<int> receive_of_;     // of each request: which receive it belongs to, -1: none
  std::vector<MPI_Request*> kept_;  // of each request, where a kept one is under way in its place
  std::vector<int> pending_;        // the requests under way
};

// Packets by a node-aware schedule (halo/node_aware.hpp): few messages between nodes. Every message begins with the bytes of each of its packets,
// so that those who pass them on need not know how much travels.

// The partners of a rank in messages that are in flight together, and what usually goes to each.
struct PartnerLists {
  std::vector<int> to;  // ascending, as `from`
  std::vector<int> from;
  std::vector<Index> bytes_out;
};

// What a rank knows of its node. Takes memory that grows with the partners of the node's ranks only.
class NodeKnowledge {
 public:
  // Collective over comm. edges: of one or several sets of messages, as many on all ranks. ranks_per_node: so many ranks after
  // each other stand for a node; 0: nodes as MPI tells them.
  NodeKnowledge(MPI_Comm comm, const std::vector<PartnerLists>& edges, int ranks_per_node = 0);

  // Whether node-aware sending of the first set has anything to do on any rank: several ranks on a node that has partners elsewhere.
  [[nodiscard]] bool is_of_use() const { return is_of_use_; }
  [[nodiscard]] const std::vector<NodeTraffic>& traffic() const { return traffic_; }  // of each set
  [[nodiscard]] Index node() const { return traffic_.front().members.front(); }
  [[nodiscard]] bool is_here(Index rank) const;
  // Collective: what the other nodes tell of themselves.
  [[nodiscard]] std::vector<NodeLeaders> hear(NodeAwareKind kind) const;

 private:
  MPI_Comm comm_;
  int ranks_per_node_;
  int rank_ = 0;
  std::vector<NodeTraffic> traffic_;
  bool is_of_use_ = false;
};

class NodeAwareTransport final : public Transport {
 public:
  // to, from: the partners. most_bytes: of each slot where the ranks that pass it on know what it can have; empty: nobody does.
  // Uses a tag for each step, from `tag` on.
  NodeAwareTransport(MPI_Comm comm, int tag, NodeAwareSchedule part, const std::vector<int>& to, const std::vector<int>& from,
                     std::vector<std::size_t> most_bytes, std::size_t piece_bytes = DirectTransport::usual_piece_bytes);

  void make_room_out(std::size_t i, std::size_t bytes) override;
  void make_room_in(std::size_t i, std::size_t bytes) override;
  void ready() override;
  [[nodiscard]] std::byte* out(std::size_t i) override { return out_[i].buffer.get(); }
  [[nodiscard]] const std::byte* in(std::size_t i) const override { return slots_[in_[i].slot].data; }
  void expect(std::size_t i, std::size_t bytes, std::byte* data = nullptr) override;
  void send(std::size_t i, std::size_t bytes, const std::byte* data = nullptr) override;
  void sent() override;

 private:
  struct Room {
    std::size_t room = 0;
    std::unique_ptr<std::byte[]> buffer;
    void grow(std::size_t bytes, std::size_t kept = 0);
  };
  struct Message : Room {
    int peer = 0;
    int tag = 0;
    std::vector<std::size_t> slots;
    std::vector<MPI_Request> requests;  // of a receive one at most
    bool is_posted = false;             // a receive whose request is under way
    bool has_come = true;
  };
  struct Out : Room {
    std::size_t slot = 0;
  };
  struct In {
    std::size_t slot = 0;
    std::byte* into = nullptr;
    std::size_t most = 0;
    bool is_expected = false;
  };
  struct Slot {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::size_t most = 0;
    int in = -1;  // which receive it is
  };
  struct Leg {
    std::vector<Message> sends;
    std::vector<Message> receives;
  };

  bool go_on(bool wait, Arrival arrived) override;
  [[nodiscard]] std::size_t most_bytes(const Message& message) const;
  void post(Message& message);
  void send_leg(Leg& leg);
  // True when the message is here; block: waits for it.
  bool take(Message& message, bool block, const Arrival& arrived);
  void read(Message& message, std::size_t bytes, const Arrival& arrived);

  MPI_Comm comm_;
  std::size_t piece_bytes_;
  bool is_known_;
  bool grown_ = true;
  std::vector<Slot> slots_;
  std::vector<Out> out_;
  std::vector<In> in_;
  std::vector<Leg> legs_;
  std::size_t at_ = 0;  // the leg under way; their number: none
};

}  // namespace rankwise
