// What librankwise_preload.so does instead of MPI_Cart_create and its like for graphs. This part is compiled for one MPI, and knows its handles
// as the bits that a C function of that MPI gets and gives.
#pragma once

#include <cstdint>

#include "api/topology.hpp"

namespace rankwise::preload {

using Handle = std::uintptr_t;

// Which MPIs exchange handles of one kind: their libraries can be had with one build of this part.
enum class Family { mpi_abi, mpich, open_mpi, unknown };
[[nodiscard]] Family compiled_for() noexcept;
[[nodiscard]] Family running() noexcept;  // that of the program
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

}  // namespace rankwise::preload
