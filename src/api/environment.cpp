#include "api/environment.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "api/failure.hpp"

#include <cstdlib>
#include <cstring>

namespace rankwise::api {

bool environment_flag(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

namespace {

// A number with its unit: 10ms, 1s, 500us. what: for the message.
double read_seconds(const std::string& text, const std::string& what) {
  constexpr std::array<std::pair<const char*, double>, 3> units{{{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}}};
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  for (const auto& [unit, seconds] : units) {
    if (error == std::errc() && std::string(rest, end) == unit && value >= 0.0 && value * seconds <= 1e6) {
      return value * seconds;
    }
  }
  refuse_argument(what + " is '" + text + "': give a time up to 1e6 s with its unit, as in 10ms or 1s");
}

}  // namespace

std::string asked(MPI_Info info, const char* key, const char* variable) {
  if (info != MPI_INFO_NULL) {
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    RANKWISE_CHECKED(MPI_Info_get, info, key, MPI_MAX_INFO_VAL, value.data(), &found);
    if (found != 0) return value.data();
  }
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

std::optional<double> asked_effort_s(MPI_Info info) {
  const std::string text = asked(info, "rankwise_effort", "RANKWISE_EFFORT");
  return text.empty() ? std::nullopt : std::optional(read_seconds(text, "the effort of the mapping"));
}

}  // namespace rankwise::api
