// MPI's neighbourhood collectives of unmodified programs, served by plans: one message to each rank however many edges lead there,
// packed by our own kernels. RANKWISE_NEIGHBOR=off (as without it), check, auto, always. Results are those of MPI's own calls, byte
// by byte; no rank changes. Nothing in this header knows an MPI.
#pragma once

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
};

// Does what the call asks for and sets its result. False: nothing has happened, MPI's own is to be called; so it is on all ranks
// alike, unless arguments are wrong.
[[nodiscard]] bool serve_neighbor(const NeighborCall& call, int* result) noexcept;

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
[[nodiscard]] bool neighbor_requests() noexcept;  // whether there are any: else none of the following is needed
[[nodiscard]] int neighbor_finish(int count, const void* requests) noexcept;    // waits for those of ours among them
[[nodiscard]] int neighbor_progress(int count, const void* requests, bool* some) noexcept;  // tests those of ours; some: there is one
[[nodiscard]] int neighbor_start(int count, const void* requests) noexcept;
void neighbor_forget(const void* request) noexcept;

// What rank 0 tells of it at the end, into a text of that size; empty where nothing was asked for.
void describe_neighbors(char* text, unsigned long size) noexcept;

}  // namespace rankwise::preload
