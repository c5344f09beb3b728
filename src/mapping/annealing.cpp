#include "mapping/annealing.hpp"

#include <algorithm>
#include <cmath>

namespace rankwise {

namespace {

const ExponentialDraws& draws() {
  static const ExponentialDraws made;
  return made;
}

std::int64_t beyond(std::int64_t out, std::int64_t ceiling) { return std::max<std::int64_t>(0, out - ceiling); }

}  // namespace

void anneal(Partition& partition, const Cooling& cooling, Random& random, Effort& effort) {
  constexpr Index block = 1024;
  const StencilGraph& graph = partition.graph();
  const std::int64_t unit = graph.mean_weight();
  const std::int64_t peak = cooling.peak;
  const auto cells = static_cast<std::uint64_t>(graph.cells());
  const Index steps = std::min(cooling.steps, effort.left());
  const ExponentialDraws& exponential = draws();
  const double begun_s = effort.left_s();
  Index done = 0;
  while (done < steps && !effort.over()) {
    std::int64_t rest = ((steps - done) << 10) / steps;  // 1024 at the start, 0 at the end
    if (cooling.until_left_s > 0) {
      const double now_s = effort.left_s();
      if (now_s <= cooling.until_left_s) break;
      const double share = (now_s - cooling.until_left_s) / (begun_s - cooling.until_left_s);
      rest = std::min<std::int64_t>(1024, std::lround(1024 * share));
    }
    const std::int64_t temperature = (cooling.cold + (((cooling.hot - cooling.cold) * rest >> 10) * rest >> 10)) * unit;
    const std::int64_t balance = (cooling.cold_balance + ((cooling.hot_balance - cooling.cold_balance) * rest >> 10)) * unit;
    Index spent = 0;
    for (Index i = 0; i < block; ++i) {
      const std::uint64_t bits = random.bits();  // 32 for the cell, 16 for where it goes, 12 for the odds
      const auto cell = static_cast<Partition::Cell>(((bits >> 32) * cells) >> 32);
      const auto edges = graph.edges(cell);
      ++spent;
      if (edges.empty()) continue;
      const auto towards = (((bits >> 16) & 0xffff) * edges.size()) >> 16;
      const Partition::Part to = partition.part(edges[towards].cell);
      const Partition::Part from = partition.part(cell);
      if (to == from) continue;
      spent += static_cast<Index>(edges.size());
      const Partition::Change change = partition.change(cell, to);
      std::int64_t energy = change.j_sum << 10;
      energy += balance * 2 * (partition.surplus(to) - partition.surplus(from) + 1);
      if (peak != 0) {
        const std::int64_t out_from = partition.out(from);
        const std::int64_t out_to = partition.out(to);
        energy += peak * (beyond(out_from + change.out_from, cooling.ceiling) - beyond(out_from, cooling.ceiling) +
                          beyond(out_to + change.out_to, cooling.ceiling) - beyond(out_to, cooling.ceiling));
      }
      if (energy > 0 && energy << 10 > temperature * exponential.draw(bits >> 3)) continue;
      if (partition.cells_in(from) == 1) continue;
      partition.move(cell, to, change);
    }
    done += spent;
    effort.spend(spent);
  }
}

}  // namespace rankwise
