// MPI's functions and objects by their names.
#pragma once

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

#define RANKWISE_W rankwise::preload::Handle
#define RANKWISE_1 (RANKWISE_W a0), (a0)
#define RANKWISE_2 (RANKWISE_W a0, RANKWISE_W a1), (a0, a1)
#define RANKWISE_3 (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2), (a0, a1, a2)
#define RANKWISE_4 (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3), (a0, a1, a2, a3)
#define RANKWISE_5 (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3, RANKWISE_W a4), (a0, a1, a2, a3, a4)
#define RANKWISE_6 \
  (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3, RANKWISE_W a4, RANKWISE_W a5), (a0, a1, a2, a3, a4, a5)
#define RANKWISE_7                                                                                           \
  (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3, RANKWISE_W a4, RANKWISE_W a5, RANKWISE_W a6), \
      (a0, a1, a2, a3, a4, a5, a6)
#define RANKWISE_8                                                                                                          \
  (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3, RANKWISE_W a4, RANKWISE_W a5, RANKWISE_W a6, RANKWISE_W a7), \
      (a0, a1, a2, a3, a4, a5, a6, a7)
#define RANKWISE_9                                                                                                         \
  (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3, RANKWISE_W a4, RANKWISE_W a5, RANKWISE_W a6, RANKWISE_W a7, \
   RANKWISE_W a8),                                                                                                         \
      (a0, a1, a2, a3, a4, a5, a6, a7, a8)
#define RANKWISE_10                                                                                                        \
  (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3, RANKWISE_W a4, RANKWISE_W a5, RANKWISE_W a6, RANKWISE_W a7, \
   RANKWISE_W a8, RANKWISE_W a9),                                                                                          \
      (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)
#define RANKWISE_11                                                                                                        \
  (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3, RANKWISE_W a4, RANKWISE_W a5, RANKWISE_W a6, RANKWISE_W a7, \
   RANKWISE_W a8, RANKWISE_W a9, RANKWISE_W a10),                                                                          \
      (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)
#define RANKWISE_12                                                                                                        \
  (RANKWISE_W a0, RANKWISE_W a1, RANKWISE_W a2, RANKWISE_W a3, RANKWISE_W a4, RANKWISE_W a5, RANKWISE_W a6, RANKWISE_W a7, \
   RANKWISE_W a8, RANKWISE_W a9, RANKWISE_W a10, RANKWISE_W a11),                                                          \
      (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)

// BEFORE: an expression, evaluated first.
#define RANKWISE_DEFINE(FUNCTION, SYMBOL, BEFORE, PARAMETERS, ARGUMENTS)                                      \
  extern "C" __attribute__((visibility("default"))) int FUNCTION PARAMETERS __asm__(SYMBOL);                  \
  int FUNCTION PARAMETERS {                                                                                   \
    static const auto original = reinterpret_cast<int(*) PARAMETERS>(rankwise::preload::original_of(SYMBOL)); \
    BEFORE;                                                                                                   \
    return original != nullptr ? original ARGUMENTS : 16;                                                     \
  }
#define RANKWISE_BOTH(NAME, BEFORE, ...) RANKWISE_BOTH_OF(NAME, BEFORE, __VA_ARGS__)
#define RANKWISE_BOTH_OF(NAME, BEFORE, PARAMETERS, ARGUMENTS)                      \
  RANKWISE_DEFINE(rankwise_of_##NAME, "MPI_" #NAME, BEFORE, PARAMETERS, ARGUMENTS) \
  RANKWISE_DEFINE(rankwise_of_p##NAME, "PMPI_" #NAME, BEFORE, PARAMETERS, ARGUMENTS)
