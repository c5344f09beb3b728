// What librankwise_preload.so does instead of MPI_Cart_create and its like for graphs. This part is compiled for one MPI, and knows its handles
// as the bits that a C function of that MPI gets and gives.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/topology.hpp"

namespace rankwise::preload {

using Handle = std::uintptr_t;

// Which MPIs exchange handles of one kind: their libraries can be had with one build of this part.
enum class Family { mpi_abi, mpich, open_mpi, unknown };
[[nodiscard]] Family compiled_for() noexcept;
[[nodiscard]] Family running() noexcept;  // that of the program
// A handle as all calls give it: where it is an int, the upper half of its word is as it was.
[[nodiscard]] inline Handle bits_of(Handle handle) noexcept {
  return compiled_for() == Family::mpich ? handle & 0xFFFFFFFFU : handle;
}
[[nodiscard]] bool some_library_is_for(Family family) noexcept;
[[nodiscard]] const char* name_of(Family family) noexcept;

// Why no library of those that are loaded can act in this program, said by the last of them; null: one can, or another says it.
[[nodiscard]] const char* misfit() noexcept;

// The communicator in the variable that a word points to.
[[nodiscard]] Handle comm_at(Handle pointer) noexcept;

// Collective over comm. Makes a communicator with few messages across nodes; cart: a pointer to an MPI_Comm. False:
// nothing has happened and *cart is untouched; so it is on all ranks alike.
[[nodiscard]] bool arrange(Handle comm, int ndims, const int dims[], const int periods[], void* cart) noexcept;

// The same with Fortran's handles.
[[nodiscard]] bool arrange_fortran(int comm, int ndims, const int dims[], const int periods[], int* cart) noexcept;

// The same for graphs; info: MPI's handle.
[[nodiscard]] bool arrange_graph(Handle comm, Handle info, const api::Neighbours& neighbours, void* made) noexcept;
[[nodiscard]] bool arrange_graph(Handle comm, Handle info, const api::Edges& edges, void* made) noexcept;
[[nodiscard]] bool arrange_graph(Handle comm, int vertices, const int index[], const int edges[], void* made) noexcept;

// Whether MPI is up and the communicator is one whose ranks can be placed.
[[nodiscard]] bool is_ordinary(Handle comm) noexcept;

// Whether a program takes ranks of a communicator that we have reordered for ranks of another one. Two signs are looked for: the
// coordinates of a rank's number in the old communicator are asked for and its own in the new one never; the new one's neighbours are
// asked for, messages go by another communicator, and none by the new one, which is never used for anything.

// Watches a communicator that was made of another one, in which this rank had another number. speaks: this rank tells, of all.
void watch(Handle comm, int before, int after, bool speaks) noexcept;

inline constinit std::atomic<bool> watching{false};  // so that calls pay next to nothing where all is as it should be

// The communicator is used, by a function that is taken the place of elsewhere.
void note_use(Handle comm) noexcept;
inline void watch_use(Handle comm) noexcept {
  if (watching.load(std::memory_order_relaxed)) note_use(comm);
}

// At the program's end: the second sign, where the communicator was not freed.
void watch_end() noexcept;

// What the user sees of this library's work: with RANKWISE_VERBOSE=1 each communicator, else one line when rank 0 ends;
// nothing with RANKWISE_VERBOSE=0.

// With RANKWISE_VERBOSE=1: one line on stderr.
void say(const char* text) noexcept;

// MPI_Cart_create, or one of MPI's three functions that take a graph.
enum class Topology { grid, graph };

// What the line at the end is made of: the program's calls of these functions, those that were placed (and by what; null: the
// ranks were best as they are), and why one was not.
void count_call(Topology topology, bool reorder) noexcept;
void count_placed(Topology topology, const char* mapping) noexcept;
void remember_left(Topology topology, const char* why) noexcept;

// A line on stderr, once: why the program may be unsafe under reordering.
void warn(const char* why) noexcept;

// By what the launcher says in the environment, before MPI is there to be asked.
[[nodiscard]] bool is_rank_0() noexcept;

}  // namespace rankwise::preload
