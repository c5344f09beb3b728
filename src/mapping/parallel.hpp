// Work shared among threads: the only place of the core that starts any. What the work throws comes back to the caller.
#pragma once

#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

namespace rankwise {

// Calls work(i, thread) for all i below count, each once; so many threads (0 to threads - 1) take the next i as they are free.
template <class Work>
void for_all(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto share = [&](std::size_t thread) {
    for (std::size_t i = next++; i < count; i = next++) work(i, thread);
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < threads && thread < count; ++thread) {
    others.push_back(std::async(std::launch::async, share, thread));
  }
  share(0);
  for (auto& other : others) other.get();
}

// Calls both, at the same time or one after the other.
template <class First, class Second>
void run_both(bool at_once, const First& first, const Second& second) {
  if (!at_once) {
    first();
    second();
    return;
  }
  auto other = std::async(std::launch::async, first);
  second();
  other.get();
}

}  // namespace rankwise
