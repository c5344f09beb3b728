// MPI's functions and objects by their names.
#pragma once

namespace rankwise::preload {

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
