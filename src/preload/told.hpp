// What the user is told of this library's work: with RANKWISE_VERBOSE=1 each communicator, else one line when rank 0 ends;
// nothing with RANKWISE_VERBOSE=0.
#pragma once

namespace rankwise::preload {

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
