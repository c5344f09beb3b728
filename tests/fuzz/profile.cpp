// The readers of profiles and of platforms, and what is asked of what they return: any bytes are refused with their own
// exceptions, or answered.
#include "profile/profile.hpp"
#include "simgrid/platform_file.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

void ask(const rankwise::Machine& machine) {
  machine.check();
  for (std::size_t i = 0; i < rankwise::link_class_count; ++i) {
    const auto& link = machine.links[i];
    if (!link) continue;
    for (const rankwise::Index bytes : {0LL, 1LL, 65'537LL, 1LL << 40}) {
      static_cast<void>(link->send(bytes) + link->ssend(bytes) + link->exchange(bytes) + link->gap(bytes) + link->overhead());
      for (const auto& steps : link->steps) {
        if (steps) static_cast<void>(steps->step_s(true, 3, bytes));
      }
      for (std::size_t resource = 0; resource < rankwise::links_up(machine.levels.size()); ++resource) {
        static_cast<void>(machine.hold_s(resource, static_cast<rankwise::LinkClass>(i), bytes));
      }
    }
  }
  static_cast<void>(machine.quickest({0, 8, 1000}));
}

void ask(const rankwise::platform::Platform& platform) {
  for (const char* key : {"sockets", "nearest_links", "levels"}) {
    try {
      static_cast<void>(platform.counts(key));
    } catch (const std::runtime_error&) {
    }
  }
  for (const double bytes : {0.0, 1e3, 1e300}) {
    static_cast<void>(own_time(platform.curve("other-node"), bytes, platform.number("passes_bytes_per_s")));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    ask(rankwise::read_machine(text));
    ask(rankwise::read_machine(text, {"", true}));
  } catch (const std::invalid_argument&) {
  }
  try {
    std::istringstream lines(text);
    ask(rankwise::platform::Platform(lines));
  } catch (const std::runtime_error&) {
  }
  return 0;
}
