// What the environment says.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

namespace rankwise::api {

// A flag of the environment: set, not empty and not "0".
[[nodiscard]] bool environment_flag(const char* name);

// The value of an info key, else of an environment variable; empty where neither is set.
[[nodiscard]] std::string asked(MPI_Info info, const char* key, const char* variable);
// The time of the key rankwise_effort, else of RANKWISE_EFFORT, as in 10ms; nothing where neither is set. Throws Failure.
[[nodiscard]] std::optional<double> asked_effort_s(MPI_Info info);

}  // namespace rankwise::api
