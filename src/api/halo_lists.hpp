// Halos of lists: which elements go to whom is said edge by edge.
#pragma once

#include <memory>
#include <optional>

#include "api/halo_plan.hpp"
#include "exchange/transport.hpp"

namespace rankwise::api {

class HaloLists : public HaloPlan {
 public:
  HaloLists(MPI_Comm comm, int nsend, const int dest[], const int skey[], int nrecv, const int source[], const int rkey[]);
  [[nodiscard]] std::string explain() const override;
  void lists(const rankwise_list send[], const rankwise_list recv[]);
  void places(const rankwise_list recv[]);
  void capacity(const std::size_t bytes[]);
  void algorithm(int asked_for);
  void received(int edge, int field, std::size_t* elements, const void** where) const;

 private:
  // Consecutive elements.
  struct Run {
    Index first;
    Index count;
  };
  struct Edge {
    int rank = 0;  // MPI_PROC_NULL: none
    int key = 0;
    std::size_t count = 0;  // of elements; where counts travel, what came last
    bool listed = false;    // a receive edge that puts its elements where a list says
    std::vector<Run> runs;
    std::vector<int> single;  // instead, where most runs would be short: lengths that vary cost more than they save
    Index low = 0;            // all its elements lie from here
    Index high = 0;           // to before this one
    void take_none() {
      runs.clear();
      single.clear();
      low = high = 0;
    }
    template <class Each>
    void each_run(Each each) const {
      for (const int element : single) each(Run{element, 1});
      for (const Run& run : runs) each(run);
    }
  };
  // All that goes to, or comes from, one rank: edges in ascending order of their keys.
  struct Partner {
    int rank = 0;
    std::vector<std::size_t> edges;
    std::size_t capacity = 0;  // bytes of a message, where counts travel with it
    Index first = -1;          // of its elements, where they follow each other and are apart from what goes the other way
  };
  struct Taken {
    std::byte* data = nullptr;
    Bytes stride = 0;
    std::size_t element_bytes = 0;
  };

  std::uint64_t take(const Fields& fields, const int active[]) override;
  void begin(std::uint64_t active) override;
  void require_back() const override;
  void begin_back(std::uint64_t active, const Reduction& reduction) override;
  bool advance(bool wait) override;
  [[nodiscard]] std::size_t element_bytes(std::size_t field) const override { return fields_[field].element_bytes; }
  [[nodiscard]] MPI_Comm comm() const override { return comm_.get(); }
  [[nodiscard]] std::string pairs() const override;
  void keep(std::size_t way) override {
    std::swap(variants_.front(), variants_[way]);
    variants_.resize(1);
  }
  // After algorithm(auto): makes the ways that may be the fastest for the bytes of this exchange.
  void prepare(std::uint64_t active) override;
  void free() override {
    variants_.clear();
    comm_.free();
  }

  struct Variant {
    int algorithm = RANKWISE_HALO_DIRECT;
    std::unique_ptr<Transport> transport;
  };
  // Collective for all but direct and persistent.
  [[nodiscard]] Variant make_variant(int algorithm, const NodeKnowledge* nodes, const PartnerLists& edges) const;
  // The ranks on the edges; bytes: what usually goes to each.
  [[nodiscard]] PartnerLists partner_lists(const std::vector<Index>& bytes) const;
  [[nodiscard]] Transport& usual() const { return *variants_[now()].transport; }

  // Of this rank's edges of one direction, as the caller names them.
  static std::vector<Edge> read(int count, const int rank[], const int key[], int ranks, const char* what);
  static std::vector<Partner> partners_of(const std::vector<Edge>& edges, const char* what);
  // Collective: every rank learns who sends to it, and both ends agree on the keys.
  void compare_ends();
  // Sends each receiver (back: each sender) a value an edge; returns what the others sent, in the order of the edges.
  [[nodiscard]] std::vector<std::uint64_t> send_to_partners(const std::vector<std::uint64_t>& values_of_edges, bool back) const;
  static void take_list(Edge& edge, const rankwise_list& list, const std::string& name);

  // Sets `first` of all partners.
  void find_stretches();
  // Where a partner's elements lie in one piece, so that they need no packing; null where they do.
  [[nodiscard]] std::byte* in_place(const Partner& partner) const;
  // Bytes of the active fields of a partner's edges.
  [[nodiscard]] std::size_t payload(const Partner& partner, const std::vector<Edge>& edges) const;
  [[nodiscard]] std::size_t head(const Partner& partner) const {
    return varies_ ? partner.edges.size() * sizeof(std::uint64_t) : 0;
  }
  // Calls each(edge, field, offset) for the stretches of a partner's payload in the order in which they travel.
  template <class Each>
  void each_part(const Partner& partner, const std::vector<Edge>& edges, Each each) const {
    std::size_t at = 0;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if ((active_ >> f & 1) == 0) continue;
      for (const std::size_t e : partner.edges) {
        each(e, f, at);
        at += edges[e].count * fields_[f].element_bytes;
      }
    }
  }
  void pack(const Partner& partner, const std::vector<Edge>& edges, std::byte* into) const;
  // One field of it; where the next begins.
  std::byte* pack_field(const Partner& partner, const std::vector<Edge>& edges, std::size_t f, std::byte* into) const;
  // Copies straight to where the own elements of the own rank go; false where they do not lie in one piece.
  [[nodiscard]] bool pack_self_in_place() const;
  void unpack(const Partner& partner, const std::vector<Edge>& edges, const std::byte* from, const Reduction* reduction) const;
  void write_head(const Partner& partner, std::byte* into) const;
  // What came from a source: its counts, and whether its elements follow in a second message.
  void arrived(std::size_t i, std::size_t bytes);
  [[nodiscard]] bool finish_forward(bool wait);
  [[nodiscard]] bool finish_back(bool wait);

  Duplicate comm_;
  int ranks_ = 1;
  std::vector<Edge> sends_;
  std::vector<Edge> receives_;
  std::vector<Partner> to_;  // other ranks
  std::vector<Partner> from_;
  Partner to_self_;
  Partner from_self_;
  std::vector<std::byte> self_bytes_;
  bool varies_ = false;
  bool listed_ = false;  // lists was called

  std::vector<Variant> variants_;
  bool is_open_ = false;  // auto was asked for, and nothing has been exchanged since
  std::string why_;
  std::optional<DirectTransport> long_out_;  // what passes a capacity
  std::optional<DirectTransport> long_in_;
  std::optional<DirectTransport> back_;
  std::vector<std::size_t> long_bytes_;  // of each source: of its elements where they come in a second message, else 0
  std::vector<Taken> fields_;
  std::uint64_t active_ = 0;
  Reduction reduction_;
  bool is_back_ = false;
  bool usual_done_ = false;
};

}  // namespace rankwise::api
