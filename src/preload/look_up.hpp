// MPI's functions and objects by their names.
#pragma once

#include "observe/words.h"
#include "preload/arrange.hpp"

namespace rankwise::preload {

// MPI's functions and objects by their names.

// The function of that name that the program would get without us, wherever its MPI was loaded; null where there is none.
[[nodiscard]] void* look_up(const char* name) noexcept;
// Likewise; its name without the P where there is none with it.
[[nodiscard]] void* original_of(const char* name) noexcept;
// Likewise an object, which may have moved into the executable (a copy relocation).
[[nodiscard]] void* look_up_object(const char* name) noexcept;

// Likewise, in the program and what was loaded with it.
[[nodiscard]] void* look_up_loaded(const char* name) noexcept;

// The first function that this library needs and the program's MPI lacks; null where it has them all.
[[nodiscard]] const char* lacking() noexcept;

}  // namespace rankwise::preload

// Functions of MPI whose arguments are words, whatever they mean, defined under both of their names (Fortran's go by one or the other).

// BODY: what is returned, of original and the words a0, a1 ...
#define RANKWISE_INSTEAD_OF(FUNCTION, SYMBOL, BODY, N)                                                                       \
  extern "C" __attribute__((visibility("default"))) int FUNCTION(PARAMETERS_##N(rankwise::preload::Handle)) __asm__(SYMBOL); \
  int FUNCTION(PARAMETERS_##N(rankwise::preload::Handle)) {                                                                  \
    using namespace rankwise::preload;                                                                                       \
    static const auto original = reinterpret_cast<int (*)(PARAMETERS_##N(Handle))>(original_of(SYMBOL));                     \
    return original != nullptr ? BODY : 16;                                                                                  \
  }
#define RANKWISE_INSTEAD(NAME, BODY, N)                          \
  RANKWISE_INSTEAD_OF(rankwise_of_##NAME, "MPI_" #NAME, BODY, N) \
  RANKWISE_INSTEAD_OF(rankwise_of_p##NAME, "PMPI_" #NAME, BODY, N)
// BEFORE: an expression, evaluated first.
#define RANKWISE_AFTER(NAME, BEFORE, N) RANKWISE_INSTEAD(NAME, (BEFORE, original(WORDS_##N)), N)
