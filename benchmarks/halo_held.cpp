// Preloaded into a simulation: how much of the memory the library itself holds, of all ranks, without what MPI or the simulator does.
#include <dlfcn.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr std::size_t front = 16;  // bytes before what is handed out: how much counts
std::int64_t held = 0;

bool is_ours(const void* caller) {
  // A few places in the library ask for all of it.
  static const void* seen[4096];
  static bool answers[4096];
  const std::size_t at = (reinterpret_cast<std::uintptr_t>(caller) >> 2) % 4096;
  if (seen[at] == caller) return answers[at];
  Dl_info info;
  seen[at] = caller;
  answers[at] = dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "librankwise") != nullptr;
  return answers[at];
}

void* take(std::size_t bytes, const void* caller) {
  auto* memory = static_cast<std::byte*>(std::malloc(bytes + front));
  if (memory == nullptr) throw std::bad_alloc();
  const std::int64_t counted = is_ours(caller) ? static_cast<std::int64_t>(bytes) : 0;
  std::memcpy(memory, &counted, sizeof counted);
  held += counted;
  return memory + front;
}

void give(void* memory) {
  if (memory == nullptr) return;
  std::byte* start = static_cast<std::byte*>(memory) - front;
  std::int64_t counted = 0;
  std::memcpy(&counted, start, sizeof counted);
  held -= counted;
  std::free(start);
}

}  // namespace

extern "C" std::int64_t rankwise_held_bytes() { return held; }

void* operator new(std::size_t bytes) { return take(bytes, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return take(bytes, __builtin_return_address(0)); }
void operator delete(void* memory) noexcept { give(memory); }
void operator delete[](void* memory) noexcept { give(memory); }
void operator delete(void* memory, std::size_t) noexcept { give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give(memory); }
