// The library takes the program's operator new in place of its own; the sanitizers have theirs.
#include <cstdlib>
#include <new>

#include "hooks.hpp"

#pragma GCC visibility push(default)

void* operator new(std::size_t size) {
  if (rankwise_test::counting) ++rankwise_test::allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#pragma GCC visibility pop
