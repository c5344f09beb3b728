// Whether a program takes ranks of a communicator that we have reordered for ranks of another one. Two signs are looked for: the
// coordinates of a rank's number in the old communicator are asked for and its own in the new one never; the new one's neighbours are
// asked for, messages go by another communicator, and none by the new one, which is never used for anything.
#pragma once

#include <atomic>

#include "preload/arrange.hpp"

namespace rankwise::preload {

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

}  // namespace rankwise::preload
