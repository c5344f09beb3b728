// Included before everything else in each source of librankwise_preload.so, which is linked with no MPI: what it takes of MPI
// is looked up when it is first used (mpi_calls.cpp), for MPI may come after it, loaded by Python for itself alone. The library is
// loaded into every program that is started under it, launchers and shells included, and must harm none.
#pragma once

// MPI's old C++ bindings would ask for more.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
// Those of MPI's functions that this library takes the place of (watch.cpp, interpose.cpp) are called by other names inside it.
#define MPI_Cart_shift rankwise_MPI_Cart_shift
#define MPI_Comm_dup rankwise_MPI_Comm_dup
#define MPI_Comm_free rankwise_MPI_Comm_free
#define MPI_Comm_group rankwise_MPI_Comm_group
#define MPI_Comm_split rankwise_MPI_Comm_split
#define MPI_Irecv rankwise_MPI_Irecv
#define MPI_Isend rankwise_MPI_Isend
#define MPI_Recv_init rankwise_MPI_Recv_init
#define MPI_Request_free rankwise_MPI_Request_free
#define MPI_Send rankwise_MPI_Send
#define MPI_Sendrecv rankwise_MPI_Sendrecv
#define MPI_Start rankwise_MPI_Start
#define MPI_Test rankwise_MPI_Test
#define MPI_Testall rankwise_MPI_Testall
#define MPI_Type_free rankwise_MPI_Type_free
#define MPI_Waitall rankwise_MPI_Waitall
#include <mpi.h>

#include "look_up.hpp"

// MPICH's two words for lists without weights are pointers in its library.
#if !defined(OPEN_MPI) && !defined(MPI_ABI)
#define RANKWISE_POINTER(NAME)                                                  \
  ([]() -> const int* {                                                         \
    static void* const found = ::rankwise::preload::look_up_object(#NAME);      \
    return found == nullptr ? nullptr : *static_cast<const int* const*>(found); \
  }())
#define MPI_UNWEIGHTED RANKWISE_POINTER(MPI_UNWEIGHTED)
#define MPI_WEIGHTS_EMPTY RANKWISE_POINTER(MPI_WEIGHTS_EMPTY)
#endif

// Open MPI's handles are the addresses of objects in its library.
#if defined(OPEN_MPI)
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                                 \
  ([]() -> type {                                                            \
    static void* const found = ::rankwise::preload::look_up_object(#global); \
    return static_cast<type>(found);                                         \
  }())
#endif
