// The profile reader, and what every judgement asks of the machine that it returns: any bytes are refused with
// std::invalid_argument, or answered.
#include "profile/profile.hpp"

#include <cstddef>
#include <cstdint>
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    ask(rankwise::read_machine(text));
    ask(rankwise::read_machine(text, {"", true}));
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
