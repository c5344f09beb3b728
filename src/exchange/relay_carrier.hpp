// Parcels by a relay (halo/relay.hpp): few messages between nodes. Every message begins with the bytes of each of its parcels,
// so that those who pass them on need not know how much travels.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "exchange/carrier.hpp"
#include "halo/relay.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

// The partners of a rank in messages that are in flight together, and what usually goes to each.
struct PartnerLists {
  std::vector<int> to;  // ascending, as `from`
  std::vector<int> from;
  std::vector<Index> bytes_out;
};

// What a rank knows of its node. Takes memory that grows with the partners of the node's ranks only.
class NodeKnowledge {
 public:
  // Collective over comm. edges: of one or several sets of messages, as many on all ranks.
  NodeKnowledge(MPI_Comm comm, const std::vector<PartnerLists>& edges);

  // Whether a relay of the first set has anything to do on any rank: several ranks on a node that has partners elsewhere.
  [[nodiscard]] bool is_of_use() const { return is_of_use_; }
  [[nodiscard]] const std::vector<NodeTraffic>& traffic() const { return traffic_; }  // of each set
  [[nodiscard]] Index node() const { return traffic_.front().members.front(); }
  [[nodiscard]] bool is_here(Index rank) const;
  // Collective: what the other nodes tell of themselves.
  [[nodiscard]] std::vector<NodeOffice> hear(RelayKind kind) const;

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  std::vector<NodeTraffic> traffic_;
  bool is_of_use_ = false;
};

class RelayCarrier final : public Carrier {
 public:
  // to, from: the partners. most_bytes: of each slot where the ranks that pass it on know what it can have; empty: nobody does.
  // Uses a tag for each step, from `tag` on.
  RelayCarrier(MPI_Comm comm, int tag, Relay relay, const std::vector<int>& to, const std::vector<int>& from,
               std::vector<std::size_t> most_bytes, std::size_t piece_bytes = Courier::usual_piece_bytes);

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
