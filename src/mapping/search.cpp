#include "mapping/search.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mapping/annealing.hpp"
#include "mapping/chains.hpp"

namespace rankwise {

namespace {

// How hot a round starts and how dear a wrong size is, in 1/1024 of a mean edge. Found by trial on instances of
// hunold2020: rounds that melt most of the map and rounds that only touch it up find more in turns than either alone.
struct Recipe {
  std::int64_t hot, hot_balance, cold_balance;
};
constexpr std::array<Recipe, 4> recipes{{{1500, 512, 1536}, {600, 512, 1536}, {1500, 512, 1536}, {900, 400, 1100}}};
constexpr std::int64_t cold = 150;
constexpr Index most_rounds = 40;
// With so few rounds there is no time to cool down from a melt.
constexpr Index few_rounds = 6;
constexpr Recipe touch_up{400, 512, 1536};
constexpr Index probe = 32'768;

}  // namespace

Partition search(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound) {
  Effort effort(options);
  return search(std::move(starts), options, bound, effort);
}

Partition search(std::vector<Partition> starts, const MappingOptions& options, std::int64_t bound, Effort& effort) {
  const Objective objective = options.objective;
  std::ranges::stable_sort(starts, {}, [&](const Partition& start) { return quality(start, objective); });
  Partition best = starts.front();
  Random random(options.seed);
  const StencilGraph& graph = best.graph();
  if (options.deadline) {  // how fast is this machine, with this graph?
    Partition trial = best;
    Random other(options.seed);
    anneal(trial, {cold, cold, touch_up.hot_balance, touch_up.cold_balance, 0, 0, probe}, other, effort);
    effort.recount();
  }
  // A round too short to cool slowly is of no use: little effort means fewer rounds.
  const auto sweep = static_cast<Index>(graph.edge_count()) / 2 + graph.cells();
  const Index shortest = 150 * sweep;
  const Index all = options.deadline ? effort.left() : options.steps;
  const Index rounds = std::clamp<Index>(all / shortest, 1, most_rounds);
  Index steps = all / rounds;
  // No map has a smaller j_max: the nodes cannot all send less than the mean.
  const std::int64_t least_peak = (bound + best.parts() - 1) / best.parts();
  polish(best, objective, effort);
  for (Index round = 0; !effort.over(); ++round) {
    if (best.j_sum() <= bound && best.j_max() <= least_peak) break;
    // The last rounds, and all where no smaller j_sum can be, look for a smaller j_max.
    const bool is_for_peak = objective == Objective::j_max || best.j_sum() <= bound ||
                             (round >= rounds - rounds / 3 && round > 0);
    if (options.deadline) {  // a little is kept for the repair at the end
      effort.recount();
      steps = effort.left() * 15 / (16 * std::max<Index>(1, rounds - round));
    }
    const Recipe& recipe =
        rounds <= few_rounds ? touch_up : recipes[static_cast<std::size_t>(round) % recipes.size()];
    Cooling cooling{recipe.hot, cold, recipe.hot_balance, recipe.cold_balance, 0, 0, steps};
    if (is_for_peak) {
      cooling.peak = objective == Objective::j_max ? 1024 : 256;
      cooling.ceiling = best.j_max() - 1;
      cooling.hot = std::min<std::int64_t>(cooling.hot, 800);
    }
    Partition trial = best;
    anneal(trial, cooling, random, effort);
    if (!repair(trial, effort)) break;
    polish(trial, objective, effort);
    if (quality(trial, objective) < quality(best, objective)) best = std::move(trial);
  }
  return best;
}

}  // namespace rankwise
