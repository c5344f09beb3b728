// Neighbourhood collectives, planned: what a rank sends and receives, and what is known of the communicator.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "preload/neighbor.hpp"
#include "preload/neighbor_types.hpp"

namespace rankwise::preload {

// How a rank carries out one neighbourhood collective: a message to each rank that any edge leads to, one from each that any edge
// comes from. Made once for arguments that come again.

// Which of a rank's edges are one message: places in the lists of neighbours, in the order in which they travel.
struct Partner {
  int rank = 0;
  std::vector<int> edges;
};

// The edges of a rank by partner; those to itself under its own rank.
struct Edges {
  static constexpr int matchings = 9;
  std::vector<Partner> out;
  // As MPI's own calls match them: alltoall, alltoallv, alltoallw, each by form. MPICH 4.0 and Open MPI do not match all of them alike.
  std::array<std::vector<Partner>, matchings> in;
  [[nodiscard]] const std::vector<Partner>& in_of(NeighborKind kind, NeighborForm form) const {
    const auto first = static_cast<int>(NeighborKind::alltoall);  // of an allgather all edges bring the same
    const int call = kind < NeighborKind::alltoall ? 0 : static_cast<int>(kind) - first;
    return in[static_cast<std::size_t>(3 * call + static_cast<int>(form))];
  }
};

// The arguments of a call, whichever it is.
class Arguments {
 public:
  explicit Arguments(const NeighborCall& call);
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] const std::byte* sent() const { return sent_; }
  [[nodiscard]] std::byte* received() const { return received_; }
  // Not what MPI itself would refuse, as far as one sees without looking into datatypes.
  [[nodiscard]] bool sane(int sends, int receives) const;
  // All that decides what is sent and received, but for the buffers' addresses, for so many edges.
  void write_key(int sends, int receives, std::vector<std::uint64_t>& key) const;
  [[nodiscard]] NeighborKind kind() const { return kind_; }
  [[nodiscard]] NeighborForm form() const { return form_; }
  [[nodiscard]] bool one_block() const { return kind_ <= NeighborKind::allgatherv; }  // the same to all

  struct Piece {
    long long count;
    MPI_Datatype type;
    Bytes at;
  };
  [[nodiscard]] Piece send(int edge) const { return piece(send_, edge); }
  [[nodiscard]] Piece receive(int edge) const { return piece(receive_, edge); }

 private:
  struct Side {
    Handle count = 0;
    Handle places = 0;
    Handle type = 0;
    bool counts = false;  // a list
    bool types = false;   // a list; then places are bytes
    bool same = false;    // all from one place
  };
  NeighborKind kind_;
  NeighborForm form_;
  bool large_;
  MPI_Comm comm_;
  const std::byte* sent_;
  std::byte* received_;
  Side send_;
  Side receive_;

  [[nodiscard]] long long count_of(const Side& side, int edge) const;
  [[nodiscard]] Piece piece(const Side& side, int edge) const;
  [[nodiscard]] static bool sane(const Arguments& of, const Side& side, int edges);
  void write_key(const Side& side, int edges, std::vector<std::uint64_t>& key) const;
};

struct Flow {
  int peer = 0;
  std::size_t content = 0;  // of what is sent or received, its number; of an allgather's receive the first
  std::size_t contents = 1;
  std::size_t bytes = 0;
  std::size_t at = 0;     // in the staging memory,
  bool in_place = false;  // or straight from or into the program's
  Bytes memory = 0;
};

struct Plan {
  std::vector<std::uint64_t> key;
  std::vector<Content> sends;
  std::vector<Content> receives;
  std::vector<Flow> out;
  std::vector<Flow> in;
  bool to_itself = false;  // then the last of out and in
  std::size_t staging = 0;
  std::uint64_t types = 0;  // count of types freed so far, when this was made
  bool knows_types = false;
};

// Null where MPI does not take the arguments; its error.
[[nodiscard]] std::shared_ptr<Plan> make_plan(const Arguments& arguments, const Edges& edges, int rank, MPI_Comm comm,
                                              int* code);
// The same flows with no message straight from or into the program's memory, and the staging memory that they need.
struct Staged {
  std::vector<Flow> out;
  std::vector<Flow> in;
  std::size_t staging = 0;
};
[[nodiscard]] Staged staged(const Plan& plan);
// Types that plans know and the program has freed.
[[nodiscard]] std::uint64_t types_freed() noexcept;

// What is known of a communicator whose neighbourhood collectives are served.

// Which way serves the calls of one kind: both by turns until the times of all ranks have been compared, once.
struct Trial {
  static constexpr int calls = 20;
  enum class Route { trying, ours, own } route = Route::trying;
  int done = 0;
  std::array<double, calls> time_s{};
  // Whether the next is ours: ABBA ABBA ...
  [[nodiscard]] bool ours_next() const { return ((done + 1) / 2) % 2 == 0; }
};

class NeighborState {
 public:
  NeighborState() = default;
  NeighborState(const NeighborState&) = delete;
  NeighborState& operator=(const NeighborState&) = delete;
  ~NeighborState();

  MPI_Comm comm = MPI_COMM_NULL;  // ours, of the same ranks
  int rank = 0;
  int sends = 0;     // places in the lists of neighbours,
  int receives = 0;  // with those that are MPI_PROC_NULL
  bool usable = false;
  bool several = false;  // some rank has two edges to one other
  Edges edges;
  std::array<Trial, neighbor_kinds> trial;

  [[nodiscard]] std::shared_ptr<Plan> plan_of(const Arguments& arguments, int* code);
  // Memory for messages, given back when they have been unpacked.
  [[nodiscard]] std::vector<std::byte> take_memory(std::size_t bytes);
  void give_memory(std::vector<std::byte>&& memory);

 private:
  static constexpr std::size_t most_plans = 16;
  std::mutex guarding_;
  std::vector<std::shared_ptr<Plan>> plans_;  // the latest first
  std::vector<std::uint64_t> asked_;
  std::vector<std::vector<std::byte>> memory_;
};

// Null where nothing is known of it yet; makes it, collectively, where `make`. Good until the communicator is freed.
[[nodiscard]] const std::shared_ptr<NeighborState>* state_of(MPI_Comm comm, bool make);

}  // namespace rankwise::preload
