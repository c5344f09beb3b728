// MPI's neighbourhood collectives of unmodified programs, served by plans: one message to each rank however many edges lead there,
// packed by our own kernels. RANKWISE_NEIGHBOR=off (as without it), check, auto, always. Results are those of MPI's own calls, byte
// by byte; no rank changes. Nothing in this header knows an MPI.
#pragma once

#include <atomic>

#include "preload/arrange.hpp"

namespace rankwise::preload {

enum class NeighborKind : unsigned char { allgather, allgatherv, alltoall, alltoallv, alltoallw };
inline constexpr int neighbor_kinds = 5;
enum class NeighborForm : unsigned char { blocking, nonblocking, persistent };
enum class NeighborMode : unsigned char { off, check, automatic, always };

// What RANKWISE_NEIGHBOR asks for. Cheap.
[[nodiscard]] NeighborMode neighbor_mode() noexcept;

// A call as the program made it: its arguments as words, and MPI's own function.
struct NeighborCall {
  NeighborKind kind = NeighborKind::alltoall;
  NeighborForm form = NeighborForm::blocking;
  bool large = false;  // counts of type MPI_Count
  int words = 0;
  Handle word[11] = {};
  void* own = nullptr;
  Handle comm = 0;
};

// Does what the call asks for and sets its result. False: nothing has happened, MPI's own is to be called; so it is on all ranks
// alike, unless arguments are wrong.
[[nodiscard]] bool serve_neighbor(const NeighborCall& call, int* result) noexcept;

// Nothing will ever be served: not asked for, or the program's MPI is that of another library of this kind.
inline constinit std::atomic<bool> neighbors_off{false};
// So many calls were left to MPI; cheap, and near enough among threads.
inline constinit std::atomic<long> neighbors_left{0};
// Moves whenever something that was left to MPI may not be any more.
inline constinit std::atomic<unsigned> neighbor_changes{0};

// What a thread remembers of the communicator whose calls were left to MPI last: so the next cost one look.
struct NeighborLeft {
  Handle comm = 0;
  unsigned changes = 0;
  unsigned calls = 0;  // a bit for each kind and form
  static constexpr unsigned bit(NeighborKind kind, NeighborForm form) {
    return 1U << (3 * static_cast<unsigned>(kind) + static_cast<unsigned>(form));
  }
};
// The library is there when the program starts, so its threads' memory lies at places that are known.
__attribute__((tls_model("initial-exec"))) inline constinit thread_local NeighborLeft neighbor_left{};

[[nodiscard]] inline bool is_left(NeighborKind kind, NeighborForm form, Handle comm) noexcept {
  const NeighborLeft& last = neighbor_left;
  if (last.comm != comm || (last.calls & NeighborLeft::bit(kind, form)) == 0) return false;
  if (last.changes != neighbor_changes.load(std::memory_order_relaxed)) return false;
  neighbors_left.store(neighbors_left.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

// A communicator with a topology was made; collective over it.
void neighbor_made(Handle comm) noexcept;
// What a graph's communicator is made of: the program's, or, where Open MPI 5 would make a grid of the graph because that is one
// (its neighbourhood collectives crash then), another of the same ranks for as long as this lives. Collective over it.
class NeighborParent {
 public:
  explicit NeighborParent(Handle comm) noexcept;
  NeighborParent(const NeighborParent&) = delete;
  NeighborParent& operator=(const NeighborParent&) = delete;
  ~NeighborParent();
  [[nodiscard]] Handle comm() const noexcept { return comm_; }

 private:
  Handle comm_;
  bool made_ = false;
};
// The program frees a datatype: plans that know it are void.
void neighbor_type_freed(Handle type) noexcept;

// Requests of nonblocking and persistent calls that were served. All return 0 or an error of MPI's.
inline constinit std::atomic<long> neighbor_pending{0};
// Whether there are any: else none of the following is needed.
[[nodiscard]] inline bool neighbor_requests() noexcept { return neighbor_pending.load(std::memory_order_relaxed) != 0; }
[[nodiscard]] int neighbor_finish(int count, const void* requests) noexcept;  // waits for those of ours among them
[[nodiscard]] int neighbor_progress(int count, const void* requests,
                                    bool* some) noexcept;  // tests those of ours; some: there is one
[[nodiscard]] int neighbor_start(int count, const void* requests) noexcept;
void neighbor_forget(const void* request) noexcept;

// What rank 0 tells of it at the end, into a text of that size; empty where nothing was asked for.
void describe_neighbors(char* text, unsigned long size) noexcept;

}  // namespace rankwise::preload
