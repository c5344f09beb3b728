// Threads stand in for ranks that read each other's memory; built with ThreadSanitizer, which sees every race.
#include <sched.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "halo/epochs.hpp"

namespace {

constexpr std::size_t ranks = 3;
constexpr std::size_t elements = 64;
constexpr int exchanges = 300;

struct Flags {
  std::atomic<std::uint64_t> ready{0};
  std::atomic<std::uint64_t> done{0};
};

std::array<Flags, ranks> flags;
std::array<std::array<long, elements>, ranks> own;  // no atomics: whoever reads too early or late is seen

struct Memory {
  std::size_t rank;
  [[nodiscard]] std::size_t other(std::size_t i) const { return i < rank ? i : i + 1; }
  [[nodiscard]] std::uint64_t ready(std::size_t i) const { return flags[other(i)].ready.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t done(std::size_t i) const { return flags[other(i)].done.load(std::memory_order_acquire); }
  void announce_ready(std::uint64_t epoch) const { flags[rank].ready.store(epoch, std::memory_order_release); }
  void announce_done(std::uint64_t epoch) const { flags[rank].done.store(epoch, std::memory_order_release); }
};

std::atomic<int> wrong{0};

void run(std::size_t rank) {
  Memory memory{rank};
  rankwise::Epochs<Memory> epochs(ranks - 1, ranks - 1);
  for (int exchange = 1; exchange <= exchanges; ++exchange) {
    for (std::size_t i = 0; i < elements; ++i) own[rank][i] = exchange * 1000L + static_cast<long>(rank * 100 + i);
    epochs.begin(memory);
    const auto read = [&](std::size_t source) {
      const std::size_t other = memory.other(source);
      for (std::size_t i = 0; i < elements; ++i) {
        if (own[other][i] != exchange * 1000L + static_cast<long>(other * 100 + i)) ++wrong;
      }
    };
    while (!epochs.step(memory, read)) sched_yield();
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  std::printf("%d wrong elements\n", wrong.load());
  return wrong.load() == 0 ? 0 : 1;
}
