// What messages cost on the machine that `auto` decides for.
#pragma once

#include <string>

#include "profile/profile.hpp"

namespace rankwise::api {

// What messages cost, and where that is from.
struct KnownMachine {
  Machine machine;
  std::string source;
};

// The profile that RANKWISE_PROFILE names, or the default machine. A file is read once in a process for each name.
// Not collective. Throws Failure for a file that is missing or no profile.
[[nodiscard]] const KnownMachine& known_machine();

}  // namespace rankwise::api
