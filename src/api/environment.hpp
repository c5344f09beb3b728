// What the environment says.
#pragma once

namespace rankwise::api {

// A flag of the environment: set, not empty and not "0".
[[nodiscard]] bool environment_flag(const char* name);

}  // namespace rankwise::api
