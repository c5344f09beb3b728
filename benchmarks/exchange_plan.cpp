// How long one rank takes to make its schedule, and how much memory that needs: 3-D, k = 2, on 4096 ranks and on eight
// times as many, which must need neither more time nor more memory. Exit 1 when a plan for 4096 ranks takes 1 ms or more.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "schedule/algorithms.hpp"

namespace {

std::size_t allocated_bytes = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocated_bytes += bytes;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using rankwise::Index;

struct Result {
  double median_s;
  std::size_t bytes;  // all that was ever allocated
};

Result measure(const rankwise::ExchangeSpec& spec) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times_s;
  std::size_t bytes = 0;
  for (Index i = 0; i < 101; ++i) {
    const std::size_t before = allocated_bytes;
    const auto start = Clock::now();
    const rankwise::RankSchedule schedule = make_schedule(spec, (i * 977) % spec.ranks());
    const rankwise::RankSchedule back = make_reduce(spec, (i * 977) % spec.ranks());
    const auto end = Clock::now();
    bytes = allocated_bytes - before;
    times_s.push_back(std::chrono::duration<double>(end - start).count());
    if (schedule.steps.empty() && back.steps.empty()) std::abort();
  }
  std::nth_element(times_s.begin(), times_s.begin() + 50, times_s.end());
  return {times_s[50], bytes};
}

}  // namespace

int main() {
  std::printf("plan of one rank, there and back: 3-D, k = 2, median of 101\n");
  std::printf("%-20s %-12s %12s %12s %12s %12s\n", "algorithm", "mode", "4096 ranks", "memory", "32768 ranks", "memory");
  bool quick = true;
  for (const rankwise::ExchangeAlgorithm& row : rankwise::exchange_algorithms()) {
    const std::string algorithm(row.id);
    for (const rankwise::SendMode mode :
         {rankwise::SendMode::ssend, rankwise::SendMode::isend, rankwise::SendMode::isend_self}) {
      if (!why_not(algorithm, mode, rankwise::Shell::full).empty()) continue;
      const Index c = row.has_teams ? 8 : 1;
      const auto on = [&](Index side) {
        rankwise::ExchangeSpec spec =
            rankwise::make_spec(algorithm, mode, {side, side, side}, {true, true, true}, {2, 2, 2}, rankwise::Shell::full, c);
        if (row.needs_nodes) spec.nodes = rankwise::NodeMap::blocked(spec.ranks(), 64);
        return measure(spec);
      };
      const Result small = on(16);
      const Result large = on(32);
      std::printf("%-20s %-12s %9.1f us %8zu kB %9.1f us %8zu kB\n", algorithm.c_str(), to_string(mode).c_str(),
                  1e6 * small.median_s, small.bytes / 1000, 1e6 * large.median_s, large.bytes / 1000);
      quick = quick && small.median_s < 1e-3;
    }
  }
  return quick ? 0 : 1;
}
