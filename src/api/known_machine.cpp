#include "api/known_machine.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "api/failure.hpp"

namespace rankwise::api {

namespace {

KnownMachine read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    refuse_argument("RANKWISE_PROFILE names " + path + ", which cannot be read: write it with 'rankwise measure -o " + path +
                    "', or unset RANKWISE_PROFILE");
  }
  try {
    return {read_machine(text.str()), "the profile " + path};
  } catch (const std::invalid_argument& error) {
    refuse_argument("the profile " + path + " (RANKWISE_PROFILE), " + error.what() +
                    "; write a new one with 'rankwise measure', or unset RANKWISE_PROFILE");
  }
}

}  // namespace

const KnownMachine& known_machine() {
  static const KnownMachine otherwise{default_machine(), "the default machine (RANKWISE_PROFILE is not set)"};
  static std::mutex mutex;
  static std::map<std::string, KnownMachine> read_so_far;
  const char* path = std::getenv("RANKWISE_PROFILE");
  if (path == nullptr || *path == '\0') return otherwise;
  const std::lock_guard lock(mutex);
  const auto found = read_so_far.find(path);
  return found != read_so_far.end() ? found->second : read_so_far.emplace(path, read(path)).first->second;
}

}  // namespace rankwise::api
