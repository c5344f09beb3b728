#include "api/environment.hpp"

#include <cstdlib>
#include <cstring>

namespace rankwise::api {

bool environment_flag(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

}  // namespace rankwise::api
